"""Nets of today, as a user may have them: each imported as --net own_nets.py:NAME, or from Python."""

import torch
from torch import Tensor, nn


class Bert(nn.Module):
    """Scores for sequences of token ids; ``mask`` is 0 where a sequence has ended."""

    def __init__(self, words: int = 50, width: int = 16) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(32, width)
        self.norm = nn.LayerNorm(width)
        layer = nn.TransformerEncoderLayer(width, 2, 32, 0.0, "gelu", batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.score = nn.Linear(width, 2)

    def forward(self, ids: Tensor, mask: Tensor | None = None) -> dict[str, Tensor]:
        places = torch.arange(ids.shape[1], device=ids.device)
        x = self.norm(self.words(ids) + self.places(places))
        x = self.encoder(x, src_key_padding_mask=None if mask is None else mask == 0)
        return {"scores": self.score(x[:, 0])}


class Detector(nn.Module):
    """Boxes, scores and a pyramid of maps for images."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Conv2d(3, 8, 3, 2, 1), nn.Conv2d(8, 8, 3, 2, 1)
        self.norm, self.act = nn.BatchNorm2d(8), nn.SiLU()
        self.boxes, self.scores = nn.Conv2d(8, 4, 1), nn.Conv2d(8, 3, 1)

    def forward(self, images: Tensor) -> dict[str, object]:
        large = self.act(self.norm(self.first(images)))
        small = self.act(self.second(large))
        found = [(self.boxes(x).flatten(2), self.scores(x).flatten(2)) for x in (large, small)]
        return {"boxes": torch.cat([boxes for boxes, _ in found], 2), "maps": [large, (small,)]}


class Branches(nn.Module):
    """An image, numbers about it, and the number of its kind."""

    def __init__(self) -> None:
        super().__init__()
        self.image, self.meta, self.kind = nn.Conv2d(3, 4, 3), nn.Linear(6, 4), nn.Embedding(7, 4)

    def forward(self, image: Tensor, meta: Tensor, kind: Tensor) -> Tensor:
        return self.image(image).mean((2, 3)) + self.meta(meta) + self.kind(kind)


class Complains(nn.Module):
    """Prints its input where it is wrong, as people's code does."""

    def forward(self, x: Tensor) -> Tensor:
        raise ValueError(f"bad input {x} (and {x.sum()!r}) at (1, 2)")
