"""Caffe's files: what is read from a whole one, and that a damaged one is one clear error."""

import json
import random
from pathlib import Path

import pytest
import torch

from lua_compat.kernels.packages.caffe import caffe_read
from tests.helpers.caffe_files import PROTOTXT, field, fields, layer, little_net, random_weights


def read(folder: Path, model: bytes, prototxt: str = PROTOTXT) -> tuple[dict, torch.Tensor]:
    (folder / "net.prototxt").write_text(prototxt)
    (folder / "net.caffemodel").write_bytes(model)
    out = torch.empty(0)
    found = json.loads(caffe_read(out, str(folder / "net.prototxt"), str(folder / "net.caffemodel")))
    return found, out


@pytest.mark.parametrize("old", [True, False])
def test_layers_and_weights(old: bool, tmp_path: Path) -> None:
    weights = random_weights()
    found, numbers = read(tmp_path, little_net(weights, old))
    names = [each["name"] for each in found["layers"]]
    assert names[:3] == ["data", "conv1", "relu1"] and len(names) == 12
    assert (found["old"], found["inputs"]) == (old, 4)
    flat = torch.cat([torch.from_numpy(each).reshape(-1) for name in ("conv1", "conv2", "fc")
                      for each in (weights[name], weights[f"{name}_b"])])  # fmt: skip
    assert numbers.equal(flat)
    pool = found["layers"][4]
    assert [pool[key] for key in ("pool", "kH", "kW", "dH", "dW", "padH", "padW")] == [
        "max",
        3,
        3,
        2,
        2,
        0,
        0,
    ]


def test_numbers_in_double_precision_and_kernels_of_two_sizes(tmp_path: Path) -> None:
    weight = torch.randn(2, 1, 3, 5).double()
    blob = field(7, field(1, bytes([2, 1, 3, 5]))) + field(8, weight.numpy().tobytes())
    options = field(1, 2) + field(4, 3) + field(4, 5)
    model = field(100, fields({1: "c", 2: "Convolution"}) + field(7, blob) + field(106, options))
    found, numbers = read(tmp_path, model)
    (convolution,) = found["layers"]
    assert (convolution["kH"], convolution["kW"], convolution["blobs"]) == (3, 5, [30])
    assert numbers.equal(weight.float().reshape(-1))


def test_a_name_that_is_no_text(tmp_path: Path) -> None:
    found, _ = read(tmp_path, field(100, fields({1: b"\xff", 2: "Dropout"})))
    assert found["layers"][0]["name"] == "\ufffd"


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (b"", "it has no layers"),
        (b"not a model", "is not a caffemodel"),
        (layer("c", "Convolution", True), "layer 'c': it has no weights"),
        (field(2, fields({4: "p", 5: 17}) + field(19, field(2, 0))), "layer 'p': a size of its windows is 0"),
        (field(2, fields({4: "p", 5: 17}) + field(19, fields({1: 7, 2: 2}))), "layer 'p': pooling of kind 7"),
        (layer("d", "Dropout", False, field(1, 1.5)), "layer 'd': it drops 1.5"),
        (layer("p", "Pooling", False, fields({2: 1, 12: 1})), "layer 'p': it pools whole planes"),
        (field(100, fields({1: "c", 2: "Convolution"}) + field(106, field(4, 3))
               + field(7, field(7, field(1, b"\x80\x80\x80\x80\x10" * 4)) + field(5, b"1234"))),
         "layer 'c': "),
        (field(100, fields({1: "f", 2: "InnerProduct"}) + field(7, field(7, b""))),
         r"layer 'f': a weight of sizes \[\], not a matrix"),
        (field(100, fields({1: "f", 2: "InnerProduct"}) + field(7, field(7, field(1, b"\x03")))),
         r"layer 'f': a weight of sizes \[3\], not a matrix"),
    ],
)  # fmt: skip
def test_wrong_models(model: bytes, words: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=words) as caught:
        read(tmp_path, model)
    text = str(caught.value)
    assert text.startswith("loadcaffe: ") and "net.caffemodel" in text and "\n" not in text


def test_a_wrong_prototxt(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"net.prototxt is not a prototxt: ") as caught:
        read(tmp_path, little_net(random_weights(), True), "layers { name: ")
    assert "\n" not in str(caught.value)
    with pytest.raises(FileNotFoundError):
        caffe_read(torch.empty(0), str(tmp_path / "missing"), str(tmp_path / "net.caffemodel"))


def test_damaged_models_are_read_or_refused(tmp_path: Path) -> None:
    """Whatever is cut off or changed: a result, or one line."""
    model = little_net(random_weights(), True)
    draw = random.Random(5)
    for _ in range(150):
        damaged = bytearray(model[: draw.randrange(len(model))] if draw.random() < 0.5 else model)
        for _ in range(draw.randrange(1, 6)):
            if damaged:  # the structure more often than the numbers
                within = min(len(damaged), 120) if draw.random() < 0.5 else len(damaged)
                place = draw.randrange(within)
                damaged[place] = draw.randrange(256)
        try:
            read(tmp_path, bytes(damaged))
        except ValueError as problem:
            assert str(problem).startswith("loadcaffe: ") and "\n" not in str(problem)
