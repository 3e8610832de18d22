"""Two benchmark runs, label by label, and the structure of the models they printed."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from convnet_benchmarks.legacy.logs import PER_BATCH, PER_SAMPLE, Layer, LoggedRun
from convnet_benchmarks.legacy.setup import differences, distance
from convnet_benchmarks.timing.verdicts import against_old

# Convolutions that compute the same, whatever they were called.
_SAME_LAYER = {"SpatialConvolutionMM": "SpatialConvolution", "SpatialConvolutionCUDA": "SpatialConvolution"}
# Taken once, not a mean: a result may leave them out.
_SINGLE_PASSES = (":dry-run", "dry_run", "t1")
# What of two setups makes times of other work.
_OTHER_WORK = ("net", "input")
_LAYER = re.compile(r"(?:\w+\.)?(\w+)(.*)", re.DOTALL)


@dataclass(frozen=True)
class LabelComparison:
    """One label: milliseconds in A and in B, None where one of them has not printed it.

    ``low``, ``high``, ``verdict``: where one of them is an old mean and the other has an interval, the bounds
    of the speed-up and what may be said of it.
    """

    label: str
    a: float | None
    b: float | None
    low: float | None = None
    high: float | None = None
    verdict: str = ""

    @property
    def speedup(self) -> float | None:
        """Returns how many times as fast B is as A."""
        return self.a / self.b if self.a is not None and self.b else None


@dataclass(frozen=True)
class ModelComparison:
    """``differences``: one line for each place where the structure differs. ``implementations``: pairs of
    class names that stand for the same layer (nn.SpatialConvolutionMM, cudnn.SpatialConvolution).
    """

    layers: int
    differences: tuple[str, ...]
    implementations: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class RunComparison:
    """``unit``: of both runs' times; '' where theirs differ and could not be converted: then no speed-ups."""

    title: str
    unit: str
    labels: tuple[LabelComparison, ...]
    model: ModelComparison | None  # None where one of them printed no model
    problems: tuple[str, ...]  # why A and B do not agree; empty where they do
    notes: tuple[str, ...] = ()  # what differs, or could not be compared, without being wrong

    @property
    def agrees(self) -> bool:
        return not self.problems


def compare_logs(
    a: Sequence[LoggedRun], b: Sequence[LoggedRun], max_slowdown: float | None = None
) -> list[RunComparison]:
    """Compares A's runs with their counterparts in B.

    Runs agree where B has every label of A (single passes aside) and the models' structure is the same; with
    ``max_slowdown``, also no phase of B may take longer than that many times A's.
    """
    comparisons = []
    pairs = _pairs(a, b)
    known = [run for run, other in pairs if other and _by_options(run, other) is not None]
    if known and len(b) == 1:  # one new result for an old log of many runs
        pairs = [(run, other) for run, other in pairs if other]
    for run, counterpart in pairs:
        if counterpart is None:
            title = " ".join(filter(None, (run.title, run.kernels)))
            comparisons.append(RunComparison(title, "", (), None, ("no such run in B",)))
        else:
            comparisons.append(compare_runs(run, counterpart, max_slowdown))
    return comparisons


def compare_runs(a: LoggedRun, b: LoggedRun, max_slowdown: float | None = None) -> RunComparison:
    title = _pair_title(a, b)
    a, b = _same_unit(a, b)
    unit = a.unit if a.unit == b.unit else ""
    labels = tuple(_compared(label, a, b) for label in dict.fromkeys([*a.times, *b.times]))
    model = compare_models(a.model, b.model) if a.model and b.model else None
    problems = []
    if a.kind != b.kind:
        problems.append(f"A is a {a.kind} run, B a {b.kind} run")
    elif not unit:
        problems.append(f"A is in {a.unit}, B in {b.unit}, and the batch size is not known")
    else:
        missing = [row.label for row in labels if row.b is None and not row.label.startswith(_SINGLE_PASSES)]
        problems += [f"{label} is missing in B" for label in missing]
    problems += model.differences if model else ()
    told = differences(a.setup, b.setup) if a.setup and b.setup else {}
    problems += [text for name, text in told.items() if name in _OTHER_WORK and model is None]
    notes = [text for name, text in told.items() if name not in ("kind", *_OTHER_WORK)]
    if model is None:
        without = " and ".join(name for name, run in (("A", a), ("B", b)) if not run.model)
        notes.append(f"structure was not compared: {without} printed no model")
    if max_slowdown is not None and unit:
        problems += [
            f"{row.label} takes {1 / row.speedup:.3g} times as long in B (at most {max_slowdown:g} accepted)"
            for row in labels
            if row.speedup and 1 / row.speedup > max_slowdown and _is_phase(row.label)
        ]
    return RunComparison(title, unit, labels, model, tuple(problems), tuple(notes))


