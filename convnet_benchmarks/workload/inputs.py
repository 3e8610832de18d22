"""Inputs and untrained nets from a seed: the same numbers for every command."""

from typing import TYPE_CHECKING, Any

from convnet_benchmarks.nets import registry
from convnet_benchmarks.nets.net import Net
from convnet_benchmarks.workload.memory import is_out_of_memory
from convnet_benchmarks.workload.own_inputs import own_batch

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn

# Images from which batch normalisation in a net that was never trained has its statistics.
_STATISTICS_BATCH = 4


def sample_input(net: Net, shape: tuple[int, ...], seed: int) -> "Tensor":
    """Returns an input of ``shape`` on the CPU, drawn from ``seed`` + 1 (``seed`` draws the parameters).

    Images are float32 normal numbers of Torch7's generator, as ``torch.manualSeed(seed + 1)`` and
    ``torch.randn`` gave them; token ids are int64, all equally likely.
    """
    import torch

    from convnet_benchmarks.nets.torch7.initialisation import normal_input
    from convnet_benchmarks.nets.torch7.random import Generator

    if net.tokens:
        return net.sample(shape, torch.Generator().manual_seed(seed + 1))
    return normal_input(shape, Generator((seed + 1) % 2**32))


def sample_batch(net: Net, batch_size: int, seed: int) -> "Tensor":
    """Returns ``sample_input`` of ``batch_size`` samples of the net's input size."""
    return sample_input(net, (batch_size, *net.input_size), seed)


def blank_batch(
    net: Net,
    module: "nn.Module",
    batch_size: int,
    device: "torch.device",
    dtype: "torch.dtype",
    shape: tuple[int, ...] | None = None,
) -> Any:
    """Returns a batch of inputs for ``module``, which is ``net`` on ``device``, where the numbers do not
    matter: zeros, which cost nothing to make; of a net from outside, those that it takes.

    ``shape``: see :func:`batch_for`.
    """
    import torch

    if net.own_parameters:
        return own_batch(net, module, batch_size, 1, device, dtype, "option --net")
    kind = torch.int64 if net.tokens else dtype
    return torch.zeros(shape or (batch_size, *net.input_size), dtype=kind, device=device)


def meta_batch(net: Net, batch_size: int, module: "nn.Module") -> Any:
    """Returns a batch of inputs without memory for ``module``, which is ``net`` on the meta device."""
    import torch

    return blank_batch(net, module, batch_size, torch.device("meta"), torch.float32)


def counted_on(net: Net, batch_size: int, seed: int) -> "tuple[nn.Module, Any, bool]":
    """Returns the net in evaluation mode, a batch of its inputs, and whether they have no memory, as is
    enough for counting operations; a net that needs numbers to run gets them, on the CPU. Both are float32.

    Raises UserError for a net that does not run.
    """
    import torch

    from convnet_benchmarks.nets.state.kept_state import KeptState

    try:
        module = in_format(registry.on_meta(net), None, torch.float32).eval()
        input = meta_batch(net, batch_size, module)
        with torch.no_grad(), KeptState(module):
            module(input)
    except Exception as error:  # whatever the author's code, or PyTorch, raises for tensors without memory
        if is_out_of_memory(error):
            raise
        module = in_format(registry.build(net, seed), None, torch.float32).eval()
        return module, batch_for(net, module, batch_size, seed, torch.device("cpu"), torch.float32), False
    return module, input, True


def batch_for(
    net: Net,
    module: "nn.Module",
    batch_size: int,
    seed: int,
    device: "torch.device",
    dtype: "torch.dtype",
    option: str = "option --net",
    shape: tuple[int, ...] | None = None,
) -> Any:
    """Returns a batch of inputs of ``module``, which is ``net`` on ``device``: a tensor, or several.

    Floating-point numbers are of ``dtype``. ``shape``: of the whole input of a net of the registry, where it
    is not a batch of the net's own size. Raises UserError, which begins with ``option``, where a net from
    outside does not run on its input.
    """
    if not net.own_parameters:
        return to_device(sample_input(net, shape or (batch_size, *net.input_size), seed), device, dtype)
    return own_batch(net, module, batch_size, seed, device, dtype, option)


def to_device(input: "Tensor", device: "torch.device", dtype: "torch.dtype") -> "Tensor":
    """Returns ``input`` on ``device`` as ``dtype``; whole numbers, such as words, keep their type."""
    return input.to(device, dtype if input.is_floating_point() else None)


def in_format(module: "nn.Module", device: "torch.device | None", dtype: "torch.dtype") -> "nn.Module":
    """Returns ``module`` on ``device`` (None: its own), its floating-point numbers as ``dtype``, complex ones
    as pairs of them.

    There are no such pairs for bfloat16: complex numbers then stay as they are.
    """
    import torch

    def converted(tensor: "Tensor") -> "Tensor":
        if tensor.is_floating_point():
            return tensor.to(device, dtype)
        pairs = tensor.is_complex() and dtype != torch.bfloat16
        return tensor.to(device, dtype.to_complex() if pairs else None)

    if any(tensor.is_complex() for tensor in (*module.parameters(), *module.buffers())):
        return module._apply(converted)
    return module.to(device, dtype)


def build_for_inference(net: Net, seed: int) -> "nn.Module":
    """Returns the net, float32 on the CPU; if it is untrained, with running statistics from a few inputs."""
    import torch

    from convnet_benchmarks.nets.batch_norm_statistics import set_running_statistics

    module = registry.build(net, seed)
    if not net.own_parameters:
        generator = torch.Generator().manual_seed(seed + 2)
        set_running_statistics(module, net.sample((_STATISTICS_BATCH, *net.input_size), generator))
    return module
