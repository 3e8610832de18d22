"""numpy's files, .npy and .npz, without pickled objects."""

import os
import tokenize
import warnings
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

_UNREADABLE = (
    ValueError, OSError, EOFError, OverflowError, MemoryError, KeyError, TypeError, SyntaxError, RuntimeError,
    AttributeError, tokenize.TokenError, zipfile.BadZipFile, zlib.error,
)  # fmt: skip


class NumpyFileError(ValueError):
    """The file is broken, encrypted, claims to be larger than memory, or holds objects."""


@contextmanager
def _reading() -> Iterator[None]:
    """Turns what numpy raises for a damaged file, in a dozen classes, into NumpyFileError, and keeps its
    warnings back."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            yield
        except _UNREADABLE as error:
            if isinstance(error, OSError) and error.errno:  # the disk's, not the file's
                raise
            said = str(error).partition("\n")[0] or type(error).__name__
            raise NumpyFileError(said[:200]) from None


def load_numpy(path: str | os.PathLike[str], name: str | None = None) -> np.ndarray | dict[str, np.ndarray]:
    """Returns the array of a .npy; those of a .npz by name, or the one of ``name``.

    Raises NumpyFileError for what is no such file, OSError for one that cannot be reached.
    """
    with _reading(), open(path, "rb") as file:  # numpy forgets to close a broken one
        loaded = np.load(file, allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            return loaded
        if name is not None:
            return np.asarray(loaded[name])
        return {each: np.asarray(loaded[each]) for each in loaded.files}


def names_in_npz(path: str | os.PathLike[str]) -> list[str]:
    """Returns the names of a .npz. Raises as ``load_numpy``, for a .npy, too."""
    with _reading(), open(path, "rb") as file:
        return list(np.load(file, allow_pickle=False).files)
