"""From a study's options to the net, its input and the devices."""

import argparse
import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from convnet_benchmarks.errors import OutOfDeviceMemoryError, UserError
from convnet_benchmarks.options.parser import seed, thread_count
from convnet_benchmarks.options.study import input_size

if TYPE_CHECKING:
    import torch
    from torch import nn

    from nets.registry import Net


def add_net_options(parser: argparse.ArgumentParser, default: str) -> None:
    """``--net``, ``--input-size``, ``--seed`` and ``--threads``."""
    parser.add_argument(
        "--net",
        default=default,
        metavar="NAME",
        help=f"of benchmark.py --list-nets, module:function, file.py:function or model.t7 [{default}]",
    )
    parser.add_argument(
        "--input-size", type=input_size, metavar="SIZE", help="of one sample, as 3x224x224 [the net's own]"
    )
    parser.add_argument("--seed", type=seed, default=1, help="of parameters and input [1]")
    parser.add_argument("--threads", type=thread_count, metavar="N", help="PyTorch's threads on a CPU")


def find_net(request: Mapping[str, Any]) -> "Net":
    """The net of the options ``net`` and ``input_size``. Raises UserError for one that is not there."""
    from convnet_benchmarks.workload import nets as named_nets

    size = request["input_size"]
    return named_nets.find(request["net"], None if size is None else tuple(size))


def build_net(net: "Net", seed: int, device: "torch.device", dtype: "torch.dtype") -> "nn.Module":
    """The net in evaluation mode on ``device``."""
    from convnet_benchmarks.points.workload import build_for_inference

    return build_for_inference(net, seed).eval().to(device, dtype)


def meta_input(net: "Net", batch_size: int) -> "torch.Tensor":
    """A batch of inputs without memory, for a net on the meta device."""
    import torch

    from convnet_benchmarks.points.workload import sample_input

    sample = sample_input(net, 1, seed=1)
    return torch.empty((batch_size, *sample.shape[1:]), dtype=sample.dtype, device="meta")


@contextlib.contextmanager
def one_line_errors(what: str) -> Iterator[None]:
    """Turns PyTorch's refusals (sizes, number formats, memory) into a UserError that begins with ``what``."""
    from convnet_benchmarks.workload.memory import is_out_of_memory

    try:
        yield
    except (RuntimeError, ValueError, TypeError, IndexError, MemoryError) as error:
        if is_out_of_memory(error):
            raise OutOfDeviceMemoryError(f"{what}: out of memory") from None
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        raise UserError(f"{what}: {reason}") from None


def find_devices(names: Sequence[str] | None, option: str = "--devices") -> list["torch.device"]:
    """The devices called ``names`` (cpu, cuda, cuda:1 ...), by default the CPU and a GPU if there is one.

    Raises UserError for one that is not there.
    """
    import torch

    from convnet_benchmarks.points.workload import open_device

    if names is None:
        names = ["cpu", "cuda"] if torch.cuda.is_available() else ["cpu"]
    try:
        return [open_device(name) for name in names]
    except UserError as error:
        raise UserError(f"option {option}: {error}") from None
