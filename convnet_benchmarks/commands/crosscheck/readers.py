"""The contents of result files as Python values: one function for each kind of file, chosen by its suffix.

Raises UserError for a file that is broken or holds what its kind of file should not.
"""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from convnet_benchmarks.commands.crosscheck.exact_numbers import exact_type
from convnet_benchmarks.errors import UserError
from convnet_benchmarks.workload.pt_files import load_pt
from convnet_benchmarks.workload.torch7_models import is_t7_file, load_t7
from lua_compat.numpy_files import NumpyFileError, load_numpy

_LONGEST_REASON = 120


def _read_hdf5(path: str) -> Any:
    from lua_compat import hdf5

    try:
        return hdf5.load(path)
    except hdf5.HDF5Error as error:
        raise UserError(str(error)) from None


def _read_numpy(path: str) -> Any:
    try:
        return load_numpy(path)
    except (NumpyFileError, OSError) as error:
        raise UserError(f"{path}: not a numpy file of plain arrays ({_in_short(error)})") from None


def _in_short(error: BaseException) -> str:
    """Returns the first line of a foreign message, cut where it is long."""
    text = next(iter(str(error).splitlines()), type(error).__name__)
    return text if len(text) <= _LONGEST_REASON else f"{text[:_LONGEST_REASON]}..."


def _read_safetensors(path: str) -> Any:
    try:
        import safetensors
        from safetensors.torch import load_file
    except ImportError:
        raise UserError(f"{path}: needs the package safetensors (pip install safetensors)") from None
    try:
        return load_file(path)
    except (safetensors.SafetensorError, OSError) as error:
        raise UserError(f"{path}: not a safetensors file ({_in_short(error)})") from None


def _read_json(path: str) -> Any:

    try:
        with open(path, encoding="utf-8") as file:
            return _arrays(json.load(file))
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UserError(f"{path}: not a JSON file ({error})") from None
    except ValueError:  # from int(), which would take minutes
        most = sys.get_int_max_str_digits()
        raise UserError(f"{path}: holds a whole number of more than {most} digits") from None


def _arrays(value: Any) -> Any:
    """Turns JSON's nested lists of numbers into arrays, where they are rectangular."""
    if isinstance(value, dict):
        return {name: _arrays(child) for name, child in value.items()}
    if isinstance(value, list):
        if value and all(_is_number(number) for number in _flattened(value)):
            try:
                return np.asarray(value, _number_type(list(_flattened(value))))
            except (ValueError, OverflowError):  # ragged; or no type of numpy holds them
                pass
        return [_arrays(child) for child in value]
    return value


def _flattened(value: list[Any]) -> Iterator[Any]:
    for item in value:
        if isinstance(item, list):
            yield from _flattened(item)
        else:
            yield item


def _number_type(numbers: list[int | float]) -> type[np.float64 | np.int64 | np.uint64]:
    """Returns double, but for whole numbers that it would round; raises OverflowError where no type holds
    them.
    """
    whole = [number for number in numbers if isinstance(number, int)]
    if not whole or len(whole) < len(numbers):  # measured or computed: whole only by chance
        return np.float64
    dtype = exact_type(whole)
    if dtype is None:
        raise OverflowError
    return dtype


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


READERS: dict[str, Callable[[str], Any]] = {
    ".t7": load_t7,
    ".h5": _read_hdf5,
    ".hdf5": _read_hdf5,
    ".npz": _read_numpy,
    ".npy": _read_numpy,
    ".pt": load_pt,
    ".pth": load_pt,
    ".safetensors": _read_safetensors,
    ".json": _read_json,
}


def kind_of(path: str) -> str | None:
    """Returns the suffix that tells how a file is read: its own, or .t7 for what Torch7 wrote; None if
    neither."""
    suffix = Path(path).suffix.lower()
    if suffix in READERS:
        return suffix
    return ".t7" if is_t7_file(path) else None
