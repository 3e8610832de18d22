"""Nets of today, as a user may have them: each imported as --net own_nets.py:NAME, or from Python."""

from dataclasses import dataclass

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


class TakesList(nn.Module):
    """A detector: images in a list, and for each a dict; when training the losses."""

    def __init__(self) -> None:
        super().__init__()
        self.body, self.scores = nn.Conv2d(3, 4, 3, 2, 1), nn.Conv2d(4, 2, 1)

    def forward(self, images: list[Tensor], targets: object = None) -> object:
        if not isinstance(images, list):
            raise TypeError("expected a list of images")
        scores = [self.scores(self.body(image[None]).relu()) for image in images]
        if self.training:
            return {"loss": torch.stack([one.square().mean() for one in scores]).sum()}
        return [{"scores": one[0], "best": one[0].argmax(0)} for one in scores]


class TakesDict(nn.Module):
    """All inputs in one dict."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(6, 3)

    def forward(self, batch: dict[str, Tensor]) -> Tensor:
        return self.linear(batch["image"]) + batch["mask"].sum(1, keepdim=True)


@dataclass
class Answer:
    scores: Tensor
    loss: Tensor | None = None


class GivesDataclass(nn.Module):
    def __init__(self, width: int, depth: int = 1) -> None:
        super().__init__()
        self.layers = nn.Sequential(*(nn.Linear(width, width) for _ in range(depth)))

    def forward(self, x: Tensor) -> Answer:
        return Answer(self.layers(x))


class FixedBatch(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(6, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.linear(x.view(4, 6))


class GivesIndices(FixedBatch):
    def forward(self, x: Tensor) -> Tensor:
        return self.linear(x).argmax(-1)


class WritesIntoItsInput(FixedBatch):
    def forward(self, x: Tensor) -> Tensor:
        x += 1
        return self.linear(x)


class Remembers(nn.Module):
    """Begins each batch with the state after the last one."""

    def __init__(self) -> None:
        super().__init__()
        self.cells = nn.GRU(6, 4, batch_first=True)
        self.state: Tensor | None = None

    def forward(self, x: Tensor) -> Tensor:
        output, state = self.cells(x, self.state)
        self.state = state.detach()
        return output


class Complex(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(6, dtype=torch.complex64) * 1j)

    def forward(self, x: Tensor) -> Tensor:
        return torch.view_as_real(x * self.weight)


made = GivesDataclass(6)
"""Ready to be measured; not a function that makes it."""


def normalised() -> nn.Module:
    """Takes a batch of one only when it is not trained."""
    return nn.Sequential(nn.Linear(6, 4), nn.BatchNorm1d(4))


def scripted() -> nn.Module:
    return torch.jit.script(nn.Sequential(nn.Linear(6, 5), nn.Tanh(), nn.Linear(5, 3)))


def frozen() -> nn.Module:
    return torch.jit.freeze(scripted().eval())


def exported() -> nn.Module:
    return nn.Sequential(torch.export.export(nn.Linear(6, 3), (torch.zeros(2, 6),)).module())


def halves() -> nn.Module:
    return nn.Linear(6, 3).to(torch.bfloat16)


class BackwardFails(FixedBatch):
    def forward(self, x: Tensor) -> Tensor:
        y = self.linear(x).exp()
        y += 1  # exp's gradient needs what it gave
        return y
