"""``convnet-benchmarks convert MODEL --to FILE``: Torch7 models to PyTorch, and named nets to Torch7."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from convnet_benchmarks.errors import UserError
from convnet_benchmarks.one_line_parser import OneLineParser

if TYPE_CHECKING:
    from torch import nn

_STATE_SUFFIXES = (".pt", ".pth", ".safetensors")
_TARGETS = (*_STATE_SUFFIXES, ".t7")
_EXAMPLES = """examples:
  %(prog)s model.t7 --to model.pt                    the state_dict; the module's text goes to stdout
  %(prog)s results.t7 --get net --to net.safetensors
  %(prog)s gpu_model.t7 --to cpu_model.t7            cudnn and CUDA become nn on the CPU
  %(prog)s weights.pt --net alexnet_owt --to alexnet.t7   a net of --list-nets, for real Torch7
"""


def main(arguments: Sequence[str], program: str) -> int:
    """Runs the command. Returns 0; raises UserError for what cannot be read, converted or written."""
    options = _parser(program).parse_args(arguments)
    suffix = Path(options.to).suffix.lower()
    if suffix not in _TARGETS:
        raise UserError(f"--to: '{options.to}' must end in {', '.join(_TARGETS)}")
    if suffix == ".safetensors":
        _require_safetensors()
    folder = Path(options.to).parent
    if not folder.is_dir():
        raise UserError(f"--to: cannot write '{options.to}': there is no folder '{folder}'")
    module = _named_net(options.model, options.net) if options.net else _torch7_model(options)
    try:
        _write(module, options.to, suffix)
    except OSError as error:
        raise UserError(f"--to: cannot write '{options.to}': {error.strerror or error}") from None
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
        "model", metavar="MODEL", help="a .t7 file; with --net a state_dict (.pt, .safetensors)"
    )
    parser.add_argument("--to", metavar="FILE", required=True, help=f"what to write: {', '.join(_TARGETS)}")
    parser.add_argument("--get", metavar="PATH", help="where the model is in the file: net, models.2")
    parser.add_argument("--net", metavar="NAME", help="the net that the state_dict belongs to")
    return parser


def _require_safetensors() -> None:
    try:
        import safetensors.torch  # noqa: F401
    except ImportError:
        raise UserError(
            "--to: .safetensors needs the package safetensors (pip install safetensors)"
        ) from None


def _torch7_model(options: argparse.Namespace) -> "nn.Module":
    from lua_compat import t7
    from lua_compat.conversion import ConversionError, to_torch

    path, source = _find_model(options.model, options.get)
    assert isinstance(source, t7.TorchObject)
    try:
        return to_torch(source, path)
    except ConversionError as error:
        raise UserError(f"{options.model}: {error}") from None


def _find_model(file: str, place: str | None) -> tuple[str, Any]:
    """The model and its path: at ``place``, the file's only object, or the only model in its table."""
    from convnet_benchmarks.crosscheck_model import is_model
    from convnet_benchmarks.result_files import load_t7
    from lua_compat.t7 import LuaTable
    from lua_compat.t7.paths import lookup

    if Path(file).suffix.lower() != ".t7":
        raise UserError(f"{file}: must be a .t7 file; a state_dict needs --net")
    value = load_t7(file)
    if place is not None:
        try:
            value = lookup(value, place)
        except KeyError as error:
            raise UserError(f"--get: {error.args[0]}") from None
    path = place or "root"
    if is_model(value):
        return path, value
    entries = value.items() if isinstance(value, LuaTable) else ()
    models = {str(key): item for key, item in entries if is_model(item)}
    if len(models) == 1:
        ((name, model),) = models.items()
        return name if place is None else f"{place}.{name}", model
    found = f"it holds several: {', '.join(models)}" if models else "there is none"
    raise UserError(f"{file}: --get must name a model; at {path} {found}")


def _named_net(file: str, name: str) -> "nn.Module":
    """A net of the registry with the state_dict in ``file``."""
    import pickle

    import torch

    from nets import registry

    try:
        net = registry.find(name)
    except KeyError as error:
        raise UserError(f"--net: {error.args[0]}") from None
    suffix = Path(file).suffix.lower()
    if suffix not in _STATE_SUFFIXES:
        raise UserError(f"{file}: with --net it must end in {', '.join(_STATE_SUFFIXES)}")
    try:
        if suffix == ".safetensors":
            _require_safetensors()
            from safetensors.torch import load_file

            state = load_file(file)
        else:
            state = torch.load(file, map_location="cpu", weights_only=True)
    except OSError as error:
        raise UserError(f"{file}: {error.strerror or error}") from None
    except (pickle.UnpicklingError, RuntimeError, EOFError, ValueError) as error:
        raise UserError(f"{file}: not a state_dict ({str(error).splitlines()[0]})") from None
    module = registry.on_meta(net)
    try:
        module.load_state_dict(state, assign=True)
    except (RuntimeError, TypeError, AttributeError) as error:
        reason = " ".join(str(error).split())
        raise UserError(f"{file}: not a state_dict of {name}: {reason[:200]}") from None
    return module.eval()


def _write(module: "nn.Module", path: str, suffix: str) -> None:
    from lua_compat import t7
    from lua_compat.conversion import ConversionError, from_torch
    from lua_compat.conversion.state_files import save_state_dict

    if suffix != ".t7":
        save_state_dict(module, path)
        return
    try:
        model = from_torch(module)
    except ConversionError as error:
        raise UserError(str(error)) from None
    t7.save(path, model)
