"""``convnet-benchmarks convert MODEL --to FILE``: Torch7 models to PyTorch, and named nets to Torch7."""

import argparse
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from convnet_benchmarks.errors import UserError
from convnet_benchmarks.nets import registry
from convnet_benchmarks.options.parser import OneLineParser
from convnet_benchmarks.options.types import size_with_batch
from convnet_benchmarks.output import check_distinct
from convnet_benchmarks.workload.devices import DTYPES
from convnet_benchmarks.workload.model_files import TARGETS, check_target, net_with_state, write_model
from convnet_benchmarks.workload.program_files import PROGRAMS, check_program, is_program, write_program
from convnet_benchmarks.workload.torch7_models import is_t7_file, load_module, without_lua_files

if TYPE_CHECKING:
    from torch import nn

_TARGETS = (*TARGETS, *PROGRAMS)
SUMMARY = "a Torch7 model to PyTorch, or a net for Torch7"

_EXAMPLES = """examples:
  %(prog)s model.t7 --to model.pt                    the state_dict; the module's text goes to stdout
  %(prog)s model.t7 --to model.py                    plain PyTorch code, and its numbers beside it
  %(prog)s checkpoint.t7 --at protos.rnn --to net.safetensors --dtype float32
  %(prog)s gpu_model.t7 --to cpu_model.t7            cudnn and CUDA become nn on the CPU
  %(prog)s model.net --lua util/OneHot.lua --to model.pt   classes of its own are computed by Lua
  %(prog)s model.t7 --to model.onnx --input-size 3x224x224   to run without Python; or model.pt2
  %(prog)s weights.pt --net alexnet_owt --to alexnet.t7   a net of --list-nets, for real Torch7
"""


def main(arguments: Sequence[str], program: str) -> int:
    """Runs the command. Returns 0; raises UserError for what cannot be read, converted or written."""
    options = _parser(program).parse_args(arguments)
    check_distinct([("--to", options.to)], [("MODEL", without_lua_files(options.model)[0])])
    if is_program(options.to):
        check_program(options.to, options.input_size, "option --to")
    else:
        check_target(options.to, "option --to", PROGRAMS, options.model)
    module = _read(options.model, options.net, options.at, options.lua)
    if options.dtype is not None:
        module = _with_number_type(module, options.dtype)
    if is_program(options.to):
        write_program(module, options.to, options.input_size, "option --to", options.dtype is not None)
    else:
        write_model(module, options.to, "option --to")
    print(module)
    return 0


def _parser(program: str) -> argparse.ArgumentParser:
    parser = OneLineParser(
        prog=program,
        description="Converts a Torch7 model (nn, cudnn, nngraph) to PyTorch, or writes one for Torch7.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "model", metavar="MODEL", help="a Torch7 file; with --net a state_dict (.pt, .safetensors)"
    )
    parser.add_argument("--to", metavar="FILE", required=True, help=f"what to write: {', '.join(_TARGETS)}")
    parser.add_argument(
        "--at", "--get", metavar="PATH", help="where the model is in the file: net, models.2, protos.rnn"
    )
    parser.add_argument(
        "--lua", metavar="FILE", nargs="+", default=[], help="Lua files that declare classes of the model"
    )
    parser.add_argument(
        "--input-size",
        metavar="SIZE",
        nargs="+",
        type=size_with_batch,
        help="of one sample: 3x224x224, or 20xNx5 with N where the batch is; several for a table",
    )
    parser.add_argument("--dtype", choices=DTYPES, help="number type of what is written [the file's]")
    parser.add_argument("--net", metavar="NAME", help="the net that the state_dict belongs to")
    return parser


def _with_number_type(module: "nn.Module", dtype: str) -> "nn.Module":
    import torch

    from lua_compat.conversion.number_types import with_number_type

    return with_number_type(module, getattr(torch, dtype))


def _read(file: str, net: str | None, place: str | None, lua: Sequence[str]) -> "nn.Module":
    if net is None:
        model, _ = without_lua_files(file)
        if os.path.exists(model) and not is_t7_file(model):
            raise UserError(f"{model}: must be a .t7 file; a state_dict needs --net")
        return load_module(file, place, "option --at", lua)
    if lua:
        raise UserError("option --lua: is for a Torch7 model; with --net the net is known")
    try:
        return net_with_state(registry.find(net), file)
    except KeyError as error:
        raise UserError(f"option --net: {error.args[0]}") from None
