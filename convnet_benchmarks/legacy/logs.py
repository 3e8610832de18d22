"""The logs that Torch7's convnet benchmarks printed, as values.

Reads the output of the two legacy scripts in all its forms (``benchmark``'s phases,
``benchmark_criterion``'s ``:Net Forward:`` lines and its ``t1 ... seconds`` lines), pasted into a Markdown
list or not, and soumith/convnet-benchmarks' ``imagenet_winners`` and ``layerwise_benchmarks``. A log may hold
several runs.
"""

import itertools
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from convnet_benchmarks.legacy.numbers import NUMBER, milliseconds, read_numbers
from convnet_benchmarks.legacy.prefixes import without_prefixes
from convnet_benchmarks.legacy.setup import Setup, of_options

Kind = Literal["benchmark", "criterion"]
PER_SAMPLE = "ms per sample"
PER_BATCH = "ms per batch"
_MOST_DIGITS = 20

_EMPHASIS = r"[*_`]{0,3}"
# As people paste logs: lists, quotations, headings, tables, code.
_MARKDOWN = rf"\s*(?:(?:[*+\-•>|$]|#+|\d+[.)])\s+)*{_EMPHASIS}"
_LABEL = r"(?:free )?:[A-Za-z -]+(?:\(\))?:"
_SECONDS = rf"(t1|feed moyen|dry_run) ({NUMBER}) seconds"
_LEGACY_LINE = re.compile(rf"{_MARKDOWN}({_LABEL}){_EMPHASIS}[\s|]+{_EMPHASIS}({NUMBER})(.*)")
_SECONDS_LINE = re.compile(_MARKDOWN + _SECONDS)
_PREFIXED = re.compile(rf"{_LABEL}(\t|\s+){NUMBER}|\b{_SECONDS}")
_SOUMITH_LINE = re.compile(rf"([A-Za-z](?:\S*[^\s:|>\])}}])?)\s+(:[A-Za-z]+(?:\(\))?:)\s+({NUMBER})(.*)")
_SOUMITH_NET = re.compile(r"ModelType: (.+?)\s+Kernels: (\S+)\s+Input shape: (\d+x\S+)")
_SOUMITH_LAYER = re.compile(r"CONFIG: (.+)")
# After a shell's prompt or none, variables, and programs that start others, with their options and numbers.
_STARTERS = "env|exec|nice|nohup|numactl|nvprof|srun|stdbuf|sudo|taskset|time|timeout|[A-Z_]+=\\S*"
_SHELL = rf"(?:[^`|]{{0,60}}[$#%]\s+)?[$#!]{{0,2}}\s*(?:(?:{_STARTERS})\s+(?:(?:-\S+|\d\S*)\s+)*)*"
_PROGRAM = (
    r"(?:\S*[/\\])?(?:th|luajit|qlua|python[\d.]*)(?:\.exe)?\s+(?=\S+\.(?:lua|py)\b)"
    r"|(?=benchmark(?:_criterion)?\.py\b)"
)
_LONGEST_COMMAND = 1000  # characters; what looks for prompts takes long on longer lines
_COMMAND = re.compile(rf"{_MARKDOWN}{_SHELL}(?:{_PROGRAM})(\S+[^`|>&;]*?)[*_\s]*(?:\d?[`|>&;].*)?$")
_DEVICE = re.compile(r"Running on device: (.+)")
_OPTION_ECHO = re.compile(r"(opt\.)?([A-Za-z_0-9]+)\t(\S+)")
_MODEL_START = re.compile(r"[A-Za-z_]\w*\.[A-Za-z]\w* \{")

_CRITERION_LABELS = frozenset({":Net Forward:", ":Criterion Forward:", "t1", "feed moyen"})


@dataclass(frozen=True)
class Layer:
    """A module of a printed model. ``path``: the 1-based places from the root, () for the root itself."""

    path: tuple[int, ...]
    text: str  # nn.SpatialConvolutionMM(3 -> 96, 7x7, 2,2)

    @property
    def place(self) -> str:
        return ".".join(map(str, self.path)) or "root"


