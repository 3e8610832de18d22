"""What is fuzzed: for each kind of file the good ones to begin with, and what must come of a changed one."""

import atexit
import io
import json
import random
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from convnet_benchmarks.errors import UserError
from convnet_benchmarks.nets.engine.choice.effort import QUICK
from convnet_benchmarks.nets.engine.choice.times_file import VERSION
from convnet_benchmarks.nets.engine.choice.tuning import Tuner, machine_key
from convnet_benchmarks.results.load import load as load_results
from lua_compat import hdf5, t7
from lua_compat.kernels.packages.caffe import caffe_read
from lua_compat.sandbox import STOPPED, Limits, Outcome
from lua_compat.sandbox.result import read_outcome
from tests.fuzz import package_files
from tests.fuzz.mutation import mutated
from tests.helpers import caffe_files, made_results
from tests.helpers.places import DATA, GOLDEN
from tests.lua_compat.t7 import fuzz as t7_fuzz

Mutation = Callable[[bytes, random.Random], bytes]


@dataclass(frozen=True)
class Target:
    """``run`` reads bytes and returns 'value' or 'error'; whatever it raises is a defect."""

    seeds: Callable[[], list[bytes]]
    run: Callable[[bytes], str]
    mutate: Mutation
    modules: tuple[str, ...]  # whose coverage guides


@cache
def _folder() -> Path:
    """Returns a folder in memory, where there is one: each case is a file."""
    memory = Path("/dev/shm")
    made = Path(tempfile.mkdtemp(dir=memory if memory.is_dir() else None))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made


def _file(name: str, data: bytes) -> Path:
    path = _folder() / name
    path.write_bytes(data)
    path.chmod(0o600)
    return path


def _one_line(text: str) -> None:
    assert text.isprintable() and 0 < len(text) < 10_000, repr(text)[:300]


# .t7: a mutation and checks of its own


@cache
def _t7_files() -> list[tuple[str, bytes]]:
    return [(name, data) for name, data in t7_fuzz.seeds() if len(data) < t7_fuzz.LARGE]


def _mutate_t7(data: bytes, draws: random.Random) -> bytes:
    return t7_fuzz.mutate(data, _t7_files(), draws)


# .h5


def _hdf5_seeds() -> list[bytes]:
    rows = np.arange(120.0).reshape(30, 4)
    trees: tuple[dict[str, Any], ...] = (
        {"x": rows},
        {"n": {"y": np.ones((5, 2), "f4"), "deep": {"z": rows.astype("i8")}}},
        {},
    )
    found = []
    for tree in trees:
        for options in (None, hdf5.DataSetOptions(chunking=(5, 5), deflate=3)):
            if tree is trees[2] and options:
                continue
            hdf5.save(_folder() / "seed.h5", tree, options)
            found.append((_folder() / "seed.h5").read_bytes())
    return found


def _read_hdf5(data: bytes) -> str:
    try:
        hdf5.load(_file("case.h5", data))
    except hdf5.HDF5Error as error:
        _one_line(str(error))
        return "error"
    return "value"


# Result files: points of a sweep, JSON of a study, logs


def _points_seeds() -> list[bytes]:
    points = [made_results.point(net, 8, 80.0) for net in ("alexnet", "vgg16")]
    text = made_results.write(_folder() / "points.jsonl", *points, made_results.search("alexnet", 64))
    return [Path(text).read_bytes(), Path(made_results.write(_folder() / "p", points[0])).read_bytes()]


def _results_seeds() -> list[bytes]:
    documents = (made_results.benchmark(), made_results.ops(), made_results.flops())
    return [json.dumps(document).encode() for document in documents]


def _log_seeds() -> list[bytes]:
    paths = [*GOLDEN.glob("logs/*.log"), *DATA.glob("*.log"), DATA / "readme_excerpt.md"]
    return [path.read_bytes() for path in sorted(paths)]


def _read_results(name: str, data: bytes) -> str:
    try:
        load_results(str(_file(name, data)))
    except UserError as error:
        _one_line(str(error))
        return "error"
    return "value"


# Tuning times: damaged ones are measured again


