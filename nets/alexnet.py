"""AlexNet in one tower (Krizhevsky, "One weird trick", 2014, arXiv:1404.5997)."""

from torch import nn

from nets.layers import conv_relu, fully_connected


def alexnet_owt() -> nn.Module:
    """As soumith/convnet-benchmarks ran it: 3x224x224 to 1000 scores."""
    features = nn.Sequential(
        *conv_relu(3, 64, 11, stride=4, padding=2),
        nn.MaxPool2d(3, 2),
        *conv_relu(64, 192, 5, padding=2),
        nn.MaxPool2d(3, 2),
        *conv_relu(192, 384, 3, padding=1),
        *conv_relu(384, 256, 3, padding=1),
        *conv_relu(256, 256, 3, padding=1),
        nn.MaxPool2d(3, 2),
    )
    return nn.Sequential(features, fully_connected(256 * 6 * 6, 4096, 4096))
