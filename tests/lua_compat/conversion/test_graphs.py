"""Nets with a forward of their own, and layers that nn has not, as Torch7 models."""

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from lua_compat import t7
from lua_compat.conversion import ConversionError, from_torch, to_torch
from tests.helpers.commands import run_lua
from tests.helpers.torch_values import tensors_of


class Bottleneck(nn.Module):
    """A block of ResNet-50."""

    def __init__(self, planes: int, inner: int, stride: int) -> None:
        super().__init__()
        self.reduce = nn.Sequential(nn.Conv2d(planes, inner, 1, bias=False), nn.BatchNorm2d(inner))
        self.middle = nn.Conv2d(inner, inner, 3, stride, 1, bias=False)
        self.norm = nn.BatchNorm2d(inner)
        self.widen = nn.Conv2d(inner, 4 * inner, 1)
        self.relu = nn.ReLU(inplace=True)
        self.shortcut = nn.Conv2d(planes, 4 * inner, 1, stride) if planes != 4 * inner else None

    def forward(self, x: Tensor) -> Tensor:
        y = self.relu(self.reduce(x))
        y = self.widen(self.relu(self.norm(self.middle(y))))
        y += x if self.shortcut is None else self.shortcut(x)
        return self.relu(y)


class ResNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 7, 2, 3, bias=False), nn.BatchNorm2d(8), nn.ReLU(True))
        self.layers = nn.Sequential(Bottleneck(8, 4, 1), Bottleneck(16, 4, 1), Bottleneck(16, 8, 2))
        self.pool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(32, 5)

    def forward(self, x: Tensor) -> Tensor:
        x = self.layers(functional.max_pool2d(self.stem(x), 3, 2, 1))
        return self.fc(torch.flatten(self.pool(x), 1))


class Inverted(nn.Module):
    """A block of MobileNetV2."""

    def __init__(self, planes: int, out: int) -> None:
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv2d(planes, 12, 1, bias=False), nn.BatchNorm2d(12), nn.ReLU6(True),
            nn.Conv2d(12, 12, 3, 1, 1, groups=12, bias=False), nn.BatchNorm2d(12), nn.ReLU6(True),
            nn.Conv2d(12, out, 1, bias=False), nn.BatchNorm2d(out),
        )  # fmt: skip
        self.residual = planes == out

    def forward(self, x: Tensor) -> Tensor:
        return x + self.conv(x) if self.residual else self.conv(x)


class MobileNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(3, 4, 3, 2, 1), Inverted(4, 4), Inverted(4, 6))
        self.classifier = nn.Sequential(nn.Dropout(0.2), nn.Linear(6, 5))

    def forward(self, x: Tensor) -> Tensor:
        x = functional.adaptive_avg_pool2d(self.features(x), (1, 1)).reshape(x.shape[0], -1)
        return self.classifier(x)


class Skips(nn.Module):
    """Concatenations, as in U-Net and SqueezeNet."""

    def __init__(self) -> None:
        super().__init__()
        self.down, self.up, self.out = (
            nn.Conv2d(3, 4, 3, 1, 1),
            nn.ConvTranspose2d(4, 4, 2, 2),
            nn.Conv2d(8, 1, 1),
        )

    def forward(self, x: Tensor) -> Tensor:
        down = torch.relu(self.down(x))
        up = self.up(functional.avg_pool2d(down, 2))
        return torch.sigmoid(self.out(torch.cat((up, down), dim=1))) * 2 - 0.5


class Encoder(nn.Module):
    """A layer of a transformer."""

    def __init__(self) -> None:
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(4, 4) for _ in range(3))
        self.norms = nn.ModuleList([nn.LayerNorm(4), nn.LayerNorm(4)])
        self.inner = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 4))

    def forward(self, x: Tensor) -> Tensor:
        weights = torch.softmax(self.q(x) @ self.k(x).transpose(1, 2) / math.sqrt(4), dim=-1)
        x = self.norms[0](x + weights @ self.v(x))
        return self.norms[1](x + self.inner(x))[:, 1:]


