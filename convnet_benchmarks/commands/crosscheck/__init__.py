"""``convnet-benchmarks crosscheck A [B]``: do two results agree, and if not, how much do they differ."""

import argparse
import json
from collections.abc import Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from convnet_benchmarks.commands.crosscheck.report import log_report, tensor_report
from convnet_benchmarks.commands.crosscheck.runs import compare_logs
from convnet_benchmarks.errors import UserError, check_file
from convnet_benchmarks.options.parser import OneLineParser
from convnet_benchmarks.options.types import positive, seed
from convnet_benchmarks.output import OutputFile, check_distinct
from convnet_benchmarks.results.load import about
from convnet_benchmarks.results.runs import is_run_json, load_runs
from convnet_benchmarks.results.side_by_side import file_line
from convnet_benchmarks.tables import Table
from convnet_benchmarks.workload.torch7_models import is_t7_file, load_t7, without_lua_files

if TYPE_CHECKING:
    from convnet_benchmarks.commands.crosscheck.report import Report

SUMMARY = "compare results with those of a Torch7 machine"

EXIT_AGREE, EXIT_DIFFER = 0, 1

_DESCRIPTION = """\
Compares two results, A being the reference:

  two result files (.t7 .h5 .npz .npy .pt .safetensors .json), tensor by tensor;
  two benchmark runs (a legacy log, or the --json of benchmark.py), label by label;
  a Lua script (--lua), run by our th: with A, against the file that it wrote under Torch7; without A, the net
  that it defines against the Python net of the same name, from one seed;
  a Torch7 model, in a file of any name, with its recorded input and output (fields net, input,
  output of one file, or B holding input and output): the model is converted to PyTorch and run. Lua files
  that declare classes of it follow a plus: model.t7+util/OneHot.lua.

Exit code: 0 they agree, 1 they differ, 2 bad input."""

_EXAMPLES = (
    "titan_2015.log result.json           an old log and a new run",
    "dump.t7 ours.npz                     tensor by tensor",
    "--lua net.lua --net alexnet_owt      a Lua net and ours, from one seed",
    "model.t7                             a model with its recorded input and output",
)


def main(arguments: Sequence[str], program: str) -> int:
    options = _parser(program).parse_args(arguments)
    if options.json:
        inputs = (("A", options.a), ("B", options.b), ("option --lua", options.lua))
        check_distinct([("--json", options.json)], [(name, path) for name, path in inputs if path])
    with OutputFile("--json", options.json) if options.json else nullcontext() as output:
        report = _compare(options)
        if output is not None:
            output.write(json.dumps(report.document, indent=1, allow_nan=False) + "\n")
    for part in report.parts:
        part.show() if isinstance(part, Table) else print(part)
    return EXIT_AGREE if report.agrees else EXIT_DIFFER


