"""The process of ``th --sandbox``: loads Torch7, gives up what a script must not have, runs the script.

Called with two descriptors and the number of the process that wants the result: the order (JSON) is read from
the first; to the second go a line of JSON with the layers that hold when the script begins and, when it has
ended, a line of JSON and what the script returned.
"""

import json
import os
import signal
import sys
import traceback  # noqa: F401  (the interpreter needs it to report an error, and cannot load it any longer then)
from pathlib import Path

import lua_compat
from lua_compat.runtime.errors import LuaError
from lua_compat.sandbox.layers import Layers
from lua_compat.sandbox.limits import Limits
from lua_compat.sandbox.system_calls import end_with_parent

PACKAGES = ("torch", "paths", "sys", "xlua", "nn", "optim", "graph", "nngraph")

# Lua files next to the script that require can find.
_MOST_SOURCES = 500
_MOST_SOURCE_BYTES = 16 << 20

_OUT_OF_MEMORY = ("not enough memory", "can't allocate memory", "MemoryError", "Cannot allocate memory")


_LONGEST_MESSAGE = 1 << 16


def main() -> None:
    order_descriptor, report_descriptor, parent = map(int, sys.argv[1:4])
    _end_with(parent)
    with os.fdopen(order_descriptor, "rb") as pipe:
        order = json.loads(pipe.read())
    script = Path(order["script"])
    text = script.read_bytes().decode("latin-1")
    sources = {**_rocks(), **_sources_beside(script)}

    load_numpy_without_threads()
    import torch

    from lua_compat.runtime.state import Runtime

    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # PyTorch starts no other before it computes with more
    runtime = Runtime(str(script), order["args"], sandboxed=True)
    runtime.lock_down(PACKAGES, sources)
    warm_up()
    layers = Layers(order["without"])
    layers.enter_before_threads()
    torch.set_num_threads(threads)
    start_threads()
    held = layers.enter(Limits(**order["limits"]), report_descriptor)
    os.write(report_descriptor, json.dumps({"layers": held}).encode() + b"\n")
    message, result, code = "", None, 1
    try:
        code, result = runtime.run_for_result(_without_hash_bang(text), f"@{script}")
    except LuaError as error:
        message = str(error)
    except MemoryError:
        message = "MemoryError"
    ended = {
        "exit_code": code,
        "message": message[:_LONGEST_MESSAGE],
        "out_of_memory": any(text in message.partition("\n")[0] for text in _OUT_OF_MEMORY),
    }
    _write(report_descriptor, json.dumps(ended).encode() + b"\n" + (result or b""))
    sys.stdout.flush()
    os._exit(0)  # finalisers have nothing left to do, and the limits might make them fail


def _end_with(parent: int) -> None:
    """Ends this process with the one that wants its result, however that ends."""
    end_with_parent(signal.SIGKILL)
    if os.getppid() != parent:  # it had ended before
        os._exit(1)


def _rocks() -> dict[str, str]:
    """Returns our packages in plain Lua, which a script loads as its own files: they need no trust."""
    folder = Path(lua_compat.__file__).parent / "lua" / "rocks"
    found = {}
    for path in folder.rglob("*.lua"):
        name = ".".join(path.relative_to(folder).with_suffix("").parts)
        found[name.removesuffix(".init")] = path.read_text(encoding="utf-8")
    return found


def _sources_beside(script: Path) -> dict[str, str]:
    """Returns the Lua files in the script's folder and below, by the name that require gives them."""
    folder = script.resolve().parent
    found: dict[str, str] = {}
    left = _MOST_SOURCE_BYTES
    for path in sorted(folder.glob("*.lua")) + sorted(folder.glob("*/*.lua")):
        if len(found) >= _MOST_SOURCES:
            break
        data = _read_within(folder, path, left)
        if data is None:
            continue
        left -= len(data)
        parts = list(path.relative_to(folder).with_suffix("").parts)
        if parts[-1] == "init" and len(parts) > 1:
            parts.pop()
        found[".".join(parts)] = data.decode("latin-1")
    return found


def _read_within(folder: Path, path: Path, most: int) -> bytes | None:
    """Reads a file of at most ``most`` bytes; None for others, and for links that lead out of the folder."""
    try:
        real = path.resolve(strict=True)
        if not real.is_relative_to(folder) or not real.is_file():
            return None
        with real.open("rb") as file:
            data = file.read(most + 1)
    except (OSError, RuntimeError):  # not ours to read, gone, a circle of links
        return None
    return data if len(data) <= most else None


def _without_hash_bang(text: str) -> str:
    return "--" + text if text.startswith("#") else text


def load_numpy_without_threads() -> None:
    """Loads numpy, whose BLAS starts threads while it is loaded: Landlock would not hold them."""
    name = "OPENBLAS_NUM_THREADS"
    before = os.environ.get(name)
    os.environ[name] = "1"
    import numpy  # noqa: F401  (loads the library)

    del os.environ[name]  # PyTorch's own BLAS may be of the same kind
    if before is not None:
        os.environ[name] = before


def warm_up() -> None:
    """Loads what Python and PyTorch would load on first use: later no more files can be opened."""
    import torch

    a = torch.eye(64)
    torch.linalg.svd(a @ a)
    torch.einsum("ij,jk,kl->il", a, a, a)
    torch.nn.functional.conv2d(torch.ones(1, 1, 8, 8), torch.ones(1, 1, 3, 3))
    x = torch.ones(2, requires_grad=True)
    torch.autograd.grad((x * x).sum(), x)


def start_threads() -> None:
    """Has PyTorch start its threads: their memory is not the script's."""
    import torch

    torch.ones(1 << 20).add_(1)


def _write(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


if __name__ == "__main__":
    main()
