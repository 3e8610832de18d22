"""``print(model)`` against the recorded text of real Torch7."""

import re

import pytest
from torch import nn

from convnet_benchmarks.nets.modules.torch7 import Concat, View
from convnet_benchmarks.nets.torch7.printing import ClassNames, torch7_path, torch7_string
from tests.helpers.places import GOLDEN

RECORDED = dict(
    re.findall(r"^## (nn\..*)\n((?:(?!## ).*\n)+)", (GOLDEN / "print.txt").read_text(), re.MULTILINE)
)

MODULES = {
    "nn.Linear(10, 5)": lambda: nn.Linear(10, 5),
    "nn.SpatialConvolution(3, 8, 5, 5)": lambda: nn.Conv2d(3, 8, 5),
    "nn.SpatialConvolution(3, 8, 5, 3, 2, 1, 2, 1)": lambda: nn.Conv2d(3, 8, (3, 5), (1, 2), (1, 2)),
    "nn.SpatialMaxPooling(3, 3, 3, 3)": lambda: nn.MaxPool2d(3),
    "nn.SpatialMaxPooling(3, 3, 2, 2, 1, 1)": lambda: nn.MaxPool2d(3, 2, 1),
    "nn.SpatialAveragePooling(7, 7, 1, 1)": lambda: nn.AvgPool2d(7, 1),
    "nn.View(1000)": lambda: View(1000),
    "nn.ReLU(true)": lambda: nn.ReLU(True),
    "nn.Threshold(0, 1e-6)": lambda: nn.Threshold(0, 1e-6),
    "nn.LogSoftMax()": lambda: nn.LogSoftmax(-1),
    "nn.Dropout(0.5)": lambda: nn.Dropout(0.5),
    "nn.SpatialBatchNormalization(16)": lambda: nn.BatchNorm2d(16),
    "nn.BatchNormalization(16)": lambda: nn.BatchNorm1d(16),
    "nn.Sequential():add(nn.Linear(2, 3)):add(nn.Tanh())": lambda: nn.Sequential(nn.Linear(2, 3), nn.Tanh()),
    "nn.Sequential():add(nn.Concat(2):add(nn.Linear(2, 3)):add(nn.Sequential():add(nn.Linear(2, 4))"
    ":add(nn.ReLU()))):add(nn.Linear(7, 1))": lambda: nn.Sequential(
        Concat(-1, nn.Linear(2, 3), nn.Sequential(nn.Linear(2, 4), nn.ReLU())), nn.Linear(7, 1)
    ),
}


@pytest.mark.parametrize("line", MODULES)
def test_text_is_torch7s(line: str) -> None:
    names = ClassNames(convolution="nn.SpatialConvolution")
    assert torch7_string(MODULES[line](), names) == RECORDED[line].rstrip("\n")


def test_a_class_that_torch7_lacks_keeps_its_own_text() -> None:
    assert torch7_string(nn.GELU()) == str(nn.GELU())


def test_paths_count_as_the_printed_model_does() -> None:
    assert torch7_path("1.0") == "(2)(1)"
    assert torch7_path("8.branches.2.0") == "(9)(3)(1)"
    assert torch7_path("features") == "features"
