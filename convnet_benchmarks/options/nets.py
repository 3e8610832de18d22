"""From a study's options to the net, its input and the devices."""

import argparse
import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from convnet_benchmarks.errors import OutOfDeviceMemoryError, UserError
from convnet_benchmarks.nets.net import size_of
from convnet_benchmarks.options.study import add_input_size
from convnet_benchmarks.options.types import seed, thread_count
from convnet_benchmarks.workload import nets as named_nets
from convnet_benchmarks.workload.author_errors import text_of
from convnet_benchmarks.workload.devices import open_device
from convnet_benchmarks.workload.inputs import build_for_inference, in_format
from convnet_benchmarks.workload.memory import is_out_of_memory

if TYPE_CHECKING:
    import torch
    from torch import nn

    from convnet_benchmarks.nets.registry import Net


def add_net_options(parser: argparse.ArgumentParser, default: str) -> None:
    """Adds ``--net``, ``--input-size``, ``--seed`` and ``--threads``."""
    parser.add_argument(
        "--net",
        default=default,
        metavar="NAME",
        help=f"of benchmark.py --list-nets, module:function, file.py:function or model.t7 [{default}]",
    )
    add_input_size(parser)
    parser.add_argument("--seed", type=seed, default=1, help="of parameters and input [1]")
    parser.add_argument("--threads", type=thread_count, metavar="N", help="PyTorch's threads on a CPU")


def find_net(request: Mapping[str, Any]) -> "Net":
    """Returns the net of the options ``net`` and ``input_size``. Raises UserError for one that is not
    there.
    """
    return named_nets.find(request["net"], size_of(request["input_size"]))


def build_net(net: "Net", seed: int, device: "torch.device", dtype: "torch.dtype") -> "nn.Module":
    """Returns the net in evaluation mode on ``device``."""
    return in_format(build_for_inference(net, seed).eval(), device, dtype)


@contextlib.contextmanager
def one_line_errors(what: str) -> Iterator[None]:
    """Turns PyTorch's refusals (sizes, number formats, memory) into a UserError that begins with ``what``."""
    try:
        yield
    except (RuntimeError, ValueError, TypeError, IndexError, MemoryError) as error:
        if is_out_of_memory(error):
            raise OutOfDeviceMemoryError(f"{what}: out of memory") from None
        reason = next(iter(text_of(error).splitlines()), type(error).__name__)
        raise UserError(f"{what}: {reason}") from None


def find_devices(names: Sequence[str] | None, option: str = "--devices") -> list["torch.device"]:
    """Returns the devices called ``names`` (cpu, cuda, cuda:1 ...), by default the CPU and a GPU if there
    is one.

    Raises UserError for one that is not there.
    """
    import torch

    if names is None:
        names = ["cpu", "cuda"] if torch.cuda.is_available() else ["cpu"]
    try:
        return [open_device(name) for name in names]
    except UserError as error:
        raise UserError(f"option {option}: {error}") from None