@contextmanager
def _one_thread() -> Iterator[None]:
    """Has PyTorch compute with one thread: timing that takes no look at how busy the machine is."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def _tuning_seeds() -> list[bytes]:
    times = {"layer": {"slow": 2.5, "fast": 1.5, "never": float("inf")}, "other": {"slow": 1.0}}
    with _one_thread():
        machines = {machine_key(): times, "another machine": times}
    return [json.dumps({"version": VERSION, "machines": machines}, indent=1).encode()]


def _read_tuning(data: bytes) -> str:
    def prepare() -> Callable[[], None]:
        measured.append(None)
        return lambda: None

    measured: list[None] = []
    with _one_thread():
        tuner = Tuner(_file("tuning.json", data), QUICK)
        chosen = tuner.choose("layer", {"slow": prepare, "fast": prepare}).name
    assert chosen in ("slow", "fast")
    return "error" if measured else "value"


# What the sandbox's process sends back


def _channel_seeds() -> list[bytes]:
    table = t7.LuaTable({"n": 3, 1: t7.LuaTable({"a": 1, "b": "text"}), 2: "another",
                         3: t7.Tensor.from_numpy(np.arange(6.0).reshape(2, 3))})  # fmt: skip
    values = io.BytesIO()
    t7.save(values, table)
    opening = json.dumps({"layers": ["names", "limits"]}).encode()
    found = []
    ends = (("", False, values.getvalue()), ("an error", False, b""), ("", True, b""))
    for message, out_of_memory, data in ends:
        ended = {"exit_code": 0, "message": message, "out_of_memory": out_of_memory}
        found.append(opening + b"\n" + json.dumps(ended).encode() + b"\n" + data)
    return found


def _read_channel(data: bytes) -> str:
    outcome = read_outcome(data, 0, Limits())
    assert isinstance(outcome, Outcome) and isinstance(outcome.message, str)
    assert len(outcome.values) <= 1 << 14
    outcome.message.encode()
    return "error" if outcome.exit_code == STOPPED and outcome.message.startswith("stopped: ") else "value"


# Caffe's models


def _caffe_seeds() -> list[bytes]:
    small = {name: weights[:2] for name, weights in caffe_files.random_weights().items()}
    return [caffe_files.little_net(small, old) for old in (True, False)]


@cache
def _prototxt() -> str:
    """Returns the path of one that is read quickly: only its form is looked at."""
    return str(_file("case.prototxt", b'name: "little"'))


def _read_caffe(data: bytes) -> str:
    try:
        described = caffe_read(torch.empty(0), _prototxt(), str(_file("case.caffemodel", data)))
    except ValueError as error:
        _one_line(str(error).encode("latin-1").decode("utf-8"))  # it is for Lua, which has bytes
        return "error"
    assert isinstance(json.loads(described)["layers"], list)
    return "value"


def _plain(seeds: Callable[[], list[bytes]]) -> Mutation:
    kept = cache(seeds)
    return lambda data, draws: mutated(data, kept(), draws)


def _target(seeds: Callable[[], list[bytes]], run: Callable[[bytes], str], *modules: str) -> Target:
    return Target(seeds, run, _plain(seeds), modules)


def _of_package(read: Callable[[package_files.Make, bytes], str]) -> Callable[[bytes], str]:
    return partial(read, _file)


_APART = "lua_compat.kernels.packages"
_RESULTS = ("convnet_benchmarks.results", "convnet_benchmarks.points", "convnet_benchmarks.legacy.logs")

TARGETS = {
    "t7": Target(lambda: [data for _, data in _t7_files()], t7_fuzz.read, _mutate_t7, ("lua_compat.t7",)),
    "hdf5": _target(_hdf5_seeds, _read_hdf5, "lua_compat.hdf5"),
    "points": _target(_points_seeds, partial(_read_results, "case.jsonl"), *_RESULTS),
    "results": _target(_results_seeds, partial(_read_results, "case.json"), *_RESULTS),
    "logs": _target(_log_seeds, partial(_read_results, "case.log"), *_RESULTS),
    "tuning": _target(_tuning_seeds, _read_tuning, "convnet_benchmarks.nets.engine.choice.tuning"),
    "caffe": _target(_caffe_seeds, _read_caffe, "lua_compat.kernels.packages.caffe"),
    "matlab": _target(package_files.matlab_seeds, _of_package(package_files.read_matlab), _APART),
    "lmdb": _target(lambda: package_files.lmdb_seeds(_file), _of_package(package_files.read_lmdb), _APART),
    "image": _target(
        package_files.image_seeds, _of_package(package_files.read_image), "lua_compat.kernels.image"
    ),
    "magick": _target(
        package_files.picture_seeds,
        _of_package(package_files.read_picture),
        "lua_compat.kernels.packages.magick",
    ),
    "npy": _target(package_files.npy_seeds, _of_package(package_files.read_npy), "lua_compat.numpy_files"),
    "trees": _target(
        package_files.tree_seeds,
        _of_package(package_files.read_tree),
        "convnet_benchmarks.commands.crosscheck",
    ),
    "channel": _target(_channel_seeds, _read_channel, "lua_compat.sandbox.result", "lua_compat.t7"),
}
