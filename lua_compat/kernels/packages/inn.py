"""Region-of-interest pooling and stochastic pooling, for the Lua package inn."""

import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from lua_compat.kernels.results import Out

__all__ = ["pool_regions", "pool_regions_gradient", "stochastic_average", "stochastic_choice",
           "stochastic_choice_gradient"]  # fmt: skip
SANDBOXED = __all__

# The index of a cell without pixels
_NOTHING = -1


def _rounded(number: float) -> int:
    """Rounds halves away from zero, as C does."""
    return math.floor(number + 0.5) if number >= 0 else -math.floor(0.5 - number)


def _cells(first: int, last: int, cells: int, limit: int, old: bool) -> list[tuple[int, int]]:
    """Returns where each cell of a region begins and ends, in pixels of the image.

    In inn's old ROIPooling cells overlap by a pixel, and the region's last pixel is included.
    """
    length = max(last - first + 1, 1)
    size = np.float32(length) / np.float32(cells)
    begin, end = (math.floor, math.ceil) if old else (_rounded, _rounded)

    def clipped(place: int) -> int:
        return min(max(place + first, 0), limit)

    return [
        (clipped(begin(float(np.float32(cell) * size))), clipped(end(float(np.float32(cell + 1) * size))))
        for cell in range(cells)
    ]


def _region(row: list[float], scale: float, old: bool) -> tuple[int, ...]:
    """Returns image, left, top, right, bottom of a region, counted from 0."""
    places = [_rounded(float((np.float32(place) - np.float32(1)) * np.float32(scale))) for place in row[1:5]]
    if not old:
        places[2:] = [place - 1 for place in places[2:]]
    return (int(row[0]) - 1, *places)


def _check_places(places: Tensor, first: int, end: int) -> None:
    """Raises ValueError for a position outside ``first`` to below ``end``."""
    if not bool(((places >= first) & (places < end)).all()):
        raise ValueError(f"a position in an image is outside {first} to {end - 1}")


def pool_regions(
    out: Out, indices: Out, images: Tensor, regions: Tensor, width: int, height: int, scale: float, old: bool
) -> None:
    """Finds the maximum in each of height x width cells of regions: rows of image, x1, y1, x2, y2, from 1.

    ``indices``: where it is in its plane, from 0; -1 for a cell without a pixel, whose value is 0.
    """
    if regions.dim() != 2 or regions.shape[1] != 5 or images.dim() != 4:
        raise ValueError("ROIPooling expects a batch of images and regions of five numbers")
    rows, columns = images.shape[2:]
    shape = (len(regions), images.shape[1], int(height), int(width))
    out.resize_(shape).zero_()
    indices.resize_(shape).fill_(_NOTHING)
    for n, row in enumerate(regions.tolist()):
        image, left, top, right, bottom = _region(row, scale, old)
        if not 0 <= image < len(images):
            raise ValueError(f"ROIPooling: region {n + 1} is of image {image + 1} of {len(images)}")
        across = _cells(left, right, int(width), columns, old)
        for y, (first, last) in enumerate(_cells(top, bottom, int(height), rows, old)):
            for x, (begin, end) in enumerate(across):
                if last > first and end > begin:
                    cell = images[image, :, first:last, begin:end].flatten(1)
                    out[n, :, y, x], place = cell.max(1)
                    inside = end - begin
                    indices[n, :, y, x] = (place // inside + first) * columns + place % inside + begin


def pool_regions_gradient(
    grad: Out, indices: Tensor, images: Tensor, regions: Tensor, grad_output: Tensor
) -> None:
    planes = images.shape[1]
    area = images.shape[2] * images.shape[3]
    _check_places(indices, _NOTHING, area)
    _check_places(regions[:, 0], 1, len(images) + 1)
    of_image = (regions[:, 0].long() - 1).view(-1, 1, 1, 1) * planes * area
    of_plane = torch.arange(planes, device=indices.device).view(1, -1, 1, 1) * area
    found = indices >= 0
    places = (of_image + of_plane + indices.long())[found]
    grad.resize_(images.shape).zero_()
    grad.view(-1).index_add_(0, places, grad_output.reshape(indices.shape)[found])


def _windows(
    x: Tensor, sizes: tuple[float, ...]
) -> tuple[Tensor, tuple[int, int], tuple[int, int, int, int]]:
    """Returns batch x planes x windows x pixels (zero beyond the image), the output's rows and columns, and
    kW, kH, dW, dH."""
    kw, kh, dw, dh = (int(size) for size in sizes)
    rows, columns = (math.ceil((x.shape[d] - k) / s) + 1 for d, k, s in ((2, kh, dh), (3, kw, dw)))
    below, right = (rows - 1) * dh + kh - x.shape[2], (columns - 1) * dw + kw - x.shape[3]
    padded = F.pad(x, (0, max(right, 0), 0, max(below, 0)))
    pieces = padded.unfold(2, kh, dh).unfold(3, kw, dw)[:, :, :rows, :columns]
    return pieces.flatten(4).flatten(2, 3), (rows, columns), (kw, kh, dw, dh)


def stochastic_choice(
    out: Out, indices: Out, x: Tensor, uniform: Tensor, kw: int, kh: int, dw: int, dh: int
) -> None:
    """Draws a pixel of each window with a probability proportional to its value: the first one at which the
    cumulative sum reaches ``uniform`` (0 to 1) of the total. ``indices``: its position in its plane, from
    0."""
    pieces, (rows, columns), sizes = _windows(x, (kw, kh, dw, dh))
    shape = (*x.shape[:2], rows, columns)
    sums = pieces.cumsum(3)
    limit = uniform.reshape(*x.shape[:2], rows * columns, 1) * sums[..., -1:]
    place = (sums >= limit).to(torch.uint8).argmax(3, keepdim=True)
    out.resize_(shape).copy_(pieces.gather(3, place).view(shape))
    place = place.view(shape)
    top = torch.arange(rows, device=x.device).view(-1, 1) * sizes[3] + place // sizes[0]
    left = torch.arange(columns, device=x.device) * sizes[2] + place % sizes[0]
    indices.resize_(shape).copy_(top * x.shape[3] + left)


def stochastic_average(out: Out, x: Tensor, kw: int, kh: int, dw: int, dh: int) -> None:
    """Computes the mean of each window, weighted by the values themselves: the expected value of
    stochastic_choice."""
    pieces, (rows, columns), _ = _windows(x, (kw, kh, dw, dh))
    total = pieces.sum(3) + torch.finfo(torch.float32).tiny
    out.resize_(*x.shape[:2], rows, columns).copy_((pieces.square().sum(3) / total).view(out.shape))


def stochastic_choice_gradient(grad: Out, x: Tensor, indices: Tensor, grad_output: Tensor) -> None:
    _check_places(indices, 0, x.shape[2] * x.shape[3])
    grad.resize_(x.shape).zero_()
    grad.flatten(2).scatter_add_(2, indices.long().flatten(2), grad_output.reshape(indices.shape).flatten(2))
