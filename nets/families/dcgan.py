"""DCGAN (Radford et al., 2015, arXiv:1511.06434) for 64x64 images, at the widths of soumith/dcgan.torch."""

from typing import TYPE_CHECKING

from convnet_benchmarks.nets.net import Net

if TYPE_CHECKING:
    from torch import nn

_LATENT = 100
_WIDTH = 64  # planes next to the image; they double with every halving of its size


def dcgan_generator() -> "nn.Module":
    """Builds the net from a latent vector of 100x1x1 to an image of 3x64x64 in [-1, 1]."""
    from torch import nn

    layers: list[nn.Module] = []
    planes = _LATENT
    for doublings, stride, padding in ((3, 1, 0), (2, 2, 1), (1, 2, 1), (0, 2, 1)):
        out = _WIDTH << doublings
        layers += [
            nn.ConvTranspose2d(planes, out, 4, stride, padding, bias=False),
            nn.BatchNorm2d(out),
            nn.ReLU(inplace=True),
        ]
        planes = out
    return nn.Sequential(*layers, nn.ConvTranspose2d(planes, 3, 4, 2, 1, bias=False), nn.Tanh())


def dcgan_discriminator() -> "nn.Module":
    """Builds the net from an image of 3x64x64 to the probability that it is a real one."""
    from torch import nn

    from convnet_benchmarks.nets.modules.torch7 import View, conv_bn

    layers = [nn.Conv2d(3, _WIDTH, 4, 2, 1, bias=False), nn.LeakyReLU(0.2, inplace=True)]
    planes = _WIDTH
    for _ in range(3):
        layers += [*conv_bn(planes, 2 * planes, 4, 2, 1), nn.LeakyReLU(0.2, inplace=True)]
        planes *= 2
    layers += [nn.Conv2d(planes, 1, 4, bias=False), nn.Sigmoid(), View(1, num_input_dims=3)]
    return nn.Sequential(*layers)


_SOURCE = "arXiv:1511.06434; soumith/dcgan.torch"
NETS = (
    Net("dcgan_generator", dcgan_generator, (_LATENT, 1, 1), _SOURCE, "DCGAN", 3_576_704),
    Net("dcgan_discriminator", dcgan_discriminator, (3, 64, 64), _SOURCE, "DCGAN", 2_765_568),
)
