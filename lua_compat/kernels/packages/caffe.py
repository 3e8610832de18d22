"""Caffe models for the Lua package loadcaffe: a prototxt (text) and a caffemodel (protobuf's wire format).

The numbers of the fields are those of Caffe's caffe.proto. As in loadcaffe, the layers and their options come
from the caffemodel alone.
"""

import json
import math
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import torch

from lua_compat.kernels.packages.extras import extra
from lua_compat.kernels.results import Out
from lua_compat.kernels.strings import from_lua, to_lua
from lua_compat.printable import printable

__all__ = ["caffe_read"]

# message -> field -> (number, type); * marks repeated fields, a capital letter a message. A blob's numbers
# are declared as bytes: Caffe packs them, so that Python need not make an object of each.
_MESSAGES: dict[str, dict[str, tuple[int, str]]] = {
    "Net": {"input": (3, "string*"), "input_dim": (4, "int32*"), "layers": (2, "OldLayer*"),
            "input_shape": (8, "Shape*"), "layer": (100, "NewLayer*")},
    "Shape": {"dim": (1, "int64*")},
    "Blob": {"num": (1, "int32"), "channels": (2, "int32"), "height": (3, "int32"), "width": (4, "int32"),
             "data": (5, "bytes"), "shape": (7, "Shape"), "double_data": (8, "bytes")},
    "OldLayer": {"name": (4, "string"), "type": (5, "int32"), "blobs": (6, "Blob*"),
                 "convolution_param": (10, "Convolution"), "dropout_param": (12, "Dropout"),
                 "inner_product_param": (17, "InnerProduct"), "lrn_param": (18, "Lrn"),
                 "pooling_param": (19, "Pooling")},
    "NewLayer": {"name": (1, "string"), "type": (2, "string"), "blobs": (7, "Blob*"),
                 "convolution_param": (106, "Convolution"), "dropout_param": (108, "Dropout"),
                 "inner_product_param": (117, "InnerProduct"), "lrn_param": (118, "Lrn"),
                 "pooling_param": (121, "Pooling")},
    "Convolution": {"num_output": (1, "uint32"), "pad": (3, "uint32*"), "kernel_size": (4, "uint32*"),
                    "group": (5, "uint32"), "stride": (6, "uint32*"), "pad_h": (9, "uint32"),
                    "pad_w": (10, "uint32"), "kernel_h": (11, "uint32"), "kernel_w": (12, "uint32"),
                    "stride_h": (13, "uint32"), "stride_w": (14, "uint32"), "dilation": (18, "uint32*")},
    "Pooling": {"pool": (1, "int32"), "kernel_size": (2, "uint32*"), "stride": (3, "uint32*"),
                "pad": (4, "uint32*"), "kernel_h": (5, "uint32"), "kernel_w": (6, "uint32"),
                "stride_h": (7, "uint32"), "stride_w": (8, "uint32"), "pad_h": (9, "uint32"),
                "pad_w": (10, "uint32"), "global_pooling": (12, "bool")},
    "InnerProduct": {"num_output": (1, "uint32")},
    "Lrn": {"local_size": (1, "uint32"), "alpha": (2, "float"), "beta": (3, "float"), "k": (5, "float")},
    "Dropout": {"dropout_ratio": (1, "float")},
}  # fmt: skip
_LRN_DEFAULTS = {"local_size": 5, "alpha": 1.0, "beta": 0.75, "k": 1.0}

# Kinds of layers that loadcaffe knows, by their number in old files and by their name in new ones.
_OLD_KINDS = {
    4: "Convolution", 6: "Dropout", 14: "InnerProduct", 15: "LRN", 17: "Pooling", 18: "ReLU", 19: "Sigmoid",
    20: "Softmax", 21: "SoftmaxWithLoss", 23: "TanH",
}  # fmt: skip
_NEW_KINDS = {**{name: name for name in _OLD_KINDS.values()}, "Tanh": "TanH"}
_POOLS = {0: "max", 1: "average", 2: "stochastic"}

_LARGEST_SIZE = 1 << 24  # of a kernel, a number of planes...
_WIRE_TYPES = ("int32", "int64", "uint32", "float", "bool", "string", "bytes")


class _Bad(ValueError):
    """A file is malformed or of another kind."""


