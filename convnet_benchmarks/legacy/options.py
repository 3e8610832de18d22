"""The options of benchmark.py and benchmark_criterion.py, in every spelling that people type.

``-batch_size 64``, ``--batch_size 64``, ``--batch-size 64`` and ``--batch-size=64`` are one option; a switch
is ``-cuda true``, ``-cuda``, ``--cuda``, ``--cuda=false`` or ``--no-cuda``. ``canonical`` brings all of them
into one form before argparse sees them.
"""

import difflib
from argparse import ArgumentTypeError, HelpFormatter
from collections.abc import Callable, Sequence
from dataclasses import Field, dataclass, field, fields
from typing import Annotated, Any, ClassVar, TypeVar

from argparse_dataclass import ArgumentParser

from convnet_benchmarks.errors import UserError, unknown
from convnet_benchmarks.nets.net import InputSize
from convnet_benchmarks.options.parser import OneLineParser, ShowVersion
from convnet_benchmarks.options.types import (
    input_size,
    natural,
    positive,
    seconds_or_none,
    seed,
    thread_count,
)
from convnet_benchmarks.workload.backends import GPU_BACKENDS, LEGACY_BACKENDS
from convnet_benchmarks.workload.devices import DTYPES

# Field types are read by argparse-dataclass at run time, so this module must not postpone annotations.

# argparse-dataclass gives a plain bool its own two flags; ours takes true and false as well.
Switch = Annotated[bool, "true or false"]

AUTO = "auto"
TUNINGS = ("quick", "thorough")
_ITER_HELP = "passes per timed loop, or auto: until the median is known to 1 %%"
_EPILOG = "A switch alone means true; --no-NAME means false. A legacy name may be written with _ or -."
_HELP_SPELLINGS = ("-h", "--h", "-help", "--help", "-?")
_VERSION_SPELLINGS = ("-version", "--version")


def _switch(text: str) -> bool:
    """Reads true and false, also as Python writes them: True."""
    if text.lower() not in ("true", "false"):
        raise ValueError(f"'{text}' is neither true nor false")
    return text.lower() == "true"


def _switch_or_auto(text: str) -> bool | None:
    if text.lower() not in ("true", "false", AUTO):
        raise ValueError(f"'{text}' is none of true, false, {AUTO}")
    return None if text.lower() == AUTO else _switch(text)


def _positive_or_auto(text: str) -> int | None:
    if text == AUTO:
        return None
    try:
        return positive(text)
    except ArgumentTypeError:
        raise ValueError(f"'{text}' is neither a whole number from 1 up nor '{AUTO}'") from None


def _option(
    spelling: str,
    default: Any,
    read: Callable[[str], Any],
    help: str,
    *,
    legacy: bool = True,
    metavar: str | None = None,
    choices: Sequence[str] | None = None,
) -> Any:
    """Returns one option. ``spelling`` is the legacy name (or, for ours, the modern one) without dashes."""
    modern = "--" + spelling.replace("_", "-")
    names = [modern, "-" + spelling] if legacy else [modern]
    is_switch = read in (_switch, _switch_or_auto)
    metadata = {
        "args": names,
        "type": read,
        "help": help + ("" if default is None else f" [{str(default).lower()}]"),
        "metavar": metavar or ("true|false" if is_switch else "N"),
        "switch": is_switch,
        "choices": choices,
    }
    return field(default=default, metadata=metadata)


