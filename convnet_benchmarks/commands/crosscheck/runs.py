"""Two benchmark runs, label by label, and the structure of the models they printed."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from convnet_benchmarks.errors import UserError
from convnet_benchmarks.legacy.logs import PER_BATCH, PER_SAMPLE, Layer, LoggedRun
from convnet_benchmarks.legacy.setup import distance, told, unlike, unlike_runs
from convnet_benchmarks.results.load import net_of_log
from convnet_benchmarks.results.measurement import TIME, Measurement, net_key
from convnet_benchmarks.results.ratio import Ratio, ratio

# Convolutions that compute the same, whatever they were called.
_SAME_LAYER = {"SpatialConvolutionMM": "SpatialConvolution", "SpatialConvolutionCUDA": "SpatialConvolution"}
# Taken once, not a mean: a result may leave them out.
_SINGLE_PASSES = (":dry-run", "dry_run", "t1")
_SHOWN = 3  # runs without a counterpart
_LAYER = re.compile(r"(?:\w+\.)?(\w+)(.*)", re.DOTALL)


@dataclass(frozen=True)
class LabelComparison:
    """One label: milliseconds in A and in B, None if one of them has not printed it, and their ratio."""

    label: str
    a: float | None
    b: float | None
    ratio: Ratio | None = None

    @property
    def speedup(self) -> float | None:
        """Returns how many times as fast B is as A."""
        return self.ratio.value if self.ratio else None


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
    model: ModelComparison | None  # None if one of them printed no model
    problems: tuple[str, ...]  # why A and B do not agree; empty if they do
    notes: tuple[str, ...] = ()  # what differs, or could not be compared, without being wrong

    @property
    def agrees(self) -> bool:
        return not self.problems


def compare_logs(
    a: Sequence[LoggedRun],
    b: Sequence[LoggedRun],
    names: tuple[str, str],
    max_slowdown: float | None,
) -> list[RunComparison]:
    """Compares A's runs with their counterparts in B.

    Runs agree where B has every label of A (single passes aside) and the models' structure is the same; with
    ``max_slowdown``, also no phase of B may take longer than that many times A's. Raises UserError if no
    run has a counterpart that did the same work; ``names`` are the files'.
    """
    pairs = _pairs(a, b)
    found = [(run, other) for run, other in pairs if other]
    if not found or (len(a) == len(b) == 1 and _unlike(a[0], b[0])):
        raise UserError(_why_unlike(a, b, names))
    comparisons = [compare_runs(run, other, max_slowdown) for run, other in found]
    alone = [_name(run) for run, other in pairs if not other]
    known = any(_by_options(run, other) is not None for run, other in found)
    if alone and not (known and len(b) == 1):  # one new result for an old log of many runs
        more = f" and {len(alone) - _SHOWN} more" if len(alone) > _SHOWN else ""
        missing = f"no such run in B: {'; '.join(alone[:_SHOWN])}{more}"
        comparisons.append(RunComparison("", "", (), None, (missing,)))
    return comparisons


def _why_unlike(a: Sequence[LoggedRun], b: Sequence[LoggedRun], names: tuple[str, str]) -> str:
    setups = [[run.setup for run in runs if run.setup] for runs in (a, b)]
    if all(setups):
        return unlike_runs(names[0], setups[0], names[1], setups[1])
    if len(a) == len(b) == 1:
        return f"A and B are of unlike runs: {'; '.join(_unlike(a[0], b[0]))}"
    has = [
        f"{name} has {'; '.join(map(_name, runs[:_SHOWN]))}" for name, runs in zip(names, (a, b), strict=True)
    ]
    return f"no run of A is in B: {', '.join(has)}"


def _unlike(a: LoggedRun, b: LoggedRun) -> list[str]:
    """Returns in words why the runs did other work, by what both files say."""
    if a.setup and b.setup:
        return unlike(a.setup, b.setup)
    pairs = {
        "kind": (a.kind, b.kind),
        "net": (_net(a), _net(b)),
        "batch size": (a.batch_size, b.batch_size),
    }
    return [
        f"{name} is {one} in A, {other} in B"
        for name, (one, other) in pairs.items()
        if one and other and net_key(str(one)) != net_key(str(other))
    ]


def _net(run: LoggedRun) -> str:
    if run.setup:
        return run.setup.net
    return "" if run.command else net_of_log(run.title)


def _name(run: LoggedRun) -> str:
    return " ".join(filter(None, (run.title, run.kernels))) or run.kind


def compare_runs(a: LoggedRun, b: LoggedRun, max_slowdown: float | None) -> RunComparison:
    title = _pair_title(a, b)
    a, b = _same_unit(a, b)
    unit = a.unit if a.unit == b.unit else ""
    labels = tuple(_compared(label, a, b) for label in dict.fromkeys([*a.times, *b.times]))
    model = compare_models(a.model, b.model) if a.model and b.model else None
    problems = []
    if not unit:
        problems.append(f"A is in {a.unit}, B in {b.unit}, and the batch size is not known")
    else:
        missing = [row.label for row in labels if row.b is None and not row.label.startswith(_SINGLE_PASSES)]
        problems += [f"{label} is missing in B" for label in missing]
    problems += model.differences if model else ()
    notes = told(a.setup, b.setup) if a.setup and b.setup else []
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
    """Returns how many options differ; None if the runs are no pair, or do not say how they began."""
    return distance(a.setup, b.setup) if a.setup and b.setup else None


def _compared(label: str, a: LoggedRun, b: LoggedRun) -> LabelComparison:
    found = ratio(_measured(label, a), _measured(label, b))
    return LabelComparison(label, a.times.get(label), b.times.get(label), found)


def _measured(label: str, run: LoggedRun) -> Measurement | None:
    if label not in run.times:
        return None
    return Measurement(TIME, run.unit, **{"value": run.times[label], **run.figures.get(label, {})})


def _pair_title(a: LoggedRun, b: LoggedRun) -> str:
    return " | ".join(dict.fromkeys(map(_name, (a, b))))


def _same_unit(a: LoggedRun, b: LoggedRun) -> tuple[LoggedRun, LoggedRun]:
    if a.unit == b.unit:
        return a, b
    return _per_sample(a), _per_sample(b)


def _per_sample(run: LoggedRun) -> LoggedRun:
    if run.unit != PER_BATCH or run.batch_size is None:
        return run
    count = run.batch_size
    times = {label: time / count for label, time in run.times.items()}
    return replace(run, unit=PER_SAMPLE, times=times)


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
