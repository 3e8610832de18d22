"""The runs of a log of many (a README, as pasted) that were started like those of the other files."""

import itertools
from collections.abc import Sequence
from dataclasses import replace

from convnet_benchmarks.errors import UserError
from convnet_benchmarks.legacy.setup import Setup, distance
from convnet_benchmarks.results.load import ResultFile

_SHOWN = 3


def with_same_options(files: Sequence[ResultFile]) -> list[ResultFile]:
    """Returns the files; one of several runs keeps those that the other files' runs are pairs of.

    Raises UserError where there is none.
    """
    return [_chosen(file, [other for other in files if other is not file]) for file in files]


def _chosen(file: ResultFile, others: Sequence[ResultFile]) -> ResultFile:
    wanted = [setup for other in others for setup, _ in other.runs]
    if len(file.runs) < 2 or not wanted:
        return file
    kept: dict[int, None] = {}
    for setup in wanted:
        places = [(distance(one, setup), place) for place, (one, _) in enumerate(file.runs)]
        near = [(far, place) for far, place in places if far is not None]
        if near:
            kept[min(near)[1]] = None
    if not kept:
        raise UserError(
            f"no run of {file.path} was started like the other ones: it has {_listed(file)}; "
            f"{'; '.join(f'{other.path} has {_listed(other)}' for other in others if other.runs)}"
        )
    measurements = itertools.chain.from_iterable(file.runs[place][1] for place in sorted(kept))
    return replace(file, measurements=tuple(measurements))


def _listed(file: ResultFile) -> str:
    setups: list[Setup] = [setup for setup, _ in file.runs]
    more = f" and {len(setups) - _SHOWN} more" if len(setups) > _SHOWN else ""
    return " | ".join(map(str, setups[:_SHOWN])) + more
