"""The runs of a log of many (a README, as pasted) that were started like those of the other files."""

import itertools
from collections.abc import Sequence
from dataclasses import replace

from convnet_benchmarks.errors import UserError
from convnet_benchmarks.legacy.setup import distance, unlike, unlike_runs
from convnet_benchmarks.results.load import ResultFile


def with_same_options(files: Sequence[ResultFile]) -> list[ResultFile]:
    """Returns the files; one of several runs keeps those that the other files' runs are pairs of.

    Raises UserError if there is none, or a file of one run has another work than the first one's.
    """
    kept = [_chosen(file, [other for other in files if other is not file], files) for file in files]
    first = kept[0]
    for other in kept[1:]:
        if len(first.runs) == len(other.runs) == 1 and unlike(first.runs[0][0], other.runs[0][0]):
            raise UserError(unlike_runs(first.path, [first.runs[0][0]], other.path, [other.runs[0][0]]))
    return kept


def _chosen(file: ResultFile, others: Sequence[ResultFile], files: Sequence[ResultFile]) -> ResultFile:
    with_runs = [other for other in others if other.runs]
    wanted = [setup for other in with_runs for setup, _ in other.runs]
    if len(file.runs) < 2 or not wanted:
        return file
    kept: dict[int, None] = {}
    for setup in wanted:
        places = [(distance(one, setup), place) for place, (one, _) in enumerate(file.runs)]
        near = [(far, place) for far, place in places if far is not None]
        if near:
            kept[min(near)[1]] = None
    if not kept:
        pair = sorted((file, with_runs[0]), key=lambda one: [other is one for other in files].index(True))
        (a, setups_a), (b, setups_b) = ((one.path, [setup for setup, _ in one.runs]) for one in pair)
        raise UserError(unlike_runs(a, setups_a, b, setups_b))
    runs = tuple(file.runs[place] for place in sorted(kept))
    measurements = itertools.chain.from_iterable(of_run for _, of_run in runs)
    return replace(file, measurements=tuple(measurements), runs=runs)