def compare_models(a: Sequence[Layer], b: Sequence[Layer]) -> ModelComparison:
    """Compares place by place; a class of another package with the same sizes is the same layer."""
    layers_a, layers_b = ({layer.path: layer for layer in layers} for layers in (a, b))
    differences = []
    implementations: dict[tuple[str, str], None] = {}
    for path in sorted(layers_a.keys() | layers_b.keys()):
        one, other = layers_a.get(path), layers_b.get(path)
        if one is None or other is None:
            layer = one or other
            assert layer is not None
            differences.append(f"model: {layer.place} {layer.text} is only in {'A' if one else 'B'}")
        elif not _same_layer(one.text, other.text):
            differences.append(f"model: {one.place} is {one.text} in A, {other.text} in B")
        elif _class_name(one.text) != _class_name(other.text):
            implementations[_class_name(one.text), _class_name(other.text)] = None
    return ModelComparison(len(layers_a), tuple(differences), tuple(implementations))


def _pairs(a: Sequence[LoggedRun], b: Sequence[LoggedRun]) -> list[tuple[LoggedRun, LoggedRun | None]]:
    """Pairs runs by their options, then by title and kernels, then by title alone.

    A single run on each side is a pair anyway.
    """
    if len(a) == len(b) == 1:
        return [(a[0], b[0])]
    free = list(b)
    found: dict[int, LoggedRun] = {}
    near = [
        (far, place, number)
        for place, run in enumerate(a)
        for number, other in enumerate(b)
        if (far := _by_options(run, other)) is not None
    ]
    for _, place, number in sorted(near):  # those with the same options first
        if place not in found and b[number] in free:
            found[place] = b[number]
            free.remove(b[number])
    for matches in (
        lambda run, other: (run.title, run.kernels) == (other.title, other.kernels),
        lambda run, other: run.title == other.title,
    ):
        for place, run in enumerate(a):
            counterpart = next((other for other in free if matches(run, other)), None)
            if place not in found and counterpart is not None:
                found[place] = counterpart
                free.remove(counterpart)
    return [(run, found.get(place)) for place, run in enumerate(a)]


def _by_options(a: LoggedRun, b: LoggedRun) -> int | None:
    """Returns how many options differ; None where the runs are no pair, or do not say how they began."""
    return distance(a.setup, b.setup) if a.setup and b.setup else None


def _compared(label: str, a: LoggedRun, b: LoggedRun) -> LabelComparison:
    """Compares one label; ``a`` and ``b`` have the same unit, or no quotient is meant."""
    ms_a, ms_b = a.times.get(label), b.times.get(label)
    new, old = (a, ms_b) if label in a.intervals else (b, ms_a)
    both = label in a.intervals and label in b.intervals
    if both or not old or label not in new.intervals or a.unit != b.unit:
        return LabelComparison(label, ms_a, ms_b)
    return LabelComparison(label, ms_a, ms_b, *against_old(old, new.intervals[label], new_is_a=new is a))


def _pair_title(a: LoggedRun, b: LoggedRun) -> str:
    names = [" ".join(filter(None, (run.title, run.kernels))) for run in (a, b)]
    return " | ".join(dict.fromkeys(filter(None, names))) or a.kind


def _same_unit(a: LoggedRun, b: LoggedRun) -> tuple[LoggedRun, LoggedRun]:
    if a.unit == b.unit:
        return a, b
    return _per_sample(a), _per_sample(b)


def _per_sample(run: LoggedRun) -> LoggedRun:
    if run.unit != PER_BATCH or run.batch_size is None:
        return run
    count = run.batch_size
    times = {label: time / count for label, time in run.times.items()}
    intervals = {label: (low / count, high / count) for label, (low, high) in run.intervals.items()}
    return replace(run, unit=PER_SAMPLE, times=times, intervals=intervals)


def _is_phase(label: str) -> bool:
    """Returns whether a line is a mean of passes that waited for the device."""
    return not label.startswith(("free ", *_SINGLE_PASSES))


def _class_name(text: str) -> str:
    return text.split("(")[0].strip()


def _same_layer(a: str, b: str) -> bool:
    parts = []
    for text in (a, b):
        match = _LAYER.fullmatch(text)
        if match is None:
            return a == b
        parts.append((_SAME_LAYER.get(match[1], match[1]), match[2].strip()))
    (name_a, sizes_a), (name_b, sizes_b) = parts
    # cudnn's and ccn2's poolings print no sizes.
    return name_a == name_b and (sizes_a == sizes_b or not sizes_a or not sizes_b)
