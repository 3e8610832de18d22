"""The parts of object detectors besides convolutions: SSD's heads, proposals, pooling of regions.

Boxes are (left, top, right, bottom) in pixels of the image. Every tensor's shape follows from the input's
shape alone, so that these modules also run on the meta device and need no synchronisation on a GPU.
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional


class ScaledUnitNorm(nn.Module):
    """The planes at each position scaled to length 1, then by a learned factor each (arXiv:1506.04579)."""

    def __init__(self, planes: int, scale: float) -> None:
        super().__init__()
        self.scale = scale  # initial value of the factors
        self.weight = nn.Parameter(torch.full((planes,), scale))

    def reset_parameters(self) -> None:
        nn.init.constant_(self.weight, self.scale)

    def forward(self, input: Tensor) -> Tensor:
        return functional.normalize(input, dim=1) * self.weight[:, None, None]


class SSD(nn.Module):
    """Class scores and box offsets for the anchors of several feature maps.

    ``maps`` has for each map the layers that compute it from the one before, its planes, and its anchors per
    position. An image batch (batch, 3, height, width) gives the scores (batch, anchors, classes) and the
    offsets (batch, anchors, 4). ``kernel`` is the size of the predicting convolutions.
    """

    def __init__(
        self,
        maps: Sequence[tuple[nn.Module, int, int]],
        classes: int,
        kernel: int,
        first_norm: nn.Module | None = None,
    ) -> None:
        super().__init__()
        self.classes = classes
        self.stages = nn.ModuleList(stage for stage, _, _ in maps)
        self.first_norm = first_norm or nn.Identity()
        self.scores = nn.ModuleList(
            nn.Conv2d(planes, anchors * classes, kernel, padding=kernel // 2) for _, planes, anchors in maps
        )
        self.offsets = nn.ModuleList(
            nn.Conv2d(planes, anchors * 4, kernel, padding=kernel // 2) for _, planes, anchors in maps
        )

    def forward(self, image: Tensor) -> tuple[Tensor, Tensor]:
        scores, offsets = [], []
        found = image
        for depth, stage in enumerate(self.stages):
            found = stage(found)
            read = self.first_norm(found) if depth == 0 else found
            scores.append(per_anchor(self.scores[depth](read), self.classes))
            offsets.append(per_anchor(self.offsets[depth](read), 4))
        return torch.cat(scores, 1), torch.cat(offsets, 1)


def per_anchor(map: Tensor, values: int) -> Tensor:
    """Turns (batch, anchors * values, height, width) into (batch, height * width * anchors, values)."""
    return map.permute(0, 2, 3, 1).reshape(map.shape[0], -1, values)


class Proposals(nn.Module):
    """The ``count`` best boxes of a region proposal network, overlapping ones suppressed.

    Anchors of three areas and three shapes (height over width 1/2, 1, 2) at every ``stride`` pixels are moved
    by the offsets, clipped to the image, left out where a side is shorter than ``stride``, reduced to the
    ``candidates`` best, then suppressed where they overlap a better one by more than ``overlap``
    (intersection over union). Where fewer are left, the best is repeated. No gradient passes, as in the
    paper's joint training.
    """

    SIDES = (128, 256, 512)
    SHAPES = (0.5, 1.0, 2.0)
    # Offsets move by the logarithm of a ratio; larger ones than this come from untrained nets.
    _LARGEST_LOG = math.log(1000 / 16)

    def __init__(self, stride: int, count: int, candidates: int = 6000, overlap: float = 0.7) -> None:
        super().__init__()
        self.stride = stride
        self.count = count
        self.candidates = candidates
        self.overlap = overlap

    @property
    def anchors_per_position(self) -> int:
        return len(self.SIDES) * len(self.SHAPES)

    @torch.no_grad()
    def forward(self, scores: Tensor, offsets: Tensor, height: int, width: int) -> Tensor:
        """Boxes (batch, count, 4) for an image of ``height`` and ``width``.

        ``scores`` is a map (batch, anchors, h, w), ``offsets`` one of (batch, 4 * anchors, h, w).
        """
        anchors = self._anchors(scores.shape[2], scores.shape[3], scores)
        boxes = decode(anchors, per_anchor(offsets, 4), self._LARGEST_LOG)
        boxes = torch.stack(
            [boxes[..., i].clamp(0, limit) for i, limit in enumerate((width, height, width, height))], -1
        )
        too_small = (boxes[..., 2:] - boxes[..., :2]).amin(2) < self.stride
        flat = per_anchor(scores, 1).squeeze(2).masked_fill(too_small, -math.inf)
        best, indices = flat.topk(min(self.candidates, flat.shape[1]), dim=1)
        boxes = boxes.gather(1, indices.unsqueeze(2).expand(-1, -1, 4))
        return boxes.gather(1, suppress(boxes, best, self.count, self.overlap).unsqueeze(2).expand(-1, -1, 4))

    def _anchors(self, rows: int, columns: int, like: Tensor) -> Tensor:
        """Returns (rows * columns * anchors per position, 4), in the order of ``per_anchor``."""
        half_sizes = [
            (side / math.sqrt(shape) / 2, side * math.sqrt(shape) / 2)
            for side in self.SIDES
            for shape in self.SHAPES
        ]
        half = torch.tensor(half_sizes, dtype=like.dtype, device=like.device)
        y = (torch.arange(rows, dtype=like.dtype, device=like.device) + 0.5) * self.stride
        x = (torch.arange(columns, dtype=like.dtype, device=like.device) + 0.5) * self.stride
        centres = torch.stack(torch.meshgrid(x, y, indexing="xy"), -1).reshape(-1, 1, 2)
        return torch.cat([centres - half, centres + half], -1).reshape(-1, 4)


def decode(anchors: Tensor, offsets: Tensor, largest_log: float) -> Tensor:
    """Returns ``anchors`` (n, 4) moved by ``offsets`` (batch, n, 4): centre in sizes, log of the size."""
    size = anchors[:, 2:] - anchors[:, :2]
    centre = (anchors[:, 2:] + anchors[:, :2]) / 2 + offsets[..., :2] * size
    half = size * offsets[..., 2:].clamp(max=largest_log).exp() / 2
    return torch.cat([centre - half, centre + half], -1)


def suppress(boxes: Tensor, scores: Tensor, count: int, overlap: float) -> Tensor:
    """Runs greedy non-maximum suppression; returns indices (batch, count) into boxes (batch, n, 4), best
    first.

    A chosen box removes those that overlap it by more than ``overlap``; when none is left, the best one is
    repeated.
    """
    areas = (boxes[..., 2] - boxes[..., 0]) * (boxes[..., 3] - boxes[..., 1])
    left = scores.clone()
    first = left.argmax(1, keepdim=True)
    chosen = []
    for _ in range(count):
        best, index = left.max(1, keepdim=True)
        index = torch.where(best.isneginf(), first, index)
        chosen.append(index)
        box = boxes.gather(1, index.unsqueeze(2).expand(-1, -1, 4))
        corners = torch.maximum(box[..., :2], boxes[..., :2]), torch.minimum(box[..., 2:], boxes[..., 2:])
        sides = (corners[1] - corners[0]).clamp(min=0)
        shared = sides[..., 0] * sides[..., 1]
        union = areas + areas.gather(1, index) - shared
        left = left.masked_fill(shared > overlap * union, -math.inf).scatter(1, index, -math.inf)
    return torch.cat(chosen, 1)


class RegionPooling(nn.Module):
    """Each box's part of a feature map in ``size`` by ``size`` bins: the largest of 2x2 bilinear samples.

    The features (batch, planes, h, w) and boxes (batch, count, 4) give (batch * count, planes, size, size).
    The paper takes the largest of the elements in a bin, whose number depends on the box; samples have a
    gradient everywhere and shapes that are known beforehand.
    """

    def __init__(self, stride: int, size: int) -> None:
        super().__init__()
        self.stride = stride
        self.size = size

    def forward(self, features: Tensor, boxes: Tensor) -> Tensor:
        batch, count, _ = boxes.shape
        samples = 2 * self.size
        step = (torch.arange(samples, dtype=boxes.dtype, device=boxes.device) + 0.5) / samples
        x = boxes[..., 0:1] + (boxes[..., 2:3] - boxes[..., 0:1]) * step
        y = boxes[..., 1:2] + (boxes[..., 3:4] - boxes[..., 1:2]) * step
        # grid_sample's -1 and 1 are the outer edges of the map.
        x = x * (2 / (self.stride * features.shape[3])) - 1
        y = y * (2 / (self.stride * features.shape[2])) - 1
        shape = (batch, count, samples, samples)
        grid = torch.stack([x.unsqueeze(2).expand(shape), y.unsqueeze(3).expand(shape)], -1)
        sampled = functional.grid_sample(
            features,
            grid.reshape(batch, count * samples, samples, 2),
            padding_mode="border",
            align_corners=False,
        )
        pooled = functional.max_pool2d(sampled, 2)
        by_box = pooled.reshape(batch, -1, count, self.size, self.size).transpose(1, 2)
        return by_box.reshape(batch * count, -1, self.size, self.size)


class FasterRCNN(nn.Module):
    """Features, a region proposal network on them, and a classifier of the proposed regions.

    Images (batch, 3, height, width) give a tuple: objectness scores (batch, anchors, 2) and offsets
    (batch, anchors, 4) of the proposal network, then for each of the proposed boxes class scores
    (batch, count, classes), offsets for each class (batch, count, 4 * classes).
    """

    def __init__(
        self,
        features: nn.Module,
        planes: int,
        proposals: Proposals,
        pooling: RegionPooling,
        classifier: nn.Module,
        hidden: int,
        classes: int,
    ) -> None:
        super().__init__()
        anchors = proposals.anchors_per_position
        self.features = features
        self.rpn = nn.Sequential(nn.Conv2d(planes, planes, 3, padding=1), nn.ReLU(inplace=True))
        self.rpn_scores = nn.Conv2d(planes, 2 * anchors, 1)
        self.rpn_offsets = nn.Conv2d(planes, 4 * anchors, 1)
        self.proposals = proposals
        self.pooling = pooling
        self.classifier = classifier
        self.scores = nn.Linear(hidden, classes)
        self.offsets = nn.Linear(hidden, 4 * classes)

    def forward(self, image: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        batch, _, height, width = image.shape
        features = self.features(image)
        found = self.rpn(features)
        offset_map = self.rpn_offsets(found)
        objectness = per_anchor(self.rpn_scores(found), 2)
        rows, columns = found.shape[2:]
        # The log-odds of an object against background, whose order softmax preserves.
        score_map = (objectness[..., 1] - objectness[..., 0]).reshape(batch, rows, columns, -1)
        boxes = self.proposals(score_map.permute(0, 3, 1, 2), offset_map, height, width)
        hidden = self.classifier(self.pooling(features, boxes))
        count = boxes.shape[1]
        return (
            objectness,
            per_anchor(offset_map, 4),
            self.scores(hidden).reshape(batch, count, -1),
            self.offsets(hidden).reshape(batch, count, -1),
        )
