"""What the studies' command lines have in common: reading lists, and where the tables go."""

import argparse
import contextlib
import os
import re
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from convnet_benchmarks import output
from convnet_benchmarks.options.parser import OneLineParser, thread_count
from convnet_benchmarks.output import OutputFile
from convnet_benchmarks.tables import Table


def study_parser(program: str, description: str, examples: Sequence[str]) -> argparse.ArgumentParser:
    """A parser with the options every study has. ``examples``: command lines after the program's name."""
    lines = "\n".join(f"  {program} {example}".rstrip() for example in examples)
    parser = OneLineParser(
        prog=program,
        usage=f"{program} [options]",
        description=description,
        epilog=f"examples:\n{lines}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    files = parser.add_argument_group("output")
    files.add_argument("--json", metavar="FILE", help="everything measured, and the environment")
    files.add_argument("--csv", metavar="FILE", help="the tables as CSV, numbers in full")
    files.add_argument("--md", metavar="FILE", help="the tables as Markdown")
    return parser


def add_point_options(group: "argparse._ArgumentGroup", *, points: str, memory_budget: str) -> None:
    """The options of a study that keeps what it measures in a file of points, measuring in other processes.

    ``points``: the file's default name. ``memory_budget``: that option's help.
    """
    group.add_argument("--threads", type=thread_count, metavar="N", help="CPU threads")
    group.add_argument("--cores", type=cores, metavar="LIST", help="keep to these cores, as 0-3,6")
    group.add_argument("--memory-budget", type=memory_size, metavar="SIZE", help=memory_budget)
    group.add_argument(
        "--points", default=points, metavar="FILE", help=f"everything, as it is measured [{points}]"
    )
    group.add_argument("--fresh", action="store_true", help="forget what the file of --points holds")


_FILES = ("json", "csv", "md")


def without_files(options: argparse.Namespace) -> dict[str, Any]:
    """A study's options but for those of its output: what was measured, for the JSON."""
    return {name: value for name, value in vars(options).items() if name not in _FILES}


class StudyOutput:
    """Where a study's tables go: stdout, and the files of --json, --csv and --md.

    The files are opened before anything is measured; ``write`` puts their content in place.
    """

    def __init__(self, kind: str, files: dict[str, OutputFile]) -> None:
        self._kind = kind
        self._files = files

    def write(self, tables: Sequence[Table], content: dict[str, Any]) -> None:
        """Shows ``tables`` and keeps them; ``content`` is what else the JSON has (plain JSON values)."""
        try:
            for number, table in enumerate(tables):
                if number:
                    print()
                table.show()
            sys.stdout.flush()
        finally:  # also where nobody reads stdout any more
            self._write_files(tables, content)

    def _write_files(self, tables: Sequence[Table], content: dict[str, Any]) -> None:
        if "json" in self._files:
            document = {"kind": self._kind, **content, "tables": [table.as_dict() for table in tables]}
            self._files["json"].write(output.as_json(document))
        if "csv" in self._files:
            several = len(tables) > 1
            parts = [f"# {table.title}\n{table.csv()}" if several else table.csv() for table in tables]
            self._files["csv"].write("\n".join(parts))
        if "md" in self._files:
            self._files["md"].write("\n".join(table.markdown() for table in tables))


@contextlib.contextmanager
def open_output(
    kind: str, options: argparse.Namespace, *, others: Sequence[str] = (), inputs: Sequence[str] = ()
) -> Iterator[StudyOutput]:
    """The output of the study ``kind``.

    ``others``: what else of ``options`` is a file that the study writes; ``inputs``: paths that it reads.
    Raises UserError where a file cannot be written, or is one of the others.
    """
    with contextlib.ExitStack() as stack:
        given = {name: getattr(options, name) for name in (*_FILES, *others)}
        given = {name: path for name, path in given.items() if path is not None}
        output.check_distinct(
            [(f"--{name}", path) for name, path in given.items()], [("FILE", path) for path in inputs]
        )
        files = {
            name: stack.enter_context(OutputFile(f"--{name}", given[name]))
            for name in _FILES
            if name in given
        }
        yield StudyOutput(kind, files)


def names(text: str) -> list[str]:
    """An option's comma-separated names."""
    found = [name.strip() for name in text.split(",") if name.strip()]
    if not found:
        raise argparse.ArgumentTypeError("no name given; accepted: names separated by commas")
    return list(dict.fromkeys(found))


def positive(text: str) -> int:
    """An option's whole number from 1 up."""
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number from 1 up")
    return int(text)


def sizes(text: str) -> list[int]:
    """An option's comma-separated whole numbers from 1 up."""
    return list(dict.fromkeys(positive(part.strip()) for part in text.split(",")))


def memory_size(text: str) -> int:
    """An option's amount of memory, such as 8GiB, 512M or 1.5g, in bytes (1024 to the K)."""
    found = re.fullmatch(r"(\d{1,15}(?:\.\d+)?)\s*([kmgt])(?:i?b)?", text, re.IGNORECASE)
    if not found or float(found[1]) == 0:
        raise argparse.ArgumentTypeError(f"'{text}' is not an amount of memory such as 8GiB or 512MiB")
    return int(float(found[1]) * 1024 ** ("kmgt".index(found[2].lower()) + 1))


def seconds(text: str) -> float:
    """An option's number of seconds above 0."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"'{text}' is not a number of seconds above 0")
    return value


def input_size(text: str) -> tuple[int, int, int]:
    """An option's planes, height and width of one sample, as 3x224x224."""
    parts = text.lower().split("x")
    if len(parts) != 3:
        raise argparse.ArgumentTypeError(f"'{text}' is not an input size; accepted: 3x224x224 and the like")
    planes, height, width = map(positive, parts)
    return planes, height, width


def cores(text: str) -> list[int]:
    """An option's processor cores, as 0-3,6; only those that this process may use."""
    if not hasattr(os, "sched_getaffinity"):
        raise argparse.ArgumentTypeError("this system does not let a process choose its cores")
    usable = os.sched_getaffinity(0)
    beyond = max(usable) + 1  # stands for all higher numbers: a range may name billions
    found: set[int] = set()
    for part in text.split(","):
        bounds = re.fullmatch(r"\s*(\d+)(?:-(\d+))?\s*", part)
        if not bounds:
            raise argparse.ArgumentTypeError(f"'{text}' is not a list of cores such as 0-3,6")
        first, last = (min(int(bound), beyond) for bound in (bounds[1], bounds[2] or bounds[1]))
        found.update(range(first, last + 1))
    if not found or not found <= usable:
        have = ",".join(map(str, sorted(usable)))
        raise argparse.ArgumentTypeError(f"'{text}' names cores that are not there; accepted: {have}")
    return sorted(found)
