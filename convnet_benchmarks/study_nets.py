"""From a study's options to the net, its input and the devices."""

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from convnet_benchmarks.errors import UserError
from convnet_benchmarks.one_line_parser import natural
from convnet_benchmarks.study_options import positive

if TYPE_CHECKING:
    import torch
    from torch import nn

    from convnet_benchmarks.timing import Clock
    from nets.registry import Net


def add_net_options(parser: argparse.ArgumentParser, default: str) -> None:
    """``--net``, ``--seed`` and ``--threads``."""
    parser.add_argument(
        "--net", default=default, metavar="NAME", help=f"one of benchmark.py --list-nets (default: {default})"
    )
    parser.add_argument("--seed", type=natural, default=1, help="of parameters and input (default: 1)")
    parser.add_argument("--threads", type=positive, metavar="N", help="PyTorch's threads on a CPU")


def find_net(name: str, option: str = "--net") -> "Net":
    """The net called ``name``. Raises UserError with the accepted names."""
    from nets import registry

    try:
        return registry.find(name)
    except KeyError as error:
        raise UserError(f"option {option}: {error.args[0]}") from None


def build_net(net: "Net", seed: int, device: "torch.device", dtype: "torch.dtype") -> "nn.Module":
    """The net in evaluation mode on ``device``."""
    from nets import registry

    return registry.build(net, seed).eval().to(device, dtype)


def sample_input(net: "Net", batch_size: int, seed: int) -> "torch.Tensor":
    """A batch of inputs, float32 on the CPU; the same numbers for the same seed."""
    from nets.torch7_init import normal_input
    from nets.torch7_random import Generator

    return normal_input((batch_size, *net.input_size), Generator(seed + 1))


def find_devices(names: Sequence[str] | None, option: str = "--devices") -> list["torch.device"]:
    """The devices called ``names`` (cpu, cuda, cuda:1 ...), by default the CPU and a GPU if there is one.

    Raises UserError for one that is not there.
    """
    import torch

    if names is None:
        names = ["cpu", "cuda"] if torch.cuda.is_available() else ["cpu"]
    return [_device(name, option) for name in names]


def _device(name: str, option: str) -> "torch.device":
    import torch

    try:
        device = torch.device(name)
    except RuntimeError:
        raise UserError(f"option {option}: '{name}' is not a device; accepted: cpu, cuda, cuda:N") from None
    if device.type not in ("cpu", "cuda"):
        raise UserError(f"option {option}: '{name}' is not supported; accepted: cpu, cuda, cuda:N")
    if device.type == "cuda":
        if not torch.cuda.is_available():
            why = "this build of PyTorch has no CUDA" if torch.version.cuda is None else "no GPU was found"
            raise UserError(f"option {option}: {name}: {why}; accepted here: cpu")
        device = torch.device("cuda", device.index or 0)
        if device.index >= torch.cuda.device_count():
            accepted = f"accepted: cuda:0 to cuda:{torch.cuda.device_count() - 1}"
            raise UserError(f"option {option}: there is no {name}; {accepted}")
    return device


def device_clock(device: "torch.device") -> "Clock":
    """What times work on ``device``."""
    from convnet_benchmarks.timing import CudaClock, HostClock

    return CudaClock(device, synchronises=True) if device.type == "cuda" else HostClock()
