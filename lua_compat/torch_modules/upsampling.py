"""Upsampling of images and volumes."""

from torch import Tensor
from torch.nn import functional

from lua_compat.torch_modules.base import Torch7Module


class SpatialUpSampling(Torch7Module):
    """Resizes images: nearest, or linear with the corners kept; to ``size`` (height, width) or by a scale."""

    scale_factor: int | None = None
    size: tuple[int, ...] | None = None
    linear: bool = False

    def forward(self, input: Tensor) -> Tensor:
        batch = input if input.dim() > 3 else input.unsqueeze(0)
        spatial = batch.shape[2:]
        size = list(self.size or (n * (self.scale_factor or 1) for n in spatial))
        if not self.linear:
            output = functional.interpolate(batch, size, mode="nearest")
        else:
            mode = "bilinear" if len(spatial) == 2 else "trilinear"
            output = functional.interpolate(batch, size, mode=mode, align_corners=True)
        return output if input.dim() > 3 else output.squeeze(0)
