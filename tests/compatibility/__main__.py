"""``python -m tests.compatibility FOLDER``: runs the list and writes the page and the JSON."""

import argparse
import json
import os
import shlex
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.compatibility.recorded import Recorded
from tests.compatibility.report import as_json, as_page
from tests.compatibility.repositories import REPOSITORIES, ROCKS
from tests.compatibility.repository import Repository
from tests.compatibility.stages import Result, examine, find_packages

_SECONDS = 300.0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.compatibility", description=__doc__)
    parser.add_argument("folder", type=Path, help="holds the repositories, each as OWNER+NAME")
    parser.add_argument("--out", type=Path, help="the page, such as docs/compatibility.md")
    parser.add_argument("--json", type=Path, help="everything that was found")
    parser.add_argument(
        "--only",
        nargs="+",
        metavar="NAME",
        help="parts of names: run only these, and keep the others of --json",
    )
    parser.add_argument(
        "--torch7", metavar="COMMAND", help="a Torch7 to compare with, such as ~/torch/install/bin/th"
    )
    parser.add_argument(
        "--seconds",
        type=float,
        default=_SECONDS,
        help="of processor time, at most for each command (%(default)g)",
    )
    parser.add_argument(
        "--record", action="store_true", help="keep the numbers that --torch7 prints (recorded.json)"
    )
    parser.add_argument(
        "--resume", action="store_true", help="leave out the repositories that --json has already"
    )
    parser.add_argument(
        "--packages",
        action="store_true",
        help="look again only at what the repositories of --json require, and keep all else",
    )
    options = parser.parse_args(arguments)
    if not options.folder.is_dir():
        parser.error(f"{options.folder}: no such folder")
    if options.record and not options.torch7:
        parser.error("--record keeps what Torch7 prints: name one with --torch7")
    if options.resume and not options.json:
        parser.error("--resume continues the file of --json, which is not given")
    if options.packages and not (options.json and options.json.exists()):
        parser.error("--packages changes the file of --json, which is not there")
    return options


def link_rocks(folder: Path, place: Path) -> None:
    """Puts the plain Lua packages where require finds them, as LuaRocks installs them, their test.lua beside
    the rest."""
    for name, (repository, inside) in ROCKS.items():
        source = (folder / repository.replace("/", "+") / inside).resolve()
        if source.suffix == ".lua" and source.exists():
            os.symlink(source, place / f"{name}.lua")
        elif source.is_dir():
            (place / name).mkdir()
            if (source.parent / f"{name}.lua").exists():
                os.symlink(source.parent / f"{name}.lua", place / f"{name}.lua")
            tests = [
                test for test in sorted((source / "test").glob("*.lua")) if not (source / test.name).exists()
            ]
            for entry in [*source.iterdir(), *tests]:
                os.symlink(entry, place / name / entry.name)


def _here(folder: Path, only: Sequence[str] | None) -> list[Repository]:
    return [
        repository
        for repository in REPOSITORIES
        if (folder / repository.folder).is_dir()
        and (not only or any(part in repository.name for part in only))
    ]


def _kept(report: Path | None, run_again: Sequence[str]) -> list[Result]:
    """Returns the results of a report but for those that are run again."""
    if report is None or not report.exists():
        return []
    document = json.loads(report.read_text(encoding="utf-8"))
    return [
        Result(**{"date": document["date"], **result})
        for result in document["results"]
        if result["name"] not in run_again
    ]


def _packages_again(options: argparse.Namespace, found: Sequence[Repository], rocks: Sequence[Path]) -> None:
    """Changes what the report says of packages, for the repositories found."""
    results = {result.name: result for result in _kept(options.json, ())}
    for repository in found:
        result = results[repository.name]
        folder = options.folder.resolve() / repository.folder
        with tempfile.TemporaryDirectory() as scratch:
            ended = find_packages(repository, result, folder, Path(scratch), rocks, options.seconds)
        missing = sorted(result.missing_with_pip)
        print(f"{result.name}: {ended or ', '.join(missing) or 'all'}", flush=True)
    _write(options, list(results.values()))


def _write(options: argparse.Namespace, results: Sequence[Result]) -> None:
    if options.json:
        options.json.write_text(json.dumps(as_json(results), indent=1) + "\n", encoding="utf-8")
    if options.out:
        options.out.write_text(as_page(results), encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    found = _here(options.folder, options.only)
    if not found:
        print(f"{options.folder} holds none of the {len(REPOSITORIES)} repositories", file=sys.stderr)
        return 2
    torch7 = shlex.split(os.path.expanduser(options.torch7)) if options.torch7 else None
    results = []
    if options.resume:
        results = _kept(options.json, ())
        done = {result.name for result in results}
        found = [repository for repository in found if repository.name not in done]
    elif options.only:
        results = _kept(options.json, [repository.name for repository in found])
    recorded = Recorded.read()
    with tempfile.TemporaryDirectory() as place:
        link_rocks(options.folder, Path(place))
        rocks = [Path(place) / "any"]
        if options.packages:
            _packages_again(options, found, rocks)
            return 0
        for repository in found:
            folder = options.folder.resolve() / repository.folder
            result = examine(repository, folder, rocks, torch7, options.seconds, recorded)
            results = sorted([*results, result], key=lambda result: result.name.lower())
            print(f"{result.name}: {result.stage}  {result.problem}", flush=True)
            _write(options, results)
            if options.record:
                recorded.write()
    return 0


if __name__ == "__main__":
    sys.exit(main())
