"""Images in a folder with their labels, and the preprocessing that a net was trained with."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from convnet_benchmarks.commands.accuracy.examples import Examples
from convnet_benchmarks.errors import UserError

if TYPE_CHECKING:
    from torch import Tensor

_SUFFIXES = (".jpeg", ".jpg", ".png", ".bmp", ".gif", ".webp", ".ppm", ".pgm", ".tif", ".tiff")
_LARGEST_VALUE = 255


@dataclass(frozen=True)
class Preprocessing:
    """Shorter side to ``resize``, centre ``crop`` (height, width), values in [0, 1], minus mean, over std."""

    resize: int
    crop: tuple[int, int]
    mean: Sequence[float]
    std: Sequence[float]
    interpolation: str = "bilinear"

    def __call__(self, path: Path) -> "Tensor":
        """Returns the image as planes, height, width; as many planes as ``mean`` has numbers (1: grey, 3:
        RGB).
        """
        import numpy as np
        import torch
        from PIL import Image

        height, width = self.crop
        try:
            with Image.open(path) as file:
                image = file.convert("L" if len(self.mean) == 1 else "RGB")
        except (OSError, ValueError, Image.DecompressionBombError) as error:
            raise UserError(f"{path}: not an image that Pillow reads ({error})") from None
        scale = self.resize / min(image.size)
        size = (max(self.resize, round(image.width * scale)), max(self.resize, round(image.height * scale)))
        image = image.resize(size, Image.Resampling[self.interpolation.upper()])
        left, top = (size[0] - width) // 2, (size[1] - height) // 2
        image = image.crop((left, top, left + width, top + height))
        values = torch.from_numpy(np.array(image, dtype=np.float32) / _LARGEST_VALUE)
        planes = values.unsqueeze(0) if values.dim() == 2 else values.permute(2, 0, 1)
        shape = (-1, 1, 1)
        return (planes - torch.tensor(self.mean).view(shape)) / torch.tensor(self.std).view(shape)


def load(
    folder: str, labels_file: str | None, classes_file: str | None, preprocessing: Preprocessing
) -> Examples:
    """Returns the images of ``folder``: in a folder for each class, or all together with a file of labels.

    ``labels_file``: a line "name label" for each image; a label is a number from 0 or a class's name.
    ``classes_file``: a line for each output of the net that begins with the class's name (synset_words.txt);
    without it the sorted names of the folders are the classes. Raises UserError.
    """
    _require_pillow()
    root = Path(folder)
    if not root.is_dir():
        raise UserError(f"option --images: there is no folder '{folder}'")
    classes = None if classes_file is None else _classes(classes_file)
    if labels_file is None:
        found = _in_class_folders(root, classes)
    else:
        found = _in_labels_file(root, labels_file, classes)
    paths = [path for path, _ in found]
    names = [str(path.relative_to(root)) for path in paths]
    return Examples(names, [label for _, label in found], lambda position: preprocessing(paths[position]))


def _require_pillow() -> None:
    try:
        import PIL  # noqa: F401
    except ImportError:
        raise UserError("option --images: needs the package Pillow (pip install pillow)") from None


def _lines(option: str, file: str) -> list[list[str]]:
    """Returns the words of every line that has any."""
    try:
        text = Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not a text file"
        raise UserError(f"{option}: cannot read '{file}': {reason}") from None
    return [line.split() for line in text.splitlines() if line.strip()]


def _classes(file: str) -> dict[str, int]:
    classes = {words[0]: number for number, words in enumerate(_lines("--classes", file))}
    if not classes:
        raise UserError(f"option --classes: '{file}' is empty")
    return classes


def _in_class_folders(root: Path, classes: dict[str, int] | None) -> list[tuple[Path, int]]:
    folders = sorted(path for path in root.iterdir() if path.is_dir())
    if classes is None:
        classes = {path.name: number for number, path in enumerate(folders)}
    found: list[tuple[Path, int]] = []
    for path in folders:
        if path.name not in classes:
            raise UserError(f"option --classes: the folder '{path}' is not one of its {len(classes)} classes")
        images = sorted(file for file in path.iterdir() if file.suffix.lower() in _SUFFIXES)
        found += [(image, classes[path.name]) for image in images]
    if not found:
        raise UserError(
            f"option --images: '{root}' has no images in class folders; for images without them give --labels"
        )
    return found


def _in_labels_file(root: Path, file: str, classes: dict[str, int] | None) -> list[tuple[Path, int]]:
    found: list[tuple[Path, int]] = []
    for number, words in enumerate(_lines("--labels", file), start=1):
        where = f"option --labels: {file}, entry {number}"
        if len(words) != 2:
            raise UserError(f"{where}: '{' '.join(words)}' is not an image's name and a label")
        path = root / words[0]
        if not path.is_file():
            raise UserError(f"{where}: there is no image '{path}'")
        found.append((path, _label(words[1], classes, where)))
    if not found:
        raise UserError(f"option --labels: '{file}' is empty")
    return found


def _label(word: str, classes: dict[str, int] | None, where: str) -> int:
    if word.isascii() and word.isdigit():
        return int(word)
    if classes is None:
        raise UserError(f"{where}: label '{word}' is a name; --classes must say which output it is")
    if word not in classes:
        raise UserError(f"{where}: '{word}' is not one of the {len(classes)} classes")
    return classes[word]


def preprocessing_of(options: Any, input_size: tuple[int, ...]) -> Preprocessing:
    """Returns what the options and the net's input (planes, height, width) ask for. Raises UserError."""
    planes, *size = input_size
    crop = (options.crop, options.crop) if options.crop else (size[0], size[1])
    resize = options.resize or round(max(crop) / 0.875)
    if resize < max(crop):
        raise UserError(f"option --resize: {resize} is less than the crop of {max(crop)}")
    mean = _statistic("mean", options.mean, _IMAGENET_MEAN, planes)
    std = _statistic("std", options.std, _IMAGENET_STD, planes)
    return Preprocessing(resize, crop, mean, std, options.interpolation)


def _statistic(option: str, given: list[float] | None, imagenet: list[float], planes: int) -> list[float]:
    values = given or (imagenet if planes == 3 else [0.5] * planes)
    if len(values) != planes:
        raise UserError(f"option --{option}: {len(values)} numbers for {planes} planes")
    return values


# Of the training images, as usual since Torch7's fb.resnet.torch.
_IMAGENET_MEAN = [0.485, 0.456, 0.406]
_IMAGENET_STD = [0.229, 0.224, 0.225]