@dataclass(frozen=True, kw_only=True)
class LegacyOptions:
    """The options of both scripts. Times are in milliseconds, sizes in pixels, seeds below 2**32.

    ``EXAMPLES``: of the script, for its help.
    """

    EXAMPLES: ClassVar[tuple[str, ...]] = ()

    x: int | None = _option("x", None, positive, "input height in pixels (dim1) [the net's own]")
    y: int | None = _option("y", None, positive, "input width in pixels (dim2) [the net's own]")
    z: int | None = _option("z", None, positive, "input planes (dim3) [the net's own]")
    relu_inplace: Switch = _option("relu_inplace", True, _switch, "ReLU overwrites its input: less memory")
    convMM: bool | None = _option(
        "convMM",
        None,
        _switch,
        "convolve by im2col and matrix product (SpatialConvolutionMM); false: the framework's direct kernels "
        "[true for the originals' nets; for others --backend stock]",
    )
    cuda: Switch = _option("cuda", False, _switch, "run on a CUDA GPU")
    sync: Switch = _option("sync", True, _switch, "synchronise the GPU around the timed loops")
    cudnn: Switch = _option("cudnn", False, _switch, "cuDNN convolutions, autotuned; needs -cuda true")
    relu_cudnn: Switch = _option("relu_cudnn", False, _switch, "cuDNN's ReLU; needs -cudnn true")
    ccn2: Switch = _option("ccn2", False, _switch, "check cuda-convnet2's constraints; needs -cuda true")
    tensor_4d: bool | None = _option(
        "4d_tensor",
        None,
        _switch_or_auto,
        "batched input; false keeps the original's meaning: one sample, whatever -batch_size says [auto]",
        metavar="true|false|auto",
    )
    batch_size: int = _option("batch_size", 1, positive, "samples in the input (per process)")
    backend: str | None = _option(
        "backend",
        None,
        str,
        "kernels instead of -convMM's: auto times them on every layer and phase and keeps the fastest; "
        f"stock is PyTorch's autograd; on a GPU {' or '.join(GPU_BACKENDS)}",
        legacy=False,
        metavar="|".join(LEGACY_BACKENDS),
        choices=LEGACY_BACKENDS,
    )
    experimental: Switch = _option(
        "experimental",
        False,
        _switch,
        "--backend auto on a GPU may also use kernels not yet verified on this kind of card",
        legacy=False,
    )
    tuning: str = _option(
        "tuning",
        "quick",
        str,
        "how kernels are chosen: on a CPU quick follows a rule, and later runs time some for a second each; "
        "thorough times them all. On a GPU quick takes seconds, and cuDNN tries 4 kernels instead of 10",
        legacy=False,
        metavar="|".join(TUNINGS),
        choices=TUNINGS,
    )
    tuning_seconds: float | None = _option(
        "tuning-seconds",
        None,
        seconds_or_none,
        "how long it may time kernels, 0: none; similar layers or a rule decide the rest [by --tuning]",
        legacy=False,
        metavar="SECONDS",
    )
    net: str = _option(
        "net",
        "overfeat_accurate",
        str,
        "the net to run: a name of --list-nets, module:function, file.py:function, or a model.t7",
        legacy=False,
        metavar="NAME",
    )
    input_size: InputSize | None = _option(
        "input-size",
        None,
        input_size,
        "size of one sample, as -z, -x and -y together; several inputs by name, samples first: "
        "ids:2x128 mask:2x128; required for a net of your own [the net's own]",
        legacy=False,
        metavar="ZxXxY",
    )
    seed: int = _option("seed", 1, seed, "parameters of torch.manualSeed(N); the input of N+1", legacy=False)
    threads: int | None = _option(
        "threads", None, thread_count, "CPU threads [PyTorch's choice]", legacy=False
    )
    device: int = _option("device", 0, natural, "which GPU, counted from 0", legacy=False)
    dtype: str = _option(
        "dtype", "float32", str, "number format", legacy=False, metavar="|".join(DTYPES), choices=DTYPES
    )
    tf32: Switch = _option("tf32", False, _switch, "let the GPU round float32 products to TF32", legacy=False)
    cold_cache: Switch = _option(
        "cold-cache",
        False,
        _switch,
        "empty the last-level cache before each timed pass, outside the time (docs/method.md)",
        legacy=False,
    )
    legacy_timing: Switch = _option(
        "legacy-timing",
        False,
        _switch,
        "also make the original's timing mistakes (docs/method.md)",
        legacy=False,
    )
    processes: int = _option(
        "processes",
        1,
        positive,
        "make the run in N new processes, one after the other: the lines are their medians, and the "
        "intervals include their differences",
        legacy=False,
    )
    parallel: str = _option(
        "parallel",
        "train",
        str,
        "under torchrun: data-parallel training, or independent instances",
        legacy=False,
        metavar="train|instances",
        choices=("train", "instances"),
    )
    label: str = _option(
        "label",
        "",
        str,
        "kept in the result: a branch, a setting, a machine",
        legacy=False,
        metavar="TEXT",
    )
    json: str | None = _option(
        "json", None, str, "keep options, environment and every sample in FILE", legacy=False, metavar="FILE"
    )
    csv: str | None = _option("csv", None, str, "one row per line in FILE", legacy=False, metavar="FILE")
    list_nets: Switch = _option(
        "list-nets", False, _switch, "print the nets' names, parameters, input sizes, sources", legacy=False
    )


@dataclass(frozen=True, kw_only=True)
class BenchmarkOptions(LegacyOptions):
    """benchmark.py's options; with ``iter`` None a loop repeats until the median is stable."""

    EXAMPLES: ClassVar[tuple[str, ...]] = (
        "                                       OverFeat, one image, as in 2015",
        "--cuda --cudnn --batch-size 64         batches of 64 on a GPU",
        "--net googlenet --iter auto            until the median is known to 1 %",
        "--net my_nets.py:net -x 64 -y 64       a net of your own",
        "--backend auto --json result.json      the fastest kernels; every sample in a file",
    )

    iter: int | None = _option("iter", 10, _positive_or_auto, _ITER_HELP, metavar="N|auto")


