"""Runs nets that ``save_python`` wrote, with nothing of ours to import: ``python -I written_nets.py FOLDER``.

FOLDER/nets.pt: for each net its name, its input, and what it gives in each mode: outputs, gradients of inputs
and parameters, outputs after a step of gradient descent. FOLDER/found.pt: what is found here.
"""

import functools
import importlib.util
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn


def mapped(function: Any, value: Any) -> Any:
    return function(value) if isinstance(value, Tensor) else [mapped(function, each) for each in value]


def tensors_of(value: Any) -> list[Tensor]:
    return [value] if isinstance(value, Tensor) else [t for each in value for t in tensors_of(each)]


def computed(net: nn.Module, input: Any, mode: bool) -> dict[str, Any]:
    """Returns what a net makes of an input; it takes a step of gradient descent."""
    net.train(mode)
    torch.manual_seed(1)
    given = mapped(lambda t: t.clone().requires_grad_(t.is_floating_point()), input)
    output = net(mapped(torch.clone, given))
    differentiable = [each for each in tensors_of(output) if each.requires_grad]
    found = {"output": mapped(lambda t: t.detach().clone(), output)}
    leaves = [each for each in [*tensors_of(given), *net.parameters()] if each.requires_grad]
    if differentiable and leaves:
        loss = torch.stack([(each + each.square()).sum() for each in differentiable]).sum()
        gradients = torch.autograd.grad(loss, leaves, allow_unused=True)
        found["gradients"] = [
            torch.zeros_like(leaf) if gradient is None else gradient
            for leaf, gradient in zip(leaves, gradients, strict=True)
        ]
        with torch.no_grad():
            for leaf, gradient in zip(leaves, found["gradients"], strict=True):
                if isinstance(leaf, nn.Parameter):
                    before = leaf.clone()
                    leaf.sub_(gradient, alpha=0.01 / max(1.0, gradient.norm().item()))
                    assert gradient.abs().max() < 1e-9 or not torch.equal(before, leaf), "no step was taken"
    torch.manual_seed(2)
    found["stepped"] = mapped(lambda t: t.detach().clone(), net(mapped(torch.clone, input)))
    return found


def outcome(make: Callable[[], nn.Module], input: Any, mode: bool) -> dict[str, Any]:
    """Returns what is ``computed``, or what PyTorch says: what one branch overwrites, another may need."""
    try:
        return computed(make(), input, mode)
    except RuntimeError as error:
        return {"error": str(error)}


def outcomes(folder: Path, inputs: dict[str, Any]) -> dict[str, Any]:
    """Returns what a process without our packages finds of the nets in a folder, by their names."""
    torch.save(list(inputs.items()), folder / "nets.pt")
    done = subprocess.run([sys.executable, "-I", __file__, folder], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = torch.load(folder / "found.pt", weights_only=False)
    return found


def load(folder: Path, name: str) -> nn.Module:
    spec = importlib.util.spec_from_file_location(name, folder / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    net: nn.Module = module.load()
    return net


def main(folder: Path) -> None:
    found: dict[str, Any] = {}
    for name, input in torch.load(folder / "nets.pt", weights_only=False):
        found[name] = {"training": load(folder, name).training}
        for mode in (True, False):
            found[name][mode] = outcome(functools.partial(load, folder, name), input, mode)
    torch.save(found, folder / "found.pt")


if __name__ == "__main__":
    for ours in ("lua_compat", "convnet_benchmarks", "lupa"):
        sys.modules[ours] = None  # type: ignore[assignment]
    main(Path(sys.argv[1]))
