"""The command ``convnet-benchmarks``: a subcommand's module is imported only when it is named."""

import importlib
import pkgutil
import sys
from collections.abc import Sequence

from convnet_benchmarks import studies
from convnet_benchmarks.errors import UserError, run_command

PROGRAM = "convnet-benchmarks"

# name -> (module, one line for --help). Each module has ``main(arguments, program) -> exit code``.
# The modules of ``convnet_benchmarks.studies`` are commands, too, without being listed here.
SUBCOMMANDS: dict[str, tuple[str, str]] = {
    "benchmark": ("convnet_benchmarks.legacy_benchmark", "time a net's three phases, as benchmark.lua did"),
    "criterion": (
        "convnet_benchmarks.legacy_criterion",
        "time a net and its criterion, as the Lua script did",
    ),
    "convert": ("convnet_benchmarks.convert_command", "a Torch7 model to PyTorch, or a net for Torch7"),
    "crosscheck": ("convnet_benchmarks.crosscheck_command", "compare results with those of a Torch7 machine"),
    "t7": ("convnet_benchmarks.t7_command", "what is in a Torch7 .t7 file, and parts of it taken out"),
}


def study_names() -> list[str]:
    """The commands that are modules of ``convnet_benchmarks.studies``."""
    return sorted(module.name for module in pkgutil.iter_modules(studies.__path__))


def help_text() -> str:
    about = {name: text for name, (_, text) in SUBCOMMANDS.items()}
    about |= {name: importlib.import_module(_study_module(name)).SUMMARY for name in study_names()}
    width = max(map(len, about))
    lines = [f"usage: {PROGRAM} COMMAND [options]", "", "commands:"]
    lines += [f"  {name:{width}}  {text}" for name, text in about.items()]
    return "\n".join([*lines, "", f"'{PROGRAM} COMMAND --help' explains a command's options."])


def dispatch(arguments: Sequence[str]) -> int:
    if not arguments or arguments[0] in ("-h", "-help", "--help", "help"):
        print(help_text())
        return 0
    name, *rest = arguments
    if name in SUBCOMMANDS:
        path, _ = SUBCOMMANDS[name]
    elif name in study_names():
        path = _study_module(name)
    else:
        raise UserError(f"unknown command '{name}'; accepted: {', '.join([*SUBCOMMANDS, *study_names()])}")
    code: int = importlib.import_module(path).main(rest, f"{PROGRAM} {name}")
    return code


def _study_module(name: str) -> str:
    return f"{studies.__name__}.{name}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one subcommand; returns its exit code (0 done, 2 bad input; a command may define 1)."""
    given = sys.argv[1:] if arguments is None else arguments
    return run_command(PROGRAM, lambda: dispatch(given))
