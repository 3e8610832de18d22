"""The handwritten digits that come with scikit-learn (1797 images of 8x8), and training a net on them."""

import importlib
from typing import TYPE_CHECKING

from convnet_benchmarks.commands.accuracy.examples import Examples
from convnet_benchmarks.errors import UserError

if TYPE_CHECKING:
    from torch import Tensor, nn

    from convnet_benchmarks.progress import Progress

_HELD_OUT = 0.2
_BATCH = 64
_PEAK_LEARNING_RATE = 3e-3
_SHIFT = 2  # pixels of the 28x28 image
_LARGEST_GREY = 16.0


def load(input_size: tuple[int, ...], seed: int) -> tuple[Examples, Examples]:
    """Returns training and held-out examples, 80 and 20 % of every digit, at ``input_size`` (one plane).

    Grey values are standardised with the training images' mean and deviation. Raises UserError without
    scikit-learn.
    """
    import torch

    try:  # by name, because the package has no types
        load_digits = importlib.import_module("sklearn.datasets").load_digits
        train_test_split = importlib.import_module("sklearn.model_selection").train_test_split
    except ImportError:
        raise UserError(
            "the digits come with scikit-learn (pip install scikit-learn); or use --images"
        ) from None
    digits = load_digits()
    images = torch.from_numpy(digits.images).float().unsqueeze(1) / _LARGEST_GREY
    images = torch.nn.functional.interpolate(images, input_size[1:], mode="bilinear", align_corners=False)
    training, held_out = train_test_split(
        range(len(images)), test_size=_HELD_OUT, stratify=digits.target, random_state=seed
    )
    mean, deviation = images[training].mean(), images[training].std()
    images = (images - mean) / deviation
    labels = digits.target.tolist()
    return _subset(images, labels, training), _subset(images, labels, held_out)


def _subset(images: "Tensor", labels: list[int], chosen: list[int]) -> Examples:
    return Examples(
        [f"digit {index}" for index in chosen],
        [labels[index] for index in chosen],
        lambda position: images[chosen[position]],
    )


def train(module: "nn.Module", examples: Examples, epochs: int, seed: int, progress: "Progress") -> None:
    """Trains by Adam and one cycle of the learning rate on batches of images shifted by up to 2 pixels.

    The same ``seed`` gives the same order of examples and the same shifts.
    """
    import torch

    images = torch.stack([examples.image(position) for position in range(len(examples))])
    labels = torch.tensor(examples.labels)
    generator = torch.Generator().manual_seed(seed)
    optimizer = torch.optim.Adam(module.parameters())
    steps = epochs * -(-len(labels) // _BATCH)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, _PEAK_LEARNING_RATE, total_steps=steps)
    module.train()
    for epoch in range(1, epochs + 1):
        progress.start(f"training, epoch {epoch}")
        for batch in torch.randperm(len(labels), generator=generator).split(_BATCH):
            shift = torch.randint(-_SHIFT, _SHIFT + 1, (2,), generator=generator).tolist()
            scores = module(images[batch].roll(shift, (-2, -1)))
            optimizer.zero_grad()
            # Of log-probabilities the cross-entropy is their negative log-likelihood.
            torch.nn.functional.cross_entropy(scores, labels[batch]).backward()
            optimizer.step()
            schedule.step()
    module.eval()
