"""Files that libraries in C parse: those of Lua packages, and the result files of crosscheck."""

import io
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch

from convnet_benchmarks.commands.crosscheck.tree import load_results
from convnet_benchmarks.errors import UserError
from lua_compat.kernels.image.pictures import (
    image_decompress,
    image_file_size,
    image_read_file,
    image_read_ppm,
)
from lua_compat.kernels.packages.databases import Databases
from lua_compat.kernels.packages.magick.files import magick_read
from lua_compat.kernels.packages.matlab import matlab_load
from lua_compat.kernels.packages.npy import npy_kind, npy_names, npy_read

Make = Callable[[str, bytes], Path]  # a file of a name and its bytes


def _outcome(read: Callable[[], object]) -> str:
    """Returns what came of reading: ValueError and OSError are what a script is told of."""
    try:
        read()
    except (ValueError, OSError) as error:
        text = str(error)
        assert 0 < len(text) < 1000 and "\n" not in text, repr(text)[:300]
        return "error"
    return "value"


def matlab_seeds() -> list[bytes]:
    import scipy.io  # type: ignore[import-untyped]
    import scipy.sparse  # type: ignore[import-untyped]

    cells = np.empty((1, 3), object)
    cells[0] = [np.eye(2), "text", np.ones((1, 2), np.float32)]
    variables: dict[str, Any] = {
        "m": np.arange(12.0).reshape(3, 4), "u": np.array([[300]], np.uint16), "s": "words", "c": cells,
        "t": {"a": np.array([[4]]), "inner": {"b": "deep"}}, "z": np.array([[1 + 2j]]),
        "p": scipy.sparse.eye(3, format="csc"),
    }  # fmt: skip
    found = []
    for left_out in ({"z", "p"}, {"z"}, set("cp")):
        for packed, version in ((False, "5"), (True, "5"), (False, "4")):
            kept = {name: value for name, value in variables.items() if name not in left_out}
            if version == "4":
                kept = {name: kept[name] for name in "ms"}
            written = io.BytesIO()
            scipy.io.savemat(written, kept, format=version, do_compression=packed)
            found.append(written.getvalue())
    return found


def read_matlab(make: Make, data: bytes) -> str:
    path = str(make("case.mat", data))
    return _outcome(lambda: matlab_load(path, len(data) % 2 == 0))


def lmdb_seeds(make: Make) -> list[bytes]:
    import lmdb

    found = []
    for entries in (3, 300):
        path = make("seed.mdb", b"")
        path.unlink()
        with lmdb.open(str(path), 1 << 22, subdir=False, lock=False) as environment:
            with environment.begin(write=True) as transaction:
                for i in range(entries):
                    transaction.put(b"%04d" % i, b"v" * (30 if i % 50 else 9000))
            with environment.begin(write=True) as transaction:
                transaction.delete(b"0001")
        found.append(path.read_bytes().rstrip(b"\0"))
    return found


def read_lmdb(make: Make, data: bytes) -> str:
    path = str(make("case.mdb", data))
    calls = Databases().kernels()
    environment = None

    def read() -> None:
        nonlocal environment
        environment, problem = calls["lmdb_open"](path, 1 << 22, "NOSUBDIR NOLOCK", 0o600, 1, 3)
        _raise(problem)
        transaction, problem = calls["lmdb_begin"](environment, len(data) % 2 == 0, 0)
        _raise(problem)
        calls["lmdb_get"](transaction, "0002")
        if len(data) % 2 == 0:
            _raise(calls["lmdb_put"](transaction, "0200", "new" * 3000, True, False)[1])
        cursor, problem = calls["lmdb_cursor"](transaction)
        _raise(problem)
        how = "first"
        for _ in range(400):  # a damaged one may go round in circles
            if not calls["lmdb_move"](cursor, how, "", True)[0]:
                break
            how = "next"
        _raise(calls["lmdb_end"](transaction, True))

    try:
        return _outcome(read)
    finally:
        calls["lmdb_close"](environment or 0)