@dataclass(frozen=True, kw_only=True)
class CriterionOptions(LegacyOptions):
    """benchmark_criterion.py's options; with ``iter`` None a loop repeats until the median is stable."""

    EXAMPLES: ClassVar[tuple[str, ...]] = (
        "                                       OverFeat and ClassNLLCriterion, one image",
        "-4d_tensor true -batch_size 4          batches of 4",
        "--cuda --cudnn --batch-size 60         on a GPU",
        "--net alexnet_owt --pass-times         the lines of the later version",
    )

    iter: int | None = _option("iter", 5, _positive_or_auto, _ITER_HELP, metavar="N|auto")
    pass_times: Switch = _option(
        "pass-times",
        False,
        _switch,
        "print the later version's lines: 't1 ... seconds' per pass and 'feed moyen ... seconds'",
        legacy=False,
    )


Options = TypeVar("Options", bound=LegacyOptions)


class _HelpFormatter(HelpFormatter):
    """Fills the description, and leaves the lines of the examples as they are."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        if "examples:" not in text:
            return super()._fill_text(text, width, indent)
        before, _, examples = text.partition("examples:")
        return f"{super()._fill_text(before, width, indent)}\n\nexamples:{examples}"


class _Parser(ArgumentParser):
    """Options from a dataclass, errors on one line."""

    error = OneLineParser.error


def parse(options_class: type[Options], arguments: Sequence[str], program: str, description: str) -> Options:
    """Reads a command line. Raises UserError for what cannot be accepted; --help prints and exits 0."""
    examples = "\n".join(f"  {program} {example}" for example in options_class.EXAMPLES)
    parser = _Parser(
        options_class,
        prog=program,
        usage=f"{program} [options]",
        description=description,
        epilog=f"{_EPILOG}\n\nexamples:\n{examples}",
        formatter_class=_HelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action=ShowVersion)
    options: Options = parser.parse_args(canonical(options_class, arguments))
    return options


class UnknownOptionError(UserError):
    """No option of the script has this name."""


def canonical(options_class: type[LegacyOptions], arguments: Sequence[str]) -> list[str]:
    """Returns the arguments as ``--name=value``, checked; values are read here so that messages name the
    option.
    """
    known = {_key(name): option for option in fields(options_class) for name in option.metadata["args"]}
    result: list[str] = []
    rest = list(arguments)
    while rest:
        token = rest.pop(0)
        if token in _HELP_SPELLINGS:
            return ["--help"]
        if token in _VERSION_SPELLINGS:
            return ["--version"]
        if not token.startswith("-") or token in ("-", "--"):
            raise UserError(f"unexpected argument '{token}'; options start with '-' (see --help)")
        typed, equals, value = token.partition("=")
        key = _key(typed)
        negated = key not in known and key.startswith("no") and key[2:] in known
        option = known.get(key[2:] if negated else key)
        if option is None or (negated and not option.metadata["switch"]):
            raise UnknownOptionError(f"unknown option {typed}{_suggestion(key, options_class)}; see --help")
        if negated:
            if equals:
                raise UserError(f"option {typed} takes no value")
            value = "false"
        elif not equals:
            value = _following_value(typed, option, rest)
        if option.name == "input_size":
            while rest and ":" in rest[0] and not rest[0].startswith("-"):
                value += f" {rest.pop(0)}"  # several inputs, not quoted
        _check(typed, option, value)
        result.append(f"{option.metadata['args'][0]}={value}")
    return result


def _key(typed: str) -> str:
    return typed.lstrip("-").replace("-", "").replace("_", "").lower()


def _following_value(typed: str, option: "Field[Any]", rest: list[str]) -> str:
    if option.metadata["switch"]:
        return rest.pop(0) if rest and not rest[0].startswith("-") else "true"
    if not rest:
        raise UserError(f"option {typed} needs a value ({option.metadata['metavar']})")
    return rest.pop(0)


def _check(typed: str, option: "Field[Any]", value: str) -> None:
    accepted = option.metadata["choices"]
    if accepted is not None and value not in accepted:
        raise UserError(f"option {typed}: {unknown('value', value, accepted)}")
    try:
        option.metadata["type"](value)
    except (ValueError, ArgumentTypeError) as error:
        raise UserError(f"option {typed}: {error}") from None


def _suggestion(key: str, options_class: type[LegacyOptions]) -> str:
    names = {_key(option.metadata["args"][0]): option.metadata["args"][0] for option in fields(options_class)}
    close = difflib.get_close_matches(key, names, n=1)
    return f" (did you mean {names[close[0]]}?)" if close else ""
