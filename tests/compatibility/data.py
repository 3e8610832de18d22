"""Small data of the kinds that old applications read, made from a seed."""

import gzip
import json
import random
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
from PIL import Image

from lua_compat import hdf5, t7
from tests.helpers.caffe_files import blob, field, fields
from tests.helpers.commands import run_th

_TEXT = "the cat sat on a mat while an old dog slept and the rain fell over small green hills of home"
_WORDS = _TEXT.split()

Maker = Callable[[Path, int], None]


def all_of(*makers: Maker) -> Maker:
    """Returns a maker that calls several."""

    def make(folder: Path, seed: int) -> None:
        for maker in makers:
            maker(folder, seed)

    return make


def text(path: str, words: int) -> Maker:
    """Sentences of a few words, one in each line."""

    def make(folder: Path, seed: int) -> None:
        draw = random.Random(seed)
        lines, left = [], words
        while left > 0:
            count = min(left, draw.randint(4, 9))
            lines.append(" ".join(draw.choice(_WORDS) for _ in range(count)))
            left -= count
        _write(folder / path, ("\n".join(lines) + "\n").encode())

    return make


def written(path: str, content: str) -> Maker:
    """A file of a given content."""

    def make(folder: Path, seed: int) -> None:
        _write(folder / path, content.encode())

    return make


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def pictures(folder_name: str, count: int, width: int, height: int, kind: str = "png") -> Maker:
    """Pictures of colored rectangles: 1.png, 2.png..."""

    def make(folder: Path, seed: int) -> None:
        draw = np.random.default_rng(seed)
        target = folder / folder_name
        target.mkdir(parents=True, exist_ok=True)
        for number in range(1, count + 1):
            pixels = np.full((height, width, 3), draw.integers(0, 256, 3), np.uint8)
            for _ in range(6):
                y, x = draw.integers(0, height), draw.integers(0, width)
                pixels[y : y + height // 3, x : x + width // 3] = draw.integers(0, 256, 3)
            Image.fromarray(pixels).save(target / f"{number}.{kind}")

    return make


def tensor(path: str, *shape: int, kind: str = "float64", largest: int = 0) -> Maker:
    """A tensor in a .t7: of zeros and ones, or of whole numbers from 1 to ``largest``."""

    def make(folder: Path, seed: int) -> None:
        draw = np.random.default_rng(seed)
        values = draw.integers(1, largest + 1, shape) if largest else draw.integers(0, 2, shape)
        _save(folder / path, _tensor(values.astype(kind)))

    return make


def _tensor(array: np.ndarray) -> t7.Tensor:
    return t7.Tensor.from_numpy(np.ascontiguousarray(array))


def _save(path: Path, value: object, ascii_form: bool = False) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    t7.save(path, value, format="ascii" if ascii_form else "binary")


def installed(name: str, *folders: str) -> Maker:
    """A package as LuaRocks installs it: found under its name, the files of ``folders`` beside the rest."""

    def make(folder: Path, seed: int) -> None:
        (folder / name).symlink_to(".")
        for file in (file for inside in folders for file in (folder / inside).glob("*.lua")):
            (folder / file.name).symlink_to(file.relative_to(folder))

    return make


def vocabulary(path: str, count: int) -> Maker:
    """A table of characters to numbers in a .t7."""

    def make(folder: Path, seed: int) -> None:
        _save(folder / path, t7.LuaTable({chr(96 + number): number for number in range(1, count + 1)}))

    return make


def _labelled(seed: int, count: int, shape: tuple[int, ...], kind: str) -> t7.LuaTable:
    draw = np.random.default_rng(seed)
    labels = draw.integers(1, 11, count)
    images = draw.integers(0, 256, (count, *shape)) // 2 + labels.reshape(-1, *[1] * len(shape)) * 10
    return t7.LuaTable({"data": _tensor(images.astype(kind)), "labels": _tensor(labels.astype(kind))})


def cifar_of_resnets(train: int = 64, test: int = 32, classes: int = 10) -> Maker:
    """What fb.resnet.torch and its kin keep in gen/cifar10.t7."""

    def make(folder: Path, seed: int) -> None:
        parts = {}
        for name, count in (("train", train), ("val", test)):
            parts[name] = _labelled(seed, count, (3, 32, 32), "uint8")
        _save(folder / f"gen/cifar{classes}.t7", t7.LuaTable(parts))

    return make


def provider(
    path: str, typename: str | None, train: int = 64, test: int = 32, kind: str = "float32"
) -> Maker:
    """CIFAR as trainData and testData, in a table or (``typename``) an object."""

    def make(folder: Path, seed: int) -> None:
        parts = {
            "trainData": _labelled(seed, train, (3, 32, 32), kind),
            "testData": _labelled(seed + 1, test, (3, 32, 32), kind),
        }
        table = t7.LuaTable(parts)
        _save(folder / path, table if typename is None else t7.TorchObject(typename, 1, table))

    return make


def mnist_of_torch7(folder_name: str, train: int = 120, test: int = 60) -> Maker:
    """train_32x32.t7 and test_32x32.t7: ascii, bytes of 1 x 32 x 32 with labels."""

    def make(folder: Path, seed: int) -> None:
        for name, count in (("train", train), ("test", test)):
            _save(
                folder / folder_name / f"{name}_32x32.t7", _labelled(seed, count, (1, 32, 32), "uint8"), True
            )

    return make


def mnist_of_lecun(folder_name: str, train: int = 120, test: int = 60, packed: bool = False) -> Maker:
    """The four files of MNIST, in their own format."""

    def make(folder: Path, seed: int) -> None:
        draw = np.random.default_rng(seed)
        for name, count in (("train", train), ("t10k", test)):
            images = struct.pack(">4i", 2051, count, 28, 28) + draw.bytes(count * 784)
            labels = struct.pack(">2i", 2049, count) + draw.integers(0, 10, count, np.uint8).tobytes()
            for kind, data in (("images-idx3", images), ("labels-idx1", labels)):
                path = folder / folder_name / f"{name}-{kind}-ubyte"
                _write(Path(f"{path}.gz") if packed else path, gzip.compress(data) if packed else data)

    return make


def torch_rnn(h5: str, description: str, train: int = 700) -> Maker:
    """What torch-rnn's preprocessing writes: characters as numbers, in three parts, and their names."""

    def make(folder: Path, seed: int) -> None:
        draw = np.random.default_rng(seed)
        (folder / h5).parent.mkdir(parents=True, exist_ok=True)
        with hdf5.File(str(folder / h5), "w") as file:
            for part, count in (("train", train), ("val", 120), ("test", 120)):
                file.write(f"/{part}", draw.integers(1, 21, count).astype(np.uint8))
        names = {str(number): chr(96 + number) for number in range(1, 21)}
        tokens = {token: int(number) for number, token in names.items()}
        _write(folder / description, json.dumps({"idx_to_token": names, "token_to_idx": tokens}).encode())

    return make


_VGG_19 = (2, 2, 4, 4, 4)
_VGG_16 = (2, 2, 3, 3, 3)


def vgg(prototxt: str, caffemodel: str, layers: int = 19, channels: int = 4, full: bool = False) -> Maker:
    """A caffemodel with VGG's names of layers, few channels and random weights; ``full``: with fc6 to fc8."""

    def make(folder: Path, seed: int) -> None:
        draw = np.random.default_rng(seed)

        def old_layer(
            name: str, kind: int, options: bytes = b"", weights: tuple[np.ndarray, ...] = ()
        ) -> bytes:
            blobs = b"".join(field(6, blob(each, True)) for each in weights)
            numbers = {4: 10, 17: 19, 14: 17, 6: 12}
            return field(2, fields({4: name, 5: kind}) + blobs + field(numbers.get(kind, 30), options))

        def random_weights(*shape: int) -> tuple[np.ndarray, np.ndarray]:
            scale = (2 / np.prod(shape[1:])) ** 0.5
            return (draw.standard_normal(shape) * scale).astype(np.float32), np.zeros(shape[0], np.float32)

        written, planes = [], 3
        for block, count in enumerate(_VGG_19 if layers == 19 else _VGG_16, 1):
            for number in range(1, count + 1):
                convolution = fields({1: channels, 3: 1, 4: 3})
                written.append(
                    old_layer(f"conv{block}_{number}", 4, convolution, random_weights(channels, planes, 3, 3))
                )
                written.append(old_layer(f"relu{block}_{number}", 18))
                planes = channels
            written.append(old_layer(f"pool{block}", 17, fields({1: 0, 2: 2, 3: 2})))
        if full:
            for name, inputs, outputs in (("fc6", channels * 49, 16), ("fc7", 16, 16), ("fc8", 16, 1000)):
                written.append(old_layer(name, 14, field(1, outputs), random_weights(outputs, inputs)))
                if name != "fc8":
                    written.append(
                        old_layer(f"relu{name[-1]}", 18) + old_layer(f"drop{name[-1]}", 6, field(1, 0.5))
                    )
            written.append(old_layer("prob", 20))
        _write(folder / caffemodel, field(1, "VGG") + field(3, "data") + b"".join(written))
        _write(folder / prototxt, b'name: "VGG"\ninput: "data"\n')

    return make


def by_lua(code: str) -> Maker:
    """What a few lines of Lua write, run by our th in the folder: nets, which Python has no names for."""

    def make(folder: Path, seed: int) -> None:
        script = folder / "make_data.lua"
        _write(script, code.encode())
        made = run_th(script, cwd=folder)
        assert made.returncode == 0, made.stderr
        script.unlink()

    return make
