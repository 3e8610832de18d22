"""``convnet-benchmarks t7 FILE``: what is in a .t7 file, and parts of it taken out."""

import argparse
import json
import sys
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from convnet_benchmarks.errors import UserError
from convnet_benchmarks.options.parser import OneLineParser
from convnet_benchmarks.options.types import natural
from convnet_benchmarks.output import OutputFile, check_distinct
from lua_compat.whole_file import replaced_when_whole

if TYPE_CHECKING:  # numpy is imported when a file is read, not for --help
    from lua_compat.t7 import FileFormat
    from lua_compat.t7.inspection import Row

SUMMARY = "what is in a Torch7 .t7 file; extracts parts of it"

_TARGETS = (".npy", ".npz", ".t7")
_EXAMPLES = """examples:
  %(prog)s model.t7                                       the tree
  %(prog)s model.t7 --get net.modules.3                   a part of it
  %(prog)s model.t7 --get net.modules.3.weight --to w.npy
  %(prog)s model.t7 --get net --to net.npz                every tensor of the net, by its path
  zcat model.t7.gz | %(prog)s - --json /dev/stdout | jq '.rows[].path'
"""


def main(arguments: Sequence[str], program: str) -> int:
    """Runs the command. Returns 0; raises UserError for a file or path that is not right."""
    options = _parser(program).parse_args(arguments)
    given = (("--json", options.json), ("--to", options.to))
    check_distinct([(option, path) for option, path in given if path], [("FILE", options.file)])
    if options.to and Path(options.to).suffix not in _TARGETS:
        raise UserError(f"option --to: '{options.to}' must end in {', '.join(_TARGETS)}")
    value, found, size = _read(options)
    if options.get:
        from lua_compat.t7.paths import lookup

        try:
            value = lookup(value, options.get)
        except KeyError as error:
            raise UserError(f"option --get: {error.args[0]}") from None
    if options.to:
        _write(value, options.to, found)
    from lua_compat.t7.inspection import rows

    tree = rows(value, options.entries or None)
    if options.json:
        with OutputFile("--json", options.json) as file:
            file.write(_json_parts(tree, options, found, size))
    elif not options.to:
        _print_tree(tree, options, found, size)
    return 0


def _parser(program: str) -> argparse.ArgumentParser:
    parser = OneLineParser(
        prog=program,
        description="Shows what is in a .t7 file: types, sizes, short values, the encoding.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("file", metavar="FILE", help="a .t7 file, or - for standard input")
    parser.add_argument("--json", metavar="FILE", help="write JSON: the format, and one row per object")
    parser.add_argument("--get", metavar="PATH", help="only this part: net.modules.3.weight, net.modules[3]")
    parser.add_argument("--to", metavar="OUT", help="write the part to a .npy, .npz or .t7 file")
    parser.add_argument("--entries", metavar="N", type=natural, default=50,
                        help="entries shown of each table, 0 for all (default 50)")  # fmt: skip
    parser.add_argument("--lines", metavar="N", type=natural, default=5000,
                        help="rows shown in all, 0 for all (default 5000)")  # fmt: skip
    parser.add_argument("--long-size", metavar="N", type=int, choices=(4, 8),
                        help="bytes of a long, 4 or 8 (default: found from the file)")  # fmt: skip
    parser.add_argument("--opaque", action="store_true",
                        help="stop at an object that cannot be understood, instead of failing")  # fmt: skip
    return parser


def _read(options: argparse.Namespace) -> tuple[Any, "FileFormat", int | None]:
    from lua_compat import t7
    from lua_compat.t7.inspection import unread_note

    name = "standard input" if options.file == "-" else options.file
    try:
        source = sys.stdin.buffer if options.file == "-" else options.file
        with t7.Reader(source, long_size=options.long_size, opaque=options.opaque) as reader:
            value = reader.read()
            note = unread_note(reader)
            if note is not None:
                print(f"{name}: {note}", file=sys.stderr)
            return value, reader.format, reader.size
    except t7.T7FormatError as error:
        raise UserError(f"{name}: {error}") from None
    except OSError as error:
        raise UserError(f"{name}: {error.strerror or error}") from None


def _print_tree(
    tree: Iterator["Row"], options: argparse.Namespace, found: "FileFormat", size: int | None
) -> None:
    print(f"{options.file}: {found}, {size} bytes")
    for printed, row in enumerate(tree):
        if options.lines and printed >= options.lines:
            print(f"... more than {options.lines} rows: choose a part with --get, or --lines 0")
            return
        indent = "  " * row.depth if row.depth < 40 else f"{'  ' * 40}({row.depth} deep) "
        print(f"{indent}{row.label}" + (f": {row.kind}  {row.summary}".rstrip() if row.kind else ""))


def _json_parts(
    tree: Iterator["Row"], options: argparse.Namespace, found: "FileFormat", size: int | None
) -> Iterator[str]:
    # Row by row: a file of a million tables is not held in memory twice.
    head = {
        "file": options.file,
        "bytes": size,
        "format": {"encoding": found.encoding, "byte_order": found.byte_order, "long_size": found.long_size},
    }
    yield json.dumps(head)[:-1] + ', "rows": [\n'
    more, separator = False, ""
    for i, row in enumerate(tree):
        if options.lines and i >= options.lines:
            more = True
            break
        fact = (
            {"path": row.path, "type": row.kind, **row.facts}
            if row.kind
            else {"path": row.path, "omitted": True}
        )
        yield separator + json.dumps(fact)
        separator = ",\n"
    yield f'\n], "complete": {json.dumps(not more)}}}\n'


def _write(value: Any, target: str, found: "FileFormat") -> None:
    import numpy as np

    from lua_compat import t7

    try:
        if target.endswith(".t7"):
            t7.save(target, value, found)
            return
        if target.endswith(".npy"):
            array = _one_array(value)
            with replaced_when_whole(target) as path, path.open("wb") as file:
                np.save(file, array)
            return
        _save_npz(target, _arrays(value))
    except OSError as error:
        raise UserError(f"option --to {target}: {error.strerror or error}") from None
    except (TypeError, ValueError) as error:
        raise UserError(f"option --to {target}: {error}") from None


def _save_npz(target: str, arrays: dict[str, Any]) -> None:
    # Not numpy.savez: it takes the names as keywords, and one may be 'file'.
    from numpy.lib.format import write_array

    if not arrays:
        raise UserError(f"option --to {target}: there is no tensor in it")
    with replaced_when_whole(target) as path, zipfile.ZipFile(path, "w") as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                write_array(file, array)


def _one_array(value: Any) -> Any:
    import numpy as np

    from lua_compat.t7 import LuaTable, Storage, Tensor

    if isinstance(value, Tensor):
        return value.numpy()
    if isinstance(value, Storage):
        return value.array
    if isinstance(value, LuaTable) and not value.hash_part:
        value = value.array_part
    numbers = value if isinstance(value, list) else [value]
    if not numbers or not all(isinstance(number, bool | int | float) for number in numbers):
        raise UserError("option --to: a .npy file holds a tensor, a storage or a list of numbers; "
                        "choose one with --get, or write .npz or .t7")  # fmt: skip
    return np.array(value)


def _arrays(value: Any) -> dict[str, Any]:
    """Returns every tensor and storage in the tree by its path, each once."""
    from lua_compat.t7 import Storage, Tensor
    from lua_compat.t7.inspection import places

    found = {}
    for place in places(value):
        if place.again is None and isinstance(place.part, Tensor | Storage):
            name = place.path.removeprefix("root").lstrip(".") or "root"
            found[name] = place.part.numpy() if isinstance(place.part, Tensor) else place.part.array
    return found