@cache
def _net_class() -> Any:
    """Returns the message class of a whole net, made from ``_MESSAGES``."""
    descriptor = extra("google.protobuf.descriptor_pb2", "loadcaffe", "protobuf")
    pool = extra("google.protobuf.descriptor_pool", "loadcaffe", "protobuf").DescriptorPool()
    factory = extra("google.protobuf.message_factory", "loadcaffe", "protobuf")
    field_type = descriptor.FieldDescriptorProto
    file = descriptor.FileDescriptorProto(name="caffe", package="caffe", syntax="proto2")
    for message, fields in _MESSAGES.items():
        described = file.message_type.add(name=message)
        for name, (number, kind) in fields.items():
            plain = kind.rstrip("*")
            field = described.field.add(name=name, number=number)
            field.label = field_type.LABEL_REPEATED if kind.endswith("*") else field_type.LABEL_OPTIONAL
            if plain in _WIRE_TYPES:
                field.type = getattr(field_type, f"TYPE_{plain.upper()}")
            else:
                field.type, field.type_name = field_type.TYPE_MESSAGE, f".caffe.{plain}"
    pool.Add(file)
    return factory.GetMessageClass(pool.FindMessageTypeByName("caffe.Net"))


def _check_text(path: str) -> None:
    """Checks the syntax of a prototxt: unknown fields are skipped."""
    text_format = extra("google.protobuf.text_format", "loadcaffe", "protobuf")
    empty = extra("google.protobuf.empty_pb2", "loadcaffe", "protobuf")
    with open(path, "rb") as file:
        data = file.read()
    try:
        text_format.Parse(data.decode("utf-8"), empty.Empty(), allow_unknown_field=True)
    except (text_format.ParseError, UnicodeDecodeError, RecursionError) as error:
        first = str(error).partition("\n")[0][:200]
        raise _Bad(f"{path} is not a prototxt: {first}") from None


def _size(value: int, what: str) -> int:
    if not 0 < value <= _LARGEST_SIZE:
        raise _Bad(f"{what} is {value}")
    return value


def _window(options: Any, name: str, default: int | None) -> tuple[int, int]:
    """Returns height and width of kernel_size, stride or pad: given for both, for each, or by two names."""
    short = "kernel" if name == "kernel_size" else name
    both = list(getattr(options, name))
    height, width = getattr(options, f"{short}_h"), getattr(options, f"{short}_w")
    if height or width:
        return height, width
    if not both:
        if default is None:
            raise _Bad(f"no {name}")
        both = [default]
    return both[0], both[1] if len(both) > 1 else both[0]


def _windows(options: Any) -> dict[str, int]:
    kernel, stride, pad = (
        _window(options, name, default)
        for name, default in (("kernel_size", None), ("stride", 1), ("pad", 0))
    )
    for value in (*kernel, *stride):
        _size(value, "a size of its windows")
    if max(pad) > _LARGEST_SIZE:
        raise _Bad(f"its padding is {max(pad)}")
    return dict(zip(("kH", "kW", "dH", "dW", "padH", "padW"), (*kernel, *stride, *pad), strict=True))


def _shape(blob: Any) -> list[int]:
    if blob.HasField("shape"):
        return list(blob.shape.dim)
    return [blob.num, blob.channels, blob.height, blob.width]


def _numbers(blob: Any) -> np.ndarray:
    """Returns the numbers of a blob in float32, after checking their count against its shape."""
    double = not blob.data and len(blob.double_data) > 0
    data, kind = (blob.double_data, np.dtype("<f8")) if double else (blob.data, np.dtype("<f4"))
    shape = _shape(blob)
    if any(size < 0 for size in shape) or len(data) != math.prod(shape) * kind.itemsize:
        raise _Bad(f"sizes {shape} for {len(data)} bytes of numbers")
    return np.frombuffer(data, kind).astype(np.float32, copy=False)


def _convolution(layer: Any) -> dict[str, Any]:
    options = layer.convolution_param
    shape = _shape(layer.blobs[0])
    if len(shape) != 4:
        raise _Bad(f"a weight of sizes {shape}, not of four")
    groups = options.group or 1
    described = {**_windows(options), "groups": groups, "outputs": _size(shape[0], "its number of planes")}
    described["inputs"] = _size(shape[1] * groups, "its number of input planes")
    if [described["kH"], described["kW"]] != shape[2:]:
        raise _Bad(f"a weight of sizes {shape} for windows of {described['kH']} x {described['kW']}")
    if shape[0] % groups:
        raise _Bad(f"{shape[0]} planes in {groups} groups")
    if any(dilation != 1 for dilation in options.dilation):
        raise _Bad("it is dilated, which loadcaffe does not know")
    return described


