"""Bilinear sampling of images at the positions of a grid, for the Lua package stn."""

import torch.nn.functional as F
from torch import Tensor

from lua_compat.kernels.nn.layers import pair_kernels

__all__ = ["bilinear_sampler", "bilinear_sampler_gradients"]
SANDBOXED = __all__


def _sample(images: Tensor, grids: Tensor) -> Tensor:
    """images: batch x height x width x depth; grids: batch x height x width x (y, x), where -1 and 1 are the
    centres of the outermost pixels. Zero outside the image."""
    planes = images.permute(0, 3, 1, 2)
    sampled = F.grid_sample(planes, grids.flip(3), "bilinear", "zeros", align_corners=True)
    return sampled.permute(0, 2, 3, 1).contiguous()


bilinear_sampler, bilinear_sampler_gradients = pair_kernels(_sample)
