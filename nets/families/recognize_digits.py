"""The net of PaddlePaddle's "recognize_digits" (a LeNet with batch normalisation), for 28x28 digits."""

from typing import TYPE_CHECKING

from convnet_benchmarks.nets.net import Net

if TYPE_CHECKING:
    from torch import nn


def recognize_digits() -> "nn.Module":
    """Builds the net from 1x28x28 to 10 log-probabilities: conv, ReLU, pool, batch norm, conv, ReLU, pool,
    fully connected."""
    from torch import nn

    from convnet_benchmarks.nets.modules.torch7 import View, conv_relu

    return nn.Sequential(
        *conv_relu(1, 20, 5),
        nn.MaxPool2d(2, 2),
        nn.BatchNorm2d(20),
        *conv_relu(20, 50, 5),
        nn.MaxPool2d(2, 2),
        View(50 * 4 * 4, num_input_dims=3),
        nn.Linear(50 * 4 * 4, 10),
        nn.LogSoftmax(dim=-1),
    )


NETS = (
    Net(
        "recognize_digits",
        recognize_digits,
        (1, 28, 28),
        "PaddlePaddle book, recognize_digits",
        "recognize_digits",
        33_620,
    ),
)