def _pooling(layer: Any) -> dict[str, Any]:
    options = layer.pooling_param
    if options.pool not in _POOLS:
        raise _Bad(f"pooling of kind {options.pool}: 0 is max, 1 average, 2 stochastic")
    if options.global_pooling:
        raise _Bad("it pools whole planes, which loadcaffe does not know")
    return {"pool": _POOLS[options.pool], **_windows(options)}


def _inner_product(layer: Any) -> dict[str, Any]:
    shape = _shape(layer.blobs[0])
    if len(shape) < 2 or math.prod(shape[:-2]) != 1:
        raise _Bad(f"a weight of sizes {shape}, not a matrix")
    outputs, inputs = shape[-2:]
    return {
        "inputs": _size(inputs, "its number of inputs"),
        "outputs": _size(outputs, "its number of outputs"),
    }


def _lrn(layer: Any) -> dict[str, Any]:
    options = layer.lrn_param
    return {
        name: getattr(options, name) if options.HasField(name) else default
        for name, default in _LRN_DEFAULTS.items()
    }


def _dropout(layer: Any) -> dict[str, Any]:
    options = layer.dropout_param
    ratio = options.dropout_ratio if options.HasField("dropout_ratio") else 0.5
    if not 0 <= ratio < 1:
        raise _Bad(f"it drops {ratio}")
    return {"ratio": ratio}


_DESCRIBE = {
    "Convolution": _convolution,
    "Pooling": _pooling,
    "InnerProduct": _inner_product,
    "LRN": _lrn,
    "Dropout": _dropout,
}
_WITH_WEIGHTS = ("Convolution", "InnerProduct")


def _word(text: Any) -> Any:
    """Returns a name or kind as text; protobuf returns bytes where it is not UTF-8."""
    return text.decode("utf-8", "replace") if isinstance(text, bytes) else text


def _described(layer: Any, kind: str | None) -> dict[str, Any]:
    described: dict[str, Any] = {"name": _word(layer.name), "kind": kind, "type": _word(layer.type)}
    if kind in _WITH_WEIGHTS:
        if not layer.blobs:
            raise _Bad("it has no weights")
        described["shown"] = _shape(layer.blobs[0])
    if kind in _DESCRIBE:
        described |= _DESCRIBE[kind](layer)
    return described


def _layers(net: Any) -> Iterator[tuple[dict[str, Any], list[np.ndarray]]]:
    """Yields what a layer is, and its weight and bias."""
    old = len(net.layers) > 0
    for layer in net.layers if old else net.layer:
        kind = (_OLD_KINDS if old else _NEW_KINDS).get(layer.type)
        try:
            described = _described(layer, kind)
            blobs = [_numbers(blob) for blob in layer.blobs] if kind in _WITH_WEIGHTS else []
            if len(blobs) > 1 and len(blobs[1]) != described["outputs"]:
                raise _Bad(f"{len(blobs[1])} biases for {described['outputs']} outputs")
        except _Bad as problem:
            raise _Bad(f"layer {_word(layer.name)[:80]!r}: {problem}") from None
        yield described, blobs[:2]


def caffe_read(out: Out, prototxt: str, caffemodel: str) -> str:
    """Fills ``out`` (float) with the weights and biases of all layers, one after the other.

    Returns JSON: whether the file is of the old format (``old``), the number of its input sizes
    (``inputs``), and ``layers``, each with the lengths of its ``blobs``. Raises ValueError for files that are
    something else.
    """
    prototxt, path = from_lua(prototxt), from_lua(caffemodel)
    net = _net_class()()
    try:
        _check_text(prototxt)
        with open(path, "rb") as file:
            data = file.read()
        try:
            net.ParseFromString(data)
        except Exception as error:  # protobuf's DecodeError; ValueError for what it cannot hold
            raise _Bad(f"{path} is not a caffemodel: {error}") from None
        del data
        if not net.layers and not net.layer:
            raise _Bad(f"{path} is not a caffemodel: it has no layers")
        try:
            found = list(_layers(net))
        except _Bad as problem:
            raise _Bad(f"{path}: {problem}") from None
    except _Bad as problem:
        raise ValueError(to_lua(printable(f"loadcaffe: {problem}"))) from None
    out.resize_(sum(len(numbers) for _, blobs in found for numbers in blobs))
    start = 0
    for described, blobs in found:
        described["blobs"] = [len(numbers) for numbers in blobs]
        for numbers in blobs:
            out[start : start + len(numbers)] = torch.from_numpy(numbers.copy())
            start += len(numbers)
    old = len(net.layers) > 0
    inputs = len(net.input_dim) if old else 4 * len(net.input_shape)
    return json.dumps({"old": old, "inputs": inputs, "layers": [described for described, _ in found]})