@dataclass(frozen=True)
class LoggedRun:
    """One benchmark's lines.

    ``times``: label, as printed, to milliseconds in ``unit``; of a label printed more than once the mean, and
    every value in ``samples``; of a result file the median, with its statistics in ``figures`` (value, low,
    high, samples of ``Measurement``). ``title`` and ``kernels`` tell the runs of one log apart ('AlexNet
    128x3x224x224' and 'cudnn'). ``batch_size``: None if the log does not say it.
    """

    kind: Kind
    unit: str
    times: Mapping[str, float]
    samples: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    title: str = ""
    kernels: str = ""
    batch_size: int | None = None
    command: str | None = None  # script and options, without the leading 'th'
    options: Mapping[str, str] = field(default_factory=dict)
    device: str | None = None
    setup: Setup | None = None  # None if the log does not say it
    figures: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    model: tuple[Layer, ...] = ()


def parse_model(text: str) -> tuple[Layer, ...]:
    """Returns the layers of a model as Torch7 printed it, containers first, in printed order.

    Raises ValueError if braces do not close.
    """
    layers: list[Layer] = []
    open_containers: list[tuple[int, ...]] = []
    children: list[int] = []
    for line in text.splitlines():
        content = re.sub(r"^[\s|]*(?:`-> |\.\.\. -> (?=output))?", "", line).rstrip()
        if not content or content in ("input", "output") or content.startswith("[input -> "):
            continue
        if content == "}":
            if not open_containers:
                raise ValueError("a printed model closes a '{' that it did not open")
            open_containers.pop()
            children.pop()
            continue
        path: tuple[int, ...] = ()
        if open_containers:
            children[-1] += 1
            path = (*open_containers[-1], children[-1])
        description = re.sub(r"^\(\d+\): ", "", content)
        is_container = description.endswith(" {")
        layers.append(Layer(path, description.removesuffix(" {")))
        if is_container:
            open_containers.append(path)
            children.append(0)
    if open_containers:
        raise ValueError("a printed model ends before its last '}'")
    return tuple(layers)


def parse_log(text: str) -> tuple[LoggedRun, ...]:
    """Returns the runs of a log, in its order. Lines of other programs are passed over.

    Raises ValueError if no line is a benchmark's, a printed model is cut short, or a number or what stands
    before each line is ambiguous.
    """
    text = without_prefixes(text, _begins)
    lines = list(_whole_models(re.sub(r"\\\s*\n\s*(?:>\s)?", " ", text).splitlines()))
    numbers: dict[str, float] = {}
    runs = _parsed(lines, lambda number: numbers.setdefault(number, 0.0))
    if runs and text[-1] not in "\r\n" and _is_cut_short(lines[-1], numbers):
        return parse_log("\n".join(lines[:-1]) + "\n")
    if not runs:
        raise ValueError("no line of a convnet benchmark in it (such as ':updateOutput():' and a number)")
    read = dict(zip(numbers, read_numbers(list(numbers)), strict=True))  # all of them tell the decimal mark
    return _parsed(lines, read.__getitem__)


def _begins(line: str) -> int | None:
    """Returns where a line with a time begins, after another program's prefix; None if none does."""
    if any(start.match(line) for start in (_LEGACY_LINE, _SECONDS_LINE, _SOUMITH_NET, _SOUMITH_LAYER)):
        return 0
    found = _PREFIXED.search(line)
    kernels_before = found and found[1] != "\t" and _SOUMITH_LINE.match(line)
    return found.start() if found and not kernels_before else None


def _parsed(lines: list[str], number: Callable[[str], float]) -> tuple[LoggedRun, ...]:
    parser = _Parser(number)
    for line in lines:
        parser.read(line)
    parser.finish_run()
    return tuple(parser.runs)


def _is_cut_short(line: str, numbers: Iterable[str]) -> bool:
    """Returns whether a last line without its end stops within a number: the only whole one of several."""
    *others, last = numbers
    whole = not set(".,") & set(last)
    return whole and line.endswith(last) and bool(others) and all(set(".,") & set(one) for one in others)


def _whole_models(lines: list[str]) -> Iterator[str]:
    """Yields the lines, with a printed model's lines joined into one."""
    model: list[str] = []
    depth = 0
    for line in lines:
        if model or _MODEL_START.fullmatch(line.rstrip()):
            model.append(line)
            stripped = line.rstrip()
            depth += stripped.endswith("{")
            depth -= stripped.lstrip(" |") == "}"
            if depth == 0:
                yield "\n".join(model)
                model = []
        else:
            yield line
    if model:
        raise ValueError("a printed model ends before its last '}'")


