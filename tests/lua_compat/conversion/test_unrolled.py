"""PyTorch's recurrent layers as Torch7 models for sequences of one length."""

import io
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from lua_compat import t7
from lua_compat.conversion import ConversionError, from_torch, to_torch
from tests.helpers.commands import run_lua

STEPS = 5


class Tagger(nn.Module):
    """Something for every step."""

    def __init__(self, kind: Any, **options: Any) -> None:
        super().__init__()
        self.layer = kind(3, 4, 2, batch_first=True, **options)
        self.out = nn.Linear(8 if options.get("bidirectional") else 4, 5)

    def forward(self, x: Tensor) -> Tensor:
        outputs, _ = self.layer(x)
        return self.out(outputs)


class Classifier(nn.Module):
    """Something for the whole sequence."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.layer, self.out = nn.Linear(3, 3), nn.LSTM(3, 4), nn.Linear(4, 2)

    def forward(self, x: Tensor) -> Tensor:
        _, (state, _) = self.layer(self.words(x))
        return torch.log_softmax(self.out(state[-1]), 1)


class Given(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.GRU(3, 4)

    def forward(self, x: Tensor, first: Tensor) -> Tensor:
        return self.layer(x, first)[0]


NETS: dict[str, nn.Module] = {
    "LSTM": Tagger(nn.LSTM),
    "LSTM both ways": Tagger(nn.LSTM, bidirectional=True, dropout=0.5),
    "GRU": Tagger(nn.GRU, bias=False),
    "GRU both ways": Tagger(nn.GRU, bidirectional=True),
    "RNN": Tagger(nn.RNN, nonlinearity="relu"),
    "one layer": nn.RNN(3, 4),
    "last state": Classifier(),
}


def written(name: str) -> tuple[nn.Module, Tensor, Tensor, t7.TorchObject]:
    net = NETS[name].double().eval()
    torch.manual_seed(1)
    for parameter in net.parameters():
        nn.init.normal_(parameter)
    x = torch.randn(STEPS, STEPS, 3, dtype=torch.float64, requires_grad=True)
    output = net(x)
    return net, x, output[0] if isinstance(output, tuple) else output, from_torch(net, steps=STEPS)


@pytest.mark.parametrize("name", NETS)
def test_it_goes_to_torch7_and_back(name: str) -> None:
    net, x, output, model = written(name)
    file = io.BytesIO()
    t7.save(file, model)
    file.seek(0)
    again = to_torch(t7.load(file))
    assert len(list(again.parameters())) == len(list(net.parameters()))
    given = x.detach().clone().requires_grad_()
    found = again(given)
    torch.testing.assert_close(found, output, rtol=0, atol=1e-12)
    (gradient,) = torch.autograd.grad(found.sin().sum(), given)
    (expected,) = torch.autograd.grad(output.sin().sum(), x)
    torch.testing.assert_close(gradient, expected, rtol=0, atol=1e-12)


CHECK = """
require 'nn'
require 'nngraph'
for name, case in pairs(torch.load(arg[1])) do
   case.net:training()
   case.net:apply(function(m) if torch.type(m) == 'nn.Dropout' then m.p = 0 end end)
   local output = case.net:forward(case.input)
   assert((output - case.output):abs():max() < 1e-12, name)
   case.net:backward(case.input, output)
end
"""


@pytest.mark.slow
def test_th_runs_what_is_written(tmp_path: Path) -> None:
    """Real Torch7 ran it, too, when this was written."""
    table = t7.LuaTable()
    for name in NETS:
        _, x, output, model = written(name)
        table[name] = t7.LuaTable(
            {
                "net": model,
                "input": t7.Tensor.from_numpy(x.detach().numpy()),
                "output": t7.Tensor.from_numpy(output.detach().numpy()),
            }
        )
    t7.save(tmp_path / "nets.t7", table)
    run_lua(tmp_path, CHECK, str(tmp_path / "nets.t7"))


def test_without_a_length_it_is_refused() -> None:
    with pytest.raises(ConversionError, match=r"LSTM has no counterpart in Torch7's nn here; .*steps="):
        from_torch(NETS["LSTM"], "net")
    with pytest.raises(ConversionError, match=r"net: Given: .*given its first state"):
        from_torch(Given(), "net", steps=STEPS)
    with pytest.raises(ConversionError, match=r"net: LSTM: proj_size=2 cannot be unrolled"):
        from_torch(nn.LSTM(3, 4, proj_size=2), "net", steps=STEPS)
