"""Whole nets of torchvision, defined again, as Torch7 models: ResNet-50, MobileNetV2 and VGG-16."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from lua_compat import t7
from lua_compat.conversion import from_torch, to_torch
from tests.helpers.commands import run_lua


class Bottleneck(nn.Module):
    def __init__(self, planes: int, inner: int, stride: int) -> None:
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(planes, inner, 1, bias=False), nn.BatchNorm2d(inner)
        self.conv2 = nn.Conv2d(inner, inner, 3, stride, 1, bias=False)
        self.bn2, self.bn3 = nn.BatchNorm2d(inner), nn.BatchNorm2d(4 * inner)
        self.conv3 = nn.Conv2d(inner, 4 * inner, 1, bias=False)
        self.relu = nn.ReLU(inplace=True)
        self.downsample: nn.Module | None = None
        if stride != 1 or planes != 4 * inner:
            self.downsample = nn.Sequential(
                nn.Conv2d(planes, 4 * inner, 1, stride, bias=False), nn.BatchNorm2d(4 * inner)
            )

    def forward(self, x: Tensor) -> Tensor:
        y = self.relu(self.bn1(self.conv1(x)))
        y = self.relu(self.bn2(self.conv2(y)))
        y = self.bn3(self.conv3(y))
        y += x if self.downsample is None else self.downsample(x)
        return self.relu(y)


class ResNet50(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64)
        self.relu, self.maxpool = nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)
        planes = 64
        for number, (inner, blocks) in enumerate(((64, 3), (128, 4), (256, 6), (512, 3)), 1):
            layer = nn.Sequential()
            for block in range(blocks):
                layer.append(Bottleneck(planes, inner, 2 if block == 0 and number > 1 else 1))
                planes = 4 * inner
            self.add_module(f"layer{number}", layer)
        self.avgpool, self.fc = nn.AdaptiveAvgPool2d((1, 1)), nn.Linear(planes, 1000)

    def forward(self, x: Tensor) -> Tensor:
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        for number in range(1, 5):
            x = self.get_submodule(f"layer{number}")(x)
        return self.fc(torch.flatten(self.avgpool(x), 1))


def conv_norm(planes: int, out: int, kernel: int, stride: int = 1, groups: int = 1) -> nn.Sequential:
    conv = nn.Conv2d(planes, out, kernel, stride, kernel // 2, groups=groups, bias=False)
    return nn.Sequential(conv, nn.BatchNorm2d(out), nn.ReLU6(inplace=True))


class InvertedResidual(nn.Module):
    def __init__(self, planes: int, out: int, stride: int, ratio: int) -> None:
        super().__init__()
        inner = planes * ratio
        self.use_res_connect = stride == 1 and planes == out
        layers = [conv_norm(planes, inner, 1)] if ratio != 1 else []
        layers += [conv_norm(inner, inner, 3, stride, inner)]
        self.conv = nn.Sequential(*layers, nn.Conv2d(inner, out, 1, bias=False), nn.BatchNorm2d(out))

    def forward(self, x: Tensor) -> Tensor:
        return x + self.conv(x) if self.use_res_connect else self.conv(x)


class MobileNetV2(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        blocks: list[nn.Module] = [conv_norm(3, 32, 3, 2)]
        planes = 32
        for ratio, out, count, stride in (
            (1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1),
            (6, 160, 3, 2), (6, 320, 1, 1),
        ):  # fmt: skip
            for block in range(count):
                blocks.append(InvertedResidual(planes, out, stride if block == 0 else 1, ratio))
                planes = out
        self.features = nn.Sequential(*blocks, conv_norm(planes, 1280, 1))
        self.classifier = nn.Sequential(nn.Dropout(0.2), nn.Linear(1280, 1000))

    def forward(self, x: Tensor) -> Tensor:
        x = functional.adaptive_avg_pool2d(self.features(x), (1, 1))
        return self.classifier(torch.flatten(x, 1))


class VGG16(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        planes = 3
        for out, count in ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3)):
            for _ in range(count):
                layers += [nn.Conv2d(planes, out, 3, padding=1), nn.ReLU(inplace=True)]
                planes = out
            layers.append(nn.MaxPool2d(2, 2))
        self.features, self.avgpool = nn.Sequential(*layers), nn.AdaptiveAvgPool2d((7, 7))
        self.classifier = nn.Sequential(
            nn.Linear(512 * 7 * 7, 4096), nn.ReLU(True), nn.Dropout(),
            nn.Linear(4096, 4096), nn.ReLU(True), nn.Dropout(), nn.Linear(4096, 1000),
        )  # fmt: skip

    def forward(self, x: Tensor) -> Tensor:
        return self.classifier(torch.flatten(self.avgpool(self.features(x)), 1))


SIZES: dict[Callable[[], nn.Module], tuple[int, int]] = {  # parameters, as torchvision counts them; input
    ResNet50: (25_557_032, 224),
    MobileNetV2: (3_504_872, 96),
    VGG16: (138_357_544, 224),
}

CHECK = """
require 'nn'
require 'nngraph'
local record = torch.load(arg[1])
local output = record.net:forward(record.input)
assert((output - record.output):abs():max() < 3e-6 * record.output:abs():max())
"""


@pytest.mark.parametrize(
    "kind", [MobileNetV2, *(pytest.param(kind, marks=pytest.mark.slow) for kind in (ResNet50, VGG16))]
)
def test_a_net_of_torchvision_goes_to_torch7_and_back(kind: Callable[[], nn.Module], tmp_path: Path) -> None:
    """Real Torch7 gave the same outputs, too, to 6e-7 of the largest, when this was written."""
    torch.manual_seed(1)
    net, (parameters, size) = kind().eval(), SIZES[kind]
    assert sum(p.numel() for p in net.parameters()) == parameters
    for name, statistic in net.named_buffers():
        if name.endswith("running_mean"):
            statistic.uniform_(-0.3, 0.3)
        elif name.endswith("running_var"):
            statistic.uniform_(0.5, 1.5)
    x = torch.randn(1, 3, size, size)
    with torch.no_grad():
        output = net(x)
        written = from_torch(net)
        torch.testing.assert_close(to_torch(written)(x), output, rtol=0, atol=0)

    def lua(value: Tensor) -> Any:
        return t7.Tensor.from_numpy(value.numpy())

    record = t7.LuaTable({"net": written, "input": lua(x), "output": lua(output)})
    t7.save(tmp_path / "net.t7", record)
    run_lua(tmp_path, CHECK, str(tmp_path / "net.t7"))