class TwoInputs(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(4, 3), nn.Linear(5, 3)

    def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        return torch.cat([self.a(x), self.b(y)], 1), self.a(x).neg() / self.b(y).exp()


class Embedded(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table, self.out = nn.Embedding(10, 6), nn.Linear(18, 4)

    def forward(self, x: Tensor) -> Tensor:
        return self.out(self.table(x).view(x.size(0), -1))


IMAGES = (2, 4, 6, 8)
NETS: dict[str, tuple[nn.Module, tuple[tuple[int, ...], ...]]] = {
    "ResNet": (ResNet(), ((2, 3, 32, 32),)),
    "MobileNetV2": (MobileNet(), ((2, 3, 12, 12),)),
    "skips": (Skips(), ((2, 3, 8, 8),)),
    "encoder": (Encoder(), ((2, 3, 4),)),
    "two inputs": (TwoInputs(), ((2, 4), (2, 5))),
    "gelu": (nn.Sequential(nn.GELU(), nn.GELU(approximate="tanh")), ((2, 50),)),
    "swish": (nn.Sequential(nn.SiLU(), nn.Mish(), nn.Hardswish(), nn.Hardsigmoid()), ((2, 50),)),
    "group norm": (nn.GroupNorm(2, 4), (IMAGES,)),
    "group norm without parameters": (nn.GroupNorm(4, 4, affine=False), (IMAGES,)),
    "instance norm": (nn.InstanceNorm2d(4, affine=True), (IMAGES,)),
    "layer norm": (nn.LayerNorm(8), (IMAGES,)),
    "batch norm of the batch": (nn.BatchNorm2d(4, track_running_stats=False), (IMAGES,)),
    "groups": (nn.Conv2d(4, 6, 3, padding=1, groups=2), (IMAGES,)),
    "reflection": (nn.Conv2d(4, 6, 3, padding=1, padding_mode="reflect"), (IMAGES,)),
    "replication, groups": (nn.Conv2d(4, 6, 3, 2, 1, padding_mode="replicate", groups=2), (IMAGES,)),
    "uneven": (nn.Conv2d(4, 6, (4, 3), padding="same"), (IMAGES,)),
    "bilinear": (nn.Upsample(scale_factor=2, mode="bilinear"), (IMAGES,)),
    "bilinear, three": (nn.Upsample(scale_factor=3, mode="bilinear", align_corners=False), (IMAGES,)),
    "bilinear, four": (nn.Upsample(scale_factor=4, mode="bilinear", align_corners=False), (IMAGES,)),
    "sequences": (nn.Sequential(nn.Conv1d(4, 6, 3, 1, 1), nn.MaxPool1d(2), nn.AvgPool1d(2)), ((2, 4, 12),)),
    "dilated sequences": (nn.Conv1d(4, 6, 3, 2, 2, dilation=2, groups=2, bias=False), ((2, 4, 12),)),
    "products": (nn.Bilinear(3, 4, 5), ((2, 3), (2, 4))),
}  # fmt: skip


def prepared(name: str) -> tuple[nn.Module, list[Tensor]]:
    net, shapes = NETS[name]
    net = net.double().eval()
    torch.manual_seed(1)
    for module in net.modules():
        if isinstance(module, nn.BatchNorm2d) and module.running_mean is not None:
            module.running_mean.uniform_(-0.5, 0.5)
            module.running_var.uniform_(0.5, 1.5)
    return net, [torch.randn(shape, dtype=torch.float64) for shape in shapes]


@pytest.mark.filterwarnings("ignore:Using padding='same'")
@pytest.mark.parametrize("name", NETS)
def test_a_net_goes_to_torch7_and_back(name: str) -> None:
    net, inputs = prepared(name)
    given = [input.clone().requires_grad_() for input in inputs]
    again = to_torch(from_torch(net, dtype=torch.float64))
    assert not again.training
    outputs = tensors_of(again(given if len(given) > 1 else given[0]))
    expected_inputs = [input.clone().requires_grad_() for input in inputs]
    expected = tensors_of(net(*expected_inputs))
    torch.testing.assert_close(outputs, expected, rtol=1e-12, atol=1e-12)
    # PyTorch's gradient of hardswish has a sixth in single precision.
    tolerance = 1e-7 if name == "swish" else 1e-10
    found = torch.autograd.grad([o.sin().sum() for o in outputs], given)
    wanted = torch.autograd.grad([o.sin().sum() for o in expected], expected_inputs)
    torch.testing.assert_close(found, wanted, rtol=tolerance, atol=tolerance)


CHECK = """
require 'nn'
require 'nngraph'
local record = torch.load(arg[1])
for name, case in pairs(record) do
   local function flat(value) return torch.isTensor(value) and { value } or value end
   local outputs = flat(case.net:forward(case.input))
   for k, expected in ipairs(flat(case.output)) do
      assert((outputs[k] - expected):abs():max() < 1e-10, name)
   end
   case.net:training()
   local gradients = {}
   outputs = flat(case.net:forward(case.input))
   for k, output in ipairs(outputs) do gradients[k] = output:clone():fill(1) end
   case.net:backward(case.input, #gradients == 1 and gradients[1] or gradients)
end
"""


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Using padding='same'")
def test_th_runs_what_is_written(tmp_path: Path) -> None:
    """Real Torch7 ran it, too, when this was written."""

    def lua(value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return t7.Tensor.from_numpy(value.detach().numpy())
        return t7.LuaTable.from_list([lua(item) for item in value])

    table = t7.LuaTable()
    for name in NETS:
        net, inputs = prepared(name)
        output = net(*inputs)
        given = lua(inputs if len(inputs) > 1 else inputs[0])
        written = from_torch(net, dtype=torch.float64)
        table[name] = t7.LuaTable({"net": written, "input": given, "output": lua(output)})
    t7.save(tmp_path / "nets.t7", table)
    run_lua(tmp_path, CHECK, str(tmp_path / "nets.t7"))


def test_indices_count_from_1_in_torch7() -> None:
    net, indices = Embedded().double(), torch.tensor([[0, 9, 3]])
    again = to_torch(from_torch(net))
    torch.testing.assert_close(again((indices + 1).double()), net(indices))


def test_a_module_used_twice_shares_its_parameters() -> None:
    class Twice(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(3, 3)

        def forward(self, x: Tensor) -> Tensor:
            return self.layer(self.layer(x).tanh()) + x

    net = to_torch(from_torch(Twice()))
    assert len(list(net.parameters())) == 2


class Computes(nn.Module):
    """Its forward is ``steps`` after a layer; it has another, and a ReLU in place."""

    def __init__(self, steps: Any) -> None:
        super().__init__()
        self.first, self.layer, self.relu = nn.Linear(6, 6), nn.Linear(6, 6), nn.ReLU(inplace=True)
        self.steps, self.calls, self.last = steps, 0, None
        self.register_buffer("factor", torch.ones(6))

    def forward(self, x: Tensor) -> Any:
        return self.steps(self, self.first(x), x)


def statement(m: Any, y: Tensor, x: Tensor) -> Any:
    y.relu_()
    functional.elu(y, 0.5, True)
    m.relu(y)
    return m.layer(y)


def other_name(m: Any, y: Tensor, x: Tensor) -> Any:
    z = y
    z *= 2
    z /= 3
    return y + z


def earlier_reader(m: Any, y: Tensor, x: Tensor) -> Any:
    before = m.layer(y)
    return before + m.relu(y) + y


def view_alone(m: Any, y: Tensor, x: Tensor) -> Any:
    y = y.view(y.size(0), -1)
    y += x
    return m.layer(functional.relu(y, inplace=True))


def arguments(m: Any, y: Tensor, x: Tensor) -> Any:
    image = y.view(x.size(0), 1, 2, 3)
    found = functional.max_pool2d(image, 2, ceil_mode=True)
    return found + functional.avg_pool2d(image, 2, 1, 1, False, False)[:, :, :1, :2]


@pytest.mark.parametrize("steps", [statement, other_name, earlier_reader, view_alone, arguments])
def test_what_is_changed_in_place_and_arguments_count(steps: Any) -> None:
    torch.manual_seed(1)
    net, x = Computes(steps), torch.randn(3, 6)
    with torch.no_grad():
        torch.testing.assert_close(to_torch(from_torch(net))(x.clone()), net(x.clone()))


def counts(m: Any, y: Tensor, x: Tensor) -> Any:
    m.calls += 1
    return y * m.calls


def remembers(m: Any, y: Tensor, x: Tensor) -> Any:
    y, m.last = y if m.last is None else y + m.last, y
    return y


def scales(m: Any, y: Tensor, x: Tensor) -> Any:
    for one in m.buffers():
        one.data.mul_(2)
    return y


def through_view(m: Any, y: Tensor, x: Tensor) -> Any:
    y.view(-1, 6).relu_()
    return m.layer(y)


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        (counts, "its forward changes the attribute calls"),
        (remembers, "its forward changes the attribute last"),
        (scales, "its forward changes a buffer"),
        (through_view, "relu_ writes to view, which shares memory with first"),
        (lambda m, y, x: torch.add(y, x, alpha=2), r"add\(first, x, alpha=2\) has no counterpart"),
        (lambda m, y, x: torch.div(y, 2, rounding_mode="floor"), r"div\(first, 2, rounding_mode=floor\) has"),
    ],
)
def test_what_a_forward_does_besides_is_refused(steps: Any, message: str) -> None:
    net = Computes(steps)
    with pytest.raises(ConversionError, match=f"net: Computes: {message}"):
        from_torch(net, "net")
    assert (net.calls, net.last, net.factor.sum()) == (0, None, 6)


class Branching(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x if x.sum() > 0 else -x


class Exotic(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.cumsum(x, 1)


@pytest.mark.parametrize(
    ("module", "message"),
    [
        (nn.Sequential(nn.Tanh(), Branching()), r"net.modules\[2\]: Branching: its forward cannot be traced"),
        (nn.Sequential(Exotic()), r"net.modules\[1\]: Exotic: cumsum has no counterpart among Torch7's"),
    ],
)  # fmt: skip
def test_what_cannot_be_said_in_layers_names_the_module(module: nn.Module, message: str) -> None:
    with pytest.raises(ConversionError, match=message):
        from_torch(module, "net")
