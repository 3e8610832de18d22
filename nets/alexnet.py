"""AlexNet in one tower (Krizhevsky, "One weird trick for parallelizing convolutional neural networks", 2014)."""

from torch import nn

from nets.layers import View, conv_relu


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
    classifier = nn.Sequential(
        View(256 * 6 * 6),
        nn.Linear(256 * 6 * 6, 4096),
        nn.Threshold(0, 1e-6),
        nn.Linear(4096, 4096),
        nn.Threshold(0, 1e-6),
        nn.Linear(4096, 1000),
    )
    return nn.Sequential(features, classifier)
