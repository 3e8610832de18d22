"""Compares a converted architecture with what Torch7 recorded of the original."""

import copy
import io
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import torch
from torch import Tensor, nn

from lua_compat import t7
from lua_compat.conversion import to_torch
from lua_compat.conversion.python_source.program import save_python
from tests.helpers import written_nets
from tests.helpers.torch_values import mapped, tensors_of, value_of

OUTPUTS = 1e-10  # of the largest value
GRADIENTS = 1e-7  # of a parameter's largest
# Of the largest gradient of all: a bias before batch normalization has none but what was rounded.
ROUNDED = 1e-11


def compare(record: Any, lua: Sequence[Path], gradients: bool = True) -> str:
    """Returns what differs from the record that probe.lua made, '' where nothing does.

    Without ``gradients`` only outputs are compared, and the state_dict.

    Raises what ``to_torch`` raises for a model that cannot be converted.
    """
    source = _source(record)
    checks = (_outputs, _gradients, _state) if gradients else (_outputs, _state)
    found = [check(record, to_torch(source, lua=lua)) for check in checks]
    return "; ".join(each for each in found if each)


def _source(record: Any) -> t7.TorchObject:
    written = record["module"]  # a string of the file: text where it happens to be
    source: t7.TorchObject = t7.load(io.BytesIO(written.encode() if isinstance(written, str) else written))
    return source


def _outputs(record: Any, net: nn.Module) -> str:
    twice = record.get("again") is not None
    other = net if twice else copy.deepcopy(net)
    with torch.no_grad(), _not_random():
        evaluated = other.eval()(value_of(record["input"]))
        again = other(value_of(record["input"])) if twice else None
        trained = net.train()(value_of(record["input"]))
    return (
        _different("evaluated", evaluated, record["evaluated"], OUTPUTS)
        or (_different("evaluated again", again, record["again"], OUTPUTS) if again is not None else "")
        or _different("training", trained, record["output"], OUTPUTS)
    )


def _gradients(record: Any, net: nn.Module) -> str:
    """Checks the gradients, and the output after one step of gradient descent."""
    if record.get("again") is not None:  # it may remember what came before
        with torch.no_grad():
            for _ in range(2):
                net.eval()(value_of(record["input"]))
    net.train()
    parameters = list(net.parameters())
    given = mapped(lambda t: t.requires_grad_(t.is_floating_point()), value_of(record["input"]))
    with _not_random():
        output = net(mapped(torch.clone, given))
    pairs = [
        pair for pair in zip(tensors_of(output), tensors_of(value_of(record["towards"])), strict=True)
        if pair[0].requires_grad
    ]  # fmt: skip
    if not pairs:
        return ""
    torch.autograd.backward([o for o, _ in pairs], [g for _, g in pairs])
    flat = value_of(record["gradients"])
    least = ROUNDED * flat.abs().max().item() / GRADIENTS
    for name, parameter in net.named_parameters():
        expected = flat.as_strided(parameter.shape, parameter.stride(), parameter.storage_offset())
        got = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
        difference = _difference(got, expected, least)
        if difference > GRADIENTS:
            return f"gradient of {name}: {difference:.0e}"
    if record.get("gradInput") is not None:
        wanted = tensors_of(value_of(record["gradInput"]))
        for leaf, expected in zip(tensors_of(given), wanted, strict=True):
            got = torch.zeros_like(leaf) if leaf.grad is None else leaf.grad
            if expected.numel() and _difference(got, expected.view(got.shape), least) > GRADIENTS:
                return f"gradInput: {_difference(got, expected.view(got.shape), least):.0e}"
    torch.optim.SGD(parameters, lr=0.01).step() if parameters else None
    with torch.no_grad(), _not_random():
        return _different("after a step", net.eval()(value_of(record["input"])), record["stepped"], OUTPUTS)


def _state(record: Any, net: nn.Module) -> str:
    """Checks that a copy that is given other numbers computes the same with the state_dict of ``net``."""
    other = copy.deepcopy(net).eval()
    state = {name: value.clone() for name, value in net.state_dict().items()}
    with torch.no_grad():
        for parameter in other.parameters():
            parameter.zero_()
    other.load_state_dict(state)
    with torch.no_grad(), _not_random():
        return _different("state_dict", other(value_of(record["input"])), record["evaluated"], OUTPUTS)


def compare_written(record: Any) -> str:
    """Returns what differs between the converted net and its Python text in a process without our packages:
    outputs, gradients, outputs after a step, in both modes.

    Raises ConversionError for a net that has no text: Lua computes a layer of it.
    """
    net, input = to_torch(_source(record)), value_of(record["input"])
    with tempfile.TemporaryDirectory() as name:
        save_python(net, Path(name) / "net.py")
        found = written_nets.outcomes(Path(name), {"net": input})["net"]
    for mode in (True, False):
        expected = written_nets.outcome(lambda: copy.deepcopy(net), input, mode)
        if "error" in expected:
            raise RuntimeError(expected["error"])
        if "error" in found[mode]:
            return f"written as Python: {found[mode]['error']}"
        for what, value in expected.items():
            least = ROUNDED / OUTPUTS * max((t.abs().max().item() for t in tensors_of(value)), default=0)
            for one, other in zip(tensors_of(found[mode][what]), tensors_of(value), strict=True):
                if not (distance := _difference(one, other, least)) <= OUTPUTS:
                    return f"written as Python: {what} {distance:.0e}"
    return ""


def _different(what: str, got: Any, lua: Any, tolerance: float) -> str:
    expected, found = tensors_of(value_of(lua)), tensors_of(got)
    if [tuple(t.shape) for t in expected] != [tuple(t.shape) for t in found]:
        return f"{what}: {[tuple(t.shape) for t in found]}, not {[tuple(t.shape) for t in expected]}"
    worst = max((_difference(a, b) for a, b in zip(found, expected, strict=True)), default=0.0)
    return f"{what}: {worst:.0e}" if not worst <= tolerance else ""


def _difference(got: Tensor, expected: Tensor, least: float = 1e-6) -> float:
    """Returns the largest difference over the largest expected value, which counts as ``least`` or more."""
    if not expected.numel():
        return 0.0
    distance = (got.detach().double() - expected.double()).abs().max().item()
    return distance / max(expected.double().abs().max().item(), least) if distance else 0.0


@contextmanager
def _not_random() -> Iterator[None]:
    """Has everything that is drawn be 0.5, as in probe.lua."""

    def normal(tensor: Tensor, mean: float = 0, std: float = 1, **kwargs: Any) -> Tensor:
        return tensor.fill_(mean + 0.5 * std)

    def uniform(tensor: Tensor, first: float = 0, last: float = 1, **kwargs: Any) -> Tensor:
        return tensor.fill_(first + 0.5 * (last - first))

    def like(tensor: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return torch.full_like(tensor, 0.5)

    with (
        mock.patch.object(torch.Tensor, "normal_", normal),
        mock.patch.object(torch.Tensor, "uniform_", uniform),
        mock.patch.object(torch, "randn_like", like),
        mock.patch.object(torch, "rand_like", like),
    ):
        yield