def _parser(program: str) -> argparse.ArgumentParser:
    parser = OneLineParser(
        prog=program,
        description=_DESCRIPTION,
        epilog="examples:\n" + "\n".join(f"  {program} {example}" for example in _EXAMPLES),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("a", metavar="A", nargs="?", help="the reference")
    parser.add_argument("b", metavar="B", nargs="?", help="what is compared with it")
    parser.add_argument(
        "--rtol",
        type=_not_negative,
        metavar="X",
        help="largest error accepted, over the tensor's largest value "
        "[double 1e-9, float 1e-5, half 1e-3, bfloat16 1e-2, integers 0; a model: double 1e-6, float 1e-5]",
    )
    parser.add_argument("--atol", type=_not_negative, metavar="X", help="added to it [0]")
    parser.add_argument(
        "--only",
        action="append",
        metavar="PATTERN",
        help="compare only paths such as '*.weight' (may be repeated)",
    )
    parser.add_argument(
        "--max-slowdown",
        type=_not_negative,
        metavar="X",
        help="of two runs: differ where a phase of B takes more than X times as long as in A",
    )
    parser.add_argument(
        "--mode",
        choices=("recorded", "train", "evaluate"),
        help="of a model: run it in this mode [as the file says]",
    )
    lua = parser.add_argument_group("a Lua script")
    lua.add_argument(
        "--lua", metavar="SCRIPT", help="a script that returns a net, or that writes what A holds"
    )
    lua.add_argument("--net", metavar="NAME", help="the Python net [the script's name]")
    lua.add_argument("--seed", type=seed, metavar="N", help="of the parameters; the input's is N + 1 [1]")
    lua.add_argument("--batch-size", type=positive, metavar="N", help="images in the input [2]")
    lua.add_argument(
        "--lua-args",
        metavar="WORDS",
        help="with A: the script's arguments, {out} being the file it is to write [{out}]",
    )
    parser.add_argument("--json", metavar="FILE", help="keep everything found in FILE")
    return parser


def _not_negative(text: str) -> float:
    """Returns an option's finite number from 0 up."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"'{text}' is not a number from 0 up")
    return value


def _compare(options: argparse.Namespace) -> "Report":
    model, lua_files = without_lua_files(options.a or "")
    for path in filter(None, (model, options.b, options.lua, *lua_files)):
        check_file(path)
    if options.lua is not None:
        return _compare_lua(options)
    if options.a is None:
        raise UserError("A is missing; accepted: the file to compare with, or --lua SCRIPT")
    if lua_files:
        report = _compare_model(options, model, lua_files)
        if report is None:
            raise UserError(f"{model}: holds no model with its input and output, so Lua files do not apply")
        return report
    if options.b is None and not _is_result_file(options.a):
        raise UserError("B is missing: a log is compared with another log or with a run's JSON")
    if is_t7_file(options.a) and (options.b is None or _is_result_file(options.b)):
        report = _compare_model(options, options.a, ())
        if report is not None:
            return report
    if options.b is None:
        raise UserError(
            f"{options.a}: B is missing: a single file holds a Torch7 model (field net, model, module or "
            "network) and its input and output"
        )
    kinds = [_is_result_file(path) for path in (options.a, options.b)]
    if kinds[0] != kinds[1]:
        log, results = (options.b, options.a) if kinds[0] else (options.a, options.b)
        try:
            load_runs(log)
        except UserError as error:
            from convnet_benchmarks.commands.crosscheck.readers import READERS

            kinds_of_file = ", ".join(READERS)
            raise UserError(f"{error}, nor is it a result file as {results} ({kinds_of_file})") from None
        raise UserError(f"{log} is a run and {results} a result file: give two of one kind")
    return _compare_results(options) if kinds[0] else _compare_runs(options)


def _for(compared: str, options: argparse.Namespace, **defaults: Any) -> argparse.Namespace:
    """Returns the options, those that apply with ``defaults``. Raises UserError if another is given."""
    names = ("rtol", "atol", "only", "max_slowdown", "mode", "net", "seed", "batch_size", "lua_args")
    given = {name: getattr(options, name) for name in names if getattr(options, name) is not None}
    for name in (name for name in given if name not in defaults):
        wrong, *accepted = (f"--{one.replace('_', '-')}" for one in (name, *defaults))
        raise UserError(f"option {wrong}: is not for {compared}; accepted: {', '.join(accepted)}")
    return argparse.Namespace(**{**vars(options), **defaults, **given})


def _is_result_file(path: str) -> bool:
    from convnet_benchmarks.commands.crosscheck.readers import kind_of

    kind = kind_of(path)
    return kind is not None and not (kind == ".json" and is_run_json(path))


def _compare_model(options: argparse.Namespace, model: str, lua_files: Sequence[str]) -> "Report | None":
    """Returns None if A holds no model, or neither A nor B the input and output of one."""
    from convnet_benchmarks.commands.crosscheck.model import RELATIVE_TOLERANCES, compare_model, find_recorded
    from convnet_benchmarks.commands.crosscheck.tensors import Tolerance
    from convnet_benchmarks.commands.crosscheck.tree import load_results

    other = None if options.b is None else load_results(options.b)
    value = load_t7(model)
    try:
        recorded = find_recorded(value, other)
        if recorded is None:
            return None
        options = _for("a model", options, rtol=None, atol=0.0, mode="recorded")
        tolerance = Tolerance(options.rtol, options.atol, RELATIVE_TOLERANCES)
        comparisons, notes = compare_model(recorded, tolerance, options.mode, model, lua_files)
    except UserError as error:
        raise UserError(f"{model}: {str(error).removeprefix(f'{model}: ')}") from None
    names = (options.b or model, f"{model} converted to PyTorch")
    return tensor_report(names, comparisons, "model", notes)


def _compare_lua(options: argparse.Namespace) -> "Report":
    from convnet_benchmarks.commands.crosscheck import lua as crosscheck_lua
    from convnet_benchmarks.commands.crosscheck.tensors import Tolerance

    common: dict[str, Any] = {"rtol": None, "atol": 0.0, "only": []}
    if options.b is not None:
        raise UserError(f"{options.b}: --lua is B already; give A, or neither")
    if options.a is not None:
        options = _for("a script and its file", options, **common, lua_args="{out}")
        tolerance, only = Tolerance(options.rtol, options.atol), tuple(options.only)
        comparisons = crosscheck_lua.compare_with_recorded(
            options.a, options.lua, options.lua_args, tolerance, only
        )
        return tensor_report((options.a, f"{options.lua} run by th"), comparisons, "lua script")
    options = _for("a Lua net", options, **common, net=None, seed=1, batch_size=2)
    tolerance, only = Tolerance(options.rtol, options.atol), tuple(options.only)
    comparisons, net, notes = crosscheck_lua.compare_net(
        options.lua, options.net, options.seed, options.batch_size, tolerance, only
    )
    return tensor_report((options.lua, f"{net}, seed {options.seed}"), comparisons, "lua net", notes)


def _compare_runs(options: argparse.Namespace) -> "Report":
    options = _for("two runs", options, max_slowdown=None)
    names = (options.a, options.b)
    a, b = map(load_runs, names)
    headings = [
        file_line(letter, path, runs[0].kind if is_run_json(path) else "log", [about(run) for run in runs])
        for letter, path, runs in zip("AB", names, (a, b), strict=True)
    ]
    return log_report(names, headings, compare_logs(a, b, names, options.max_slowdown))


def _compare_results(options: argparse.Namespace) -> "Report":
    from convnet_benchmarks.commands.crosscheck.tensors import Tolerance, compare_trees
    from convnet_benchmarks.commands.crosscheck.tree import load_results

    options = _for("result files", options, rtol=None, atol=0.0, only=[])
    tolerance = Tolerance(options.rtol, options.atol)
    a, b = load_results(options.a), load_results(options.b)
    comparisons = compare_trees(a, b, tolerance, tuple(options.only))
    if not comparisons:
        wanted = f" that --only {' '.join(options.only)} names" if options.only else ""
        raise UserError(f"nothing to compare: no value{wanted} in {options.a} or {options.b}")
    return tensor_report((options.a, options.b), comparisons)
