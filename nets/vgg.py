"""VGG (Simonyan and Zisserman, 2014, arXiv:1409.1556)."""

from torch import nn

from nets.layers import conv_relu, fully_connected


def vgg_a() -> nn.Module:
    """Configuration A (11 weight layers) as soumith/convnet-benchmarks ran it: 3x224x224 to 1000 scores."""
    features: list[nn.Module] = []
    planes = 3
    for stage in ([64], [128], [256, 256], [512, 512], [512, 512]):
        for width in stage:
            features += conv_relu(planes, width, 3, padding=1)
            planes = width
        features.append(nn.MaxPool2d(2, 2))
    return nn.Sequential(nn.Sequential(*features), fully_connected(512 * 7 * 7, 4096, 4096))