def _raise(problem: str | None) -> None:
    if problem is not None:
        raise ValueError(problem)


@cache
def _pictures() -> dict[str, bytes]:
    import PIL.Image

    draws = np.random.default_rng(1)
    pixels = draws.integers(0, 256, (9, 12, 3), np.uint8)
    picture = PIL.Image.fromarray(pixels)
    found = {}
    for kind in ("PNG", "JPEG", "PPM", "GIF", "BMP", "TIFF", "WEBP", "TGA", "ICO"):
        written = io.BytesIO()
        picture.save(written, kind)
        found[kind] = written.getvalue()
    for kind, mode in (("PNG", "P"), ("PNG", "1"), ("PNG", "I;16"), ("JPEG", "CMYK"), ("TIFF", "L")):
        written = io.BytesIO()
        picture.convert("L").convert("I;16").save(written, kind) if mode == "I;16" else picture.convert(
            mode
        ).save(written, kind)
        found[f"{kind} {mode}"] = written.getvalue()
    return found


def image_seeds() -> list[bytes]:
    text = b"P3\n# a picture\n2 2\n255\n1 2 3 4 5 6 7 8 9 10 11 12\n"
    return [data for kind, data in _pictures().items() if kind[:3] in ("PNG", "JPE", "PPM")] + [text]


def read_image(make: Make, data: bytes) -> str:
    path = str(make("case.png", data))
    _outcome(lambda: image_file_size(path))
    read = image_read_ppm if data[:1] == b"P" else image_read_file
    outcome = _outcome(lambda: read(path))
    if read is image_read_file:
        assert outcome == _outcome(lambda: image_decompress(data.decode("latin-1")))
    return outcome


def picture_seeds() -> list[bytes]:
    return list(_pictures().values())


def read_picture(make: Make, data: bytes) -> str:
    path = str(make("case.picture", data))
    return _outcome(lambda: magick_read(torch.empty(0), path, True, 0, 0))


def npy_seeds() -> list[bytes]:
    arrays = {"a": np.arange(6.0).reshape(2, 3), "b": np.asfortranarray(np.ones((2, 3), ">i4"))}
    found = []
    for array in arrays.values():
        written = io.BytesIO()
        np.save(written, array)
        found.append(written.getvalue())
    for save in (np.savez, np.savez_compressed):
        written = io.BytesIO()
        save(written, **arrays)  # type: ignore[arg-type]
        found.append(written.getvalue())
    return found


def read_npy(make: Make, data: bytes) -> str:
    path = str(make("case.npy", data))
    _outcome(lambda: npy_names(path))
    outcomes = {_outcome(lambda name=name: npy_kind(path, name)) for name in ("a", "b")}  # type: ignore[misc]
    outcomes.add(_outcome(lambda: npy_read(torch.empty(0), path, "a")))
    return "value" if "value" in outcomes else "error"


def tree_seeds() -> list[bytes]:
    from safetensors.torch import save

    state = {"w": torch.arange(12.0).view(3, 4), "b": torch.ones(3, dtype=torch.int64)}
    both = io.BytesIO()
    torch.save({"state": state, "n": 3, "list": ["a", 1.5]}, both)
    old = io.BytesIO()
    torch.save(state, old, _use_new_zipfile_serialization=False)
    text = b'{"a": [1, 2.5, [3]], "b": {"c": "text", "d": null}}'
    return [both.getvalue(), old.getvalue(), save(state), *npy_seeds(), text]


def read_tree(make: Make, data: bytes) -> str:
    """Reads as crosscheck does, by every ending that may be meant."""
    outcomes = set()
    for ending in ("pt", "safetensors", "npz", "npy", "json"):
        path = str(make(f"case.{ending}", data))
        try:
            load_results(path)
            outcomes.add("value")
        except UserError as error:
            assert str(error).isprintable() and 0 < len(str(error)) < 10_000
    return "value" if outcomes else "error"
