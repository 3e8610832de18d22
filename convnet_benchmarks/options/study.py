"""The common parts of the studies' command lines: reading lists, and where the tables go."""

import argparse
import contextlib
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from convnet_benchmarks import output
from convnet_benchmarks.options.parser import OneLineParser
from convnet_benchmarks.options.types import (
    cores,
    input_size,
    memory_size,
    positive,
    thread_count,
)
from convnet_benchmarks.output import OutputFile
from convnet_benchmarks.tables import Table


def study_parser(program: str, description: str, examples: Sequence[str]) -> argparse.ArgumentParser:
    """Returns a parser with the options every study has. ``examples``: command lines after the program's
    name.
    """
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
    files.add_argument(
        "--label", default="", metavar="TEXT", help="kept in the results: a branch, a setting, a machine"
    )
    files.add_argument("--md", metavar="FILE", help="the tables as Markdown")
    return parser


def add_point_options(group: "argparse._ArgumentGroup", *, points: str, memory_budget: str) -> None:
    """Adds the options of a study that measures in other processes and keeps its points in a file.

    ``points``: the file's default name. ``memory_budget``: that option's help.
    """
    group.add_argument("--threads", type=thread_count, metavar="N", help="CPU threads")
    group.add_argument("--cores", type=cores, metavar="LIST", help="use only these cores, such as 0-3,6")
    group.add_argument("--memory-budget", type=memory_size, metavar="SIZE", help=memory_budget)
    group.add_argument(
        "--points",
        default=points,
        metavar="FILE",
        help=f"where results are kept as they are measured [{points}]",
    )
    add_scheduler(group)
    group.add_argument(
        "--fresh", action="store_true", help="replace what the file of --points holds by new results"
    )


def add_scheduler(group: "argparse._ActionsContainer") -> None:
    """Adds ``--scheduler``: a study whose measurements are spread over machines."""
    group.add_argument(
        "--scheduler",
        metavar="ADDRESS",
        help="measure on the workers of this Dask scheduler, such as tcp://HOST:8786 (docs/studies.md)",
    )


def add_processes(group: "argparse._ActionsContainer", what: str) -> None:
    """Adds ``--processes``; ``what`` is measured in each of them."""
    group.add_argument(
        "--processes",
        "--rounds",
        type=positive,
        default=1,
        metavar="N",
        help=f"measure each {what} in N new processes, all in turns: shows what differs from process to "
        "process [1]",
    )


def add_cold_cache(group: "argparse._ActionsContainer") -> None:
    """Adds ``--cold-cache``."""
    group.add_argument(
        "--cold-cache",
        action="store_true",
        help="empty the last-level cache before each timed pass, outside the time (docs/method.md)",
    )


class _Joined(argparse.Action):
    """Several words as one, which need not be quoted."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: str | None = None) -> None:
        try:
            setattr(namespace, self.dest, input_size(" ".join(values)))
        except argparse.ArgumentTypeError as error:
            raise argparse.ArgumentError(self, str(error)) from None


def add_input_size(group: "argparse._ActionsContainer") -> None:
    """Adds ``--input-size``, which takes as many dimensions as the net does, and several inputs."""
    group.add_argument(
        "--input-size",
        action=_Joined,
        nargs="+",
        metavar="SIZE",
        help="of one sample, such as 3x224x224 or 2x20; several inputs by name, samples first: ids:2x128 "
        "mask:2x128 [the net's own]",
    )


_FILES = ("json", "csv", "md")


def without_files(options: argparse.Namespace) -> dict[str, Any]:
    """Returns a study's options but for those of its output: what was measured, for the JSON."""
    return {name: value for name, value in vars(options).items() if name not in _FILES}


class StudyOutput:
    """Where a study's tables go: stdout, and the files of --json, --csv and --md.

    The files are opened before anything is measured; ``write`` puts their content in place.
    """

    def __init__(self, kind: str, files: dict[str, OutputFile], label: str = "") -> None:
        self._kind = kind
        self._label = label
        self._files = files

    def write(self, tables: Sequence[Table], content: dict[str, Any]) -> None:
        """Shows ``tables`` and keeps them; ``content`` is what else the JSON has (plain JSON values)."""
        try:
            for number, table in enumerate(tables):
                if number:
                    print()
                table.show()
            sys.stdout.flush()
        finally:  # also where nobody reads stdout any longer
            self._write_files(tables, content)

    def _write_files(self, tables: Sequence[Table], content: dict[str, Any]) -> None:
        if "json" in self._files:
            document = {
                "kind": self._kind,
                "label": self._label,
                **content,
                "tables": [table.as_dict() for table in tables],
            }
            self._files["json"].write(output.as_json(document))
        if "csv" in self._files:
            several = len(tables) > 1
            parts = [f"# {table.title}\n{table.csv()}" if several else table.csv() for table in tables]
            self._files["csv"].write("\n".join(parts))
        if "md" in self._files:
            self._files["md"].write("\n".join(table.markdown() for table in tables))


@contextlib.contextmanager
def open_output(
    kind: str,
    options: argparse.Namespace,
    *,
    others: Sequence[str] = (),
    inputs: Sequence[str] = (),
    reads: Sequence[str] = (),
) -> Iterator[StudyOutput]:
    """Yields the output of the study ``kind``.

    ``others``, ``reads``: what else of ``options`` is a file that the study writes, or reads; ``inputs``:
    paths that it reads.
    Raises UserError if a file cannot be written, or is one of the others.
    """
    with contextlib.ExitStack() as stack:
        given = {name: getattr(options, name) for name in (*_FILES, *others)}
        given = {name: path for name, path in given.items() if path is not None}
        read = {f"option --{name}": getattr(options, name) for name in reads}
        output.check_distinct(
            [(f"--{name}", path) for name, path in given.items()],
            [("FILE", path) for path in inputs] + [(name, path) for name, path in read.items() if path],
        )
        files = {
            name: stack.enter_context(OutputFile(f"--{name}", given[name]))
            for name in _FILES
            if name in given
        }
        yield StudyOutput(kind, files, options.label)
