"""Caffe's files, written byte by byte: protobuf's wire format, by its specification."""

import struct

import numpy as np


def varint(number: int) -> bytes:
    written = bytearray()
    while number > 127:
        written.append(number & 127 | 128)
        number >>= 7
    return bytes(written) + bytes([number])


def field(number: int, value: int | float | str | bytes) -> bytes:
    """Returns a field: a whole number, a float32, or a text, message or packed list."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def fields(numbered: dict[int, int | float | str | bytes]) -> bytes:
    return b"".join(field(number, value) for number, value in numbered.items())


def blob(numbers: np.ndarray, old: bool) -> bytes:
    """Returns a BlobProto: four sizes in an old file, any number in a new one."""
    data = field(5, numbers.astype("<f4").tobytes())
    if not old:
        return field(7, field(1, b"".join(varint(size) for size in numbers.shape))) + data
    shape = (1,) * (4 - numbers.ndim) + numbers.shape
    return fields({place + 1: size for place, size in enumerate(shape)}) + data


# kind -> its number in old files, and the numbers of its options' field in old and new ones
_KINDS = {
    "Convolution": (4, 10, 106), "Data": (5, 11, 107), "Dropout": (6, 12, 108), "InnerProduct": (14, 17, 117),
    "LRN": (15, 18, 118), "Pooling": (17, 19, 121), "ReLU": (18, 30, 123), "Sigmoid": (19, 38, 124),
    "Softmax": (20, 39, 125), "TanH": (23, 37, 127),
}  # fmt: skip


def layer(
    name: str, kind: str, old: bool, options: bytes = b"", weights: tuple[np.ndarray, ...] = ()
) -> bytes:
    number, old_field, new_field = _KINDS[kind]
    blobs = b"".join(field(6 if old else 7, blob(each, old)) for each in weights)
    if old:
        return field(2, fields({4: name, 5: number}) + blobs + field(old_field, options))
    return field(100, fields({1: name, 2: kind}) + blobs + field(new_field, options))


PROTOTXT = """
name: "little"
input: "data"
input_dim: 1 input_dim: 3 input_dim: 8 input_dim: 8
layers { name: "conv1" type: CONVOLUTION bottom: "data" top: "conv1"
         convolution_param { num_output: 4 kernel_size: 3 pad: 1 } }
"""


def little_net(weights: dict[str, np.ndarray], old: bool) -> bytes:
    """Returns a caffemodel: two convolutions, a matrix, and a layer of each kind that loadcaffe knows.

    ``weights``: conv1 4x3x3x3, conv2 6x4x3x3, fc 5x54, each with its bias (``conv1_b`` ...); images 3x8x8.
    """

    def parameters(name: str) -> tuple[np.ndarray, np.ndarray]:
        return weights[name], weights[f"{name}_b"]

    sizes = b"".join(field(4, size) for size in (1, 3, 8, 8))
    shape = field(8, field(1, bytes([1, 3, 8, 8])))
    layers = [
        layer("data", "Data", old),
        layer("conv1", "Convolution", old, fields({1: 4, 4: 3, 3: 1}), parameters("conv1")),
        layer("relu1", "ReLU", old),
        layer("norm1", "LRN", old, fields({1: 3, 2: 0.0002, 3: 0.75})),
        layer("pool1", "Pooling", old, fields({1: 0, 2: 3, 3: 2})),
        layer("conv2", "Convolution", old, fields({1: 6, 11: 3, 12: 3, 9: 1, 10: 1}), parameters("conv2")),
        layer("tanh2", "TanH", old),
        layer("pool2", "Pooling", old, fields({1: 1, 2: 2, 3: 1})),
        layer("drop", "Dropout", old, field(1, 0.25)),
        layer("fc", "InnerProduct", old, field(1, 5), parameters("fc")),
        layer("sigmoid", "Sigmoid", old),
        layer("prob", "Softmax", old),
    ]
    return field(1, "little") + field(3, "data") + (sizes if old else shape) + b"".join(layers)


def random_weights(seed: int = 1) -> dict[str, np.ndarray]:
    """Returns the weights of ``little_net``."""
    draw = np.random.default_rng(seed)
    sizes = {"conv1": (4, 3, 3, 3), "conv2": (6, 4, 3, 3), "fc": (5, 54)}
    biases = {f"{name}_b": size[:1] for name, size in sizes.items()}
    return {
        name: draw.standard_normal(size).astype(np.float32) * 0.3 for name, size in (sizes | biases).items()
    }