class _Parser:
    """Gathers lines into the run they belong to; ``number`` reads what a line has as a number."""

    def __init__(self, number: Callable[[str], float]) -> None:
        self._number = number
        self.runs: list[LoggedRun] = []
        self._device: str | None = None
        self._layer = ""
        self._start()

    def _start(self, title: str = "", kernels: str = "", batch_size: int | None = None) -> None:
        self._title = title
        self._kernels = kernels
        self._batch_size = batch_size
        self._unit = PER_SAMPLE
        self._samples: dict[str, list[float]] = {}
        self._command: str | None = None
        self._options: dict[str, str] = {}
        self._model: tuple[Layer, ...] = ()

    def finish_run(self) -> None:
        if not self._samples:
            return
        kind: Kind = "criterion" if _CRITERION_LABELS & self._samples.keys() else "benchmark"
        setup = None
        if self._command or self._options:
            setup = of_options(kind, self._options, of_lua=".py" not in (self._command or ""))
        self.runs.append(
            LoggedRun(
                kind=kind,
                unit=self._unit,
                times={label: sum(values) / len(values) for label, values in self._samples.items()},
                samples={label: tuple(values) for label, values in self._samples.items() if len(values) > 1},
                title=self._title or (self._command or ""),
                kernels=self._kernels,
                batch_size=self._batch_size or (setup.batch_size if setup and self._command else None),
                command=self._command,
                options=self._options,
                device=self._device,
                setup=setup,
                model=self._model,
            )
        )
        self._start()

    def read(self, line: str) -> None:
        line = line.rstrip()
        if _MODEL_START.match(line):
            if self._samples:
                self.finish_run()
            self._model = parse_model(line)
        elif len(line) <= _LONGEST_COMMAND and (match := _COMMAND.match(line)):
            self.finish_run()
            self._start()
            self._command = match[1].strip()
            self._options = _command_options(self._command)
        elif match := _DEVICE.match(line):
            self.finish_run()
            self._device = match[1]
        elif match := _SOUMITH_NET.match(line):
            self.finish_run()
            self._layer = ""
            self._start(f"{match[1]} {match[3]}", match[2], _count(match[3].split("x")[0]))
        elif match := _SOUMITH_LAYER.match(line):
            self.finish_run()
            self._layer = match[1]
        elif match := _LEGACY_LINE.match(line):
            self._add(match[1], self._number(match[2]) * milliseconds(match[3]), PER_SAMPLE)
        elif match := _SECONDS_LINE.match(line):
            self._add(match[1], self._number(match[2]) * 1000, PER_BATCH)
        elif (match := _SOUMITH_LINE.match(line)) and not (self._command or self._model):
            self._add_soumith(match[1], match[2], self._number(match[3]) * milliseconds(match[4]))
        elif match := _OPTION_ECHO.fullmatch(line):
            self._options.setdefault(match[2], match[3])

    def _add_soumith(self, kernels: str, label: str, milliseconds: float) -> None:
        if self._layer and (self._title, self._kernels) != (self._layer, kernels):
            self.finish_run()
            batch = re.search(r"bs = (\d+)", self._layer)
            self._start(self._layer, kernels, _count(batch[1]) if batch else None)
        self._add(label, milliseconds, PER_BATCH)

    def _add(self, label: str, milliseconds: float, unit: str) -> None:
        if not 0 <= milliseconds < math.inf:
            return  # no time, as little as 'nan'. A time rounded to nothing may be 0.
        if label in self._samples and label not in ("t1", "dry_run"):
            # The first label again, without a title in between: the next run of a pasted log.
            self.finish_run()
        self._unit = unit
        self._samples.setdefault(label, []).append(milliseconds)


def _command_options(command: str) -> dict[str, str]:
    """Reads {'cuda': 'true', 'batch_size': '64'} from '-cuda -batch_size 64'."""
    _, *words = [*command.split(), "-"]
    options = {}
    for word, following in itertools.pairwise(words):
        if word.startswith("-"):
            name, given, value = word.lstrip("-").partition("=")
            value = value if given else "true" if following.startswith("-") else following
            options[name] = value.strip("\"'")
    return options


def _count(text: str) -> int | None:
    """Reads a whole number from 1 to 2^53; None for any other text."""
    number = int(text) if text.isdecimal() and len(text) <= _MOST_DIGITS else 0
    return number if 0 < number <= 1 << 53 else None
