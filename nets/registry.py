"""The named nets: ``--net NAME`` and ``--list-nets``.

Families are discovered as modules in ``nets/families``; to add a net, write it there (docs/nets.md).
"""

import difflib
import importlib
import pkgutil
from typing import TYPE_CHECKING

from convnet_benchmarks.nets import families
from convnet_benchmarks.nets.net import Net

if TYPE_CHECKING:
    from torch import nn


def _discovered() -> dict[str, Net]:
    found: dict[str, Net] = {}
    for module in pkgutil.iter_modules(families.__path__, f"{families.__name__}."):
        for net in importlib.import_module(module.name).NETS:
            if net.name in found:
                raise ValueError(f"{module.name}: there is already a net called '{net.name}'")
            found[net.name] = net
    return found


NETS: dict[str, Net] = _discovered()


def find(name: str) -> Net:
    """Returns the net called ``name``; raises KeyError with similar names, or how to list all."""
    try:
        return NETS[name]
    except KeyError:
        close = difflib.get_close_matches(name, NETS, n=3)
        if close:
            raise KeyError(f"unknown net '{name}' (did you mean {' or '.join(close)}?)") from None
        raise KeyError(f"unknown net '{name}'; benchmark.py --list-nets prints all names") from None


def on_meta(net: Net) -> "nn.Module":
    """Returns the net without memory: shapes and parameter counts only."""
    import torch

    if net.own_parameters:  # made by code that need not run on this device
        return _to_meta(net.define())
    with torch.device("meta"):
        return net.define()


def _to_meta(module: "nn.Module") -> "nn.Module":
    """Returns the module without memory; parameters that parts of it share stay shared."""
    places: dict[int, list[str]] = {}
    for name, parameter in module.named_parameters(remove_duplicate=False):
        places.setdefault(id(parameter), []).append(name)
    module.to("meta")
    for first, *others in places.values():
        for name in others:
            part, _, own_name = name.rpartition(".")
            module.get_submodule(part)._parameters[own_name] = module.get_parameter(first)
    return module


def build(net: Net, seed: int) -> "nn.Module":
    """Returns the net with the parameters that ``torch.manualSeed(seed)`` gave it in Torch7: float32, on the
    CPU.

    A net with its own parameters keeps them; those it draws from PyTorch's generator also follow from
    ``seed``.
    """
    import torch

    from convnet_benchmarks.nets.torch7.initialisation import initialise
    from convnet_benchmarks.nets.torch7.random import Generator

    if net.own_parameters:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            return net.define()
    # Built without memory first, so that torch.nn's own initialisation, thrown away here, costs nothing.
    module = with_memory(on_meta(net))
    initialise(module, Generator(seed))
    return module


def with_memory(module: "nn.Module") -> "nn.Module":
    """Gives a module on the meta device memory on the CPU, of any content, and returns it. Large tensors lie
    on huge pages.

    Like ``module.to_empty(device="cpu")``, which imports sympy and more, a third of a second.
    """
    import torch

    from convnet_benchmarks.nets.memory.huge_pages import HUGE_PAGE, huge_page_bytes

    def memory(t: "torch.Tensor") -> "torch.Tensor":
        large = t.nbytes >= HUGE_PAGE and t.is_contiguous()
        block = huge_page_bytes(t.nbytes) if large else None
        if block is not None:
            return block.view(t.dtype).view(t.shape)
        return torch.empty_strided(t.shape, t.stride(), dtype=t.dtype, device="cpu")

    return module._apply(memory)


def parameter_count(module: "nn.Module") -> int:
    return sum(parameter.numel() for parameter in module.parameters())


def count_with_statistics(module: "nn.Module") -> int:
    """Counts the parameters and the running statistics of batch normalisation, as MXNet does."""
    statistics = (
        buffer.numel()
        for name, buffer in module.named_buffers()
        if name.rpartition(".")[2] in ("running_mean", "running_var")
    )
    return parameter_count(module) + sum(statistics)
