"""The command ``convnet-benchmarks``: a subcommand's module is imported only when it is named."""

import importlib
import pkgutil
import sys
from collections.abc import Sequence

from convnet_benchmarks import commands
from convnet_benchmarks.errors import UserError, did_you_mean, run_command
from convnet_benchmarks.nets.version import version_line

PROGRAM = "convnet-benchmarks"
_EXAMPLES = (
    "benchmark --net alexnet_owt --batch-size 8",
    "sweep --nets alexnet_owt,googlenet --batch-sizes 1,2,4,8",
    "report sweep.jsonl --out report.html",
)
# Parts of commands that may be taken for commands.
_PARTS = {
    "roofline": "flops --parts roofline",
    "slope": "flops --parts slope",
    "operators": "ops --tables operators",
    "layers": "ops --tables layers",
    "largest-batch": "sweep --largest-batch",
    "server": "sweep --scenario server",
    "plot": "report",
    "chart": "report",
}


def command_names() -> list[str]:
    """Returns the commands: each module of ``convnet_benchmarks.commands`` is one."""
    return sorted(module.name for module in pkgutil.iter_modules(commands.__path__))


def help_text() -> str:
    """Returns the text of ``convnet-benchmarks --help``."""
    about = {name: importlib.import_module(_module(name)).SUMMARY for name in command_names()}
    width = max(map(len, about))
    lines = [f"usage: {PROGRAM} COMMAND [options]", "", "commands:"]
    lines += [f"  {name:{width}}  {text}" for name, text in about.items()]
    lines += ["", f"'{PROGRAM} COMMAND --help' explains a command's options, with examples; --version"]
    lines += [
        "prints the versions. Begin with one of these:",
        "",
        *(f"  {PROGRAM} {line}" for line in _EXAMPLES),
    ]
    return "\n".join(lines)


def dispatch(arguments: Sequence[str]) -> int:
    """Runs the command that ``arguments`` name; returns its exit code. Raises UserError."""
    if not arguments or arguments[0] in ("-h", "-help", "--help", "help"):
        if len(arguments) > 1 and arguments[1] in command_names():
            return dispatch([arguments[1], "--help"])
        print(help_text())
        return 0
    if arguments[0] in ("--version", "-version"):
        print(version_line(PROGRAM))
        return 0
    name, *rest = arguments
    if name not in command_names():
        raise UserError(_unknown_command(name))
    code: int = importlib.import_module(_module(name)).main(rest, f"{PROGRAM} {name}")
    return code


def _unknown_command(name: str) -> str:
    names = command_names()
    near = did_you_mean(name, names) or did_you_mean(name, _PARTS)
    for part, command in _PARTS.items():
        near = near.replace(f" {part}", f" {command}")
    return f"unknown command '{name}'{near}; accepted: {', '.join(names)}"


def _module(name: str) -> str:
    return f"{commands.__name__}.{name}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one subcommand; returns its exit code (0 done, 2 bad input; a command may define 1)."""
    given = sys.argv[1:] if arguments is None else arguments
    program = f"{PROGRAM} {given[0]}" if given and given[0] in command_names() else PROGRAM
    return run_command(program, lambda: dispatch(given))
