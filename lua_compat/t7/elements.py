"""The element types of Torch7's tensors and storages, and their numpy types."""

import numpy as np

# Torch7's name of the element type -> numpy's. A 'Cuda' type holds the same elements on a GPU; plain
# 'Cuda' is float.
_ELEMENTS = {
    "Byte": np.uint8,
    "Char": np.int8,
    "Short": np.int16,
    "Int": np.int32,
    "Long": np.int64,
    "Half": np.float16,
    "Float": np.float32,
    "Double": np.float64,
}
_PREFIXES = {**_ELEMENTS, **{f"Cuda{name}": dtype for name, dtype in _ELEMENTS.items()}, "Cuda": np.float32}

TENSOR_DTYPES: dict[str, np.dtype] = {f"torch.{name}Tensor": np.dtype(d) for name, d in _PREFIXES.items()}
STORAGE_DTYPES: dict[str, np.dtype] = {f"torch.{name}Storage": np.dtype(d) for name, d in _PREFIXES.items()}

_CPU_TENSOR_OF_DTYPE = {np.dtype(d): f"torch.{name}Tensor" for name, d in _ELEMENTS.items()}


def storage_typename(tensor_typename: str) -> str:
    """Returns 'torch.FloatStorage' for 'torch.FloatTensor'."""
    return tensor_typename.removesuffix("Tensor") + "Storage"


def tensor_typename(dtype: np.dtype) -> str:
    """Returns the CPU tensor type that holds ``dtype``; bool is held as Byte, as Torch7 does.

    Raises TypeError for an element type that Torch7 does not have.
    """
    native = dtype.newbyteorder("=")
    if native == np.bool_:
        return "torch.ByteTensor"
    try:
        return _CPU_TENSOR_OF_DTYPE[native]
    except KeyError:
        accepted = ", ".join(str(known) for known in _CPU_TENSOR_OF_DTYPE)
        raise TypeError(f"Torch7 has no tensor of {dtype}; it has {accepted}") from None
