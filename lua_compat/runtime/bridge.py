"""Tensors that Lua holds, and kernels as functions Lua can call.

Lua never sees a Python object that is a tensor: it holds numbers, the handles of this table. A kernel is
a plain function of tensors and numbers; its annotations say which arguments arrive as handles:

- ``Tensor``: a handle; ``Tensor | None``: 0 stands for None; ``*tensors: Tensor``: any number of handles.
- ``Out``: a handle of a tensor that the kernel may resize (``resize_``). If it did, Lua gets the new
  shape and the storage's address.
- ``Workspace``: not an argument for Lua: the Lua state's own is passed.
- ``int``, ``float``, ``Scalar``, ``bool``, ``str``: Lua converts a script's arguments to these
  (lua/torch/core/kernels.lua).
"""

import functools
import inspect
import types
import typing
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from lua_compat.kernels.element_types import DTYPES, HOST_TYPES, TYPE_NAMES, dtype_of
from lua_compat.kernels.results import Out, Scalar
from lua_compat.kernels.strings import from_lua
from lua_compat.kernels.workspace import Workspace
from lua_compat.runtime.slabs import Slabs

_UNCHANGED = -1
_LETTERS = {
    frozenset({int}): "i",
    frozenset({float}): "d",
    frozenset({int, float}): "d",
    frozenset({bool}): "b",
    frozenset({str}): "s",
}
_MORE = {"i": "#", "d": "+", "s": "$"}
FAILED = "\0failed"  # in place of a kernel's result


class Handles:
    """The tensors of one Lua state, by handle. Handle 0 is None.

    ``slabs``: memory that Lua allocates for tensors. ``cuda``: the device of CUDA tensors ('cuda', or 'cpu'
    to run CUDA scripts there); None: there are no such types. ``timing``: see ``Workspace``.
    """

    def __init__(self, slabs: Slabs, cuda: str | None = None, timing: bool = True) -> None:
        self.cuda = cuda
        self.tensors: list[Tensor | None] = [None]
        self._free: list[int] = []
        self._slabs = slabs
        self.workspace = Workspace(timing)
        self._error: BaseException | None = None

    def __len__(self) -> int:
        """Returns how many handles are alive."""
        return len(self.tensors) - 1 - len(self._free)

    def keep_error(self, error: BaseException) -> str:
        """Keeps the error of a kernel that has resized tensors, for ``raise_kept``; returns FAILED."""
        self._error = error
        return FAILED

    def raise_kept(self) -> None:
        """Raises the error that was kept."""
        error, self._error = self._error, None
        if error is not None:
            raise error

    def add(self, tensor: Tensor) -> int:
        if self._free:
            handle = self._free.pop()
            self.tensors[handle] = tensor
            return handle
        self.tensors.append(tensor)
        return len(self.tensors) - 1

    def release(self, *handles: int) -> None:
        for handle in handles:
            self.tensors[handle] = None
        self._free.extend(handles)

    def tensor(self, handle: int) -> Tensor:
        held = self.tensors[handle]
        assert isinstance(held, Tensor), "a released handle was used"
        return held

    def new(self, code: int, *size: int) -> tuple[int, int, int]:
        """Makes a contiguous tensor of uninitialized memory; returns its handle, its storage's handle, its
        address."""
        tensor = self._made(code, *size)
        return self.add(tensor), self.add(tensor), tensor.data_ptr()

    def _made(self, code: int, *size: int) -> Tensor:
        return torch.empty(size, dtype=dtype_of(code), device=None if code <= HOST_TYPES else self.cuda)

    def slab_storage(self, address: int, code: int, count: int) -> int:
        """Returns a handle for ``count`` elements in a slab: a storage that cannot grow."""
        memory, offset = self._slabs.at(address)
        return self.add(torch.frombuffer(memory, dtype=dtype_of(code), count=count, offset=offset))

    def empty(self, code: int) -> int:
        """Makes a tensor without elements and without a storage; returns its handle."""
        return self.add(self._made(code, 0))

    def storage_of(self, handle: int) -> int:
        """Returns a handle for the storage of a tensor: what keeps the storage alive."""
        return self.add(self.tensor(handle))

    def storage_resize(self, handle: int, count: int) -> int:
        """Grows a storage to ``count`` elements, contents kept; returns its address, perhaps a new
        one."""
        tensor = self.tensor(handle)
        tensor.untyped_storage().resize_(count * tensor.element_size())
        return tensor.untyped_storage().data_ptr()

    def storage_map(self, code: int, filename: str, shared: bool, count: int) -> tuple[int, int, int]:
        """Maps a file as a storage; returns its handle, address and number of elements. ``count`` 0: the
        whole file."""
        filename = from_lua(filename)
        itemsize = torch.empty(0, dtype=DTYPES[code]).element_size()
        if count == 0:
            with open(filename, "rb") as file:
                count = file.seek(0, 2) // itemsize
        tensor = torch.from_file(filename, shared=shared, size=count, dtype=DTYPES[code])
        return self.add(tensor), tensor.data_ptr(), count

    def view(self, handle: int, offset: int, *sizes_then_strides: int) -> int:
        """Returns a handle for a view of a storage; ``offset`` counts elements from the storage's start."""
        half = len(sizes_then_strides) // 2
        size, stride = sizes_then_strides[:half], sizes_then_strides[half:]
        return self.add(torch.as_strided(self.tensor(handle), size, stride, offset))


def _is_tensor(annotation: Any) -> bool:
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        return Tensor in typing.get_args(annotation)
    return annotation is Tensor or annotation == Out


def _lua_parameters(kernel: Callable[..., Any]) -> list[inspect.Parameter]:
    parameters = _parameters(kernel)
    return parameters[1:] if _wants_workspace(kernel) else parameters


def _wants_workspace(kernel: Callable[..., Any]) -> bool:
    parameters = _parameters(kernel)
    return len(parameters) > 0 and parameters[0].annotation is Workspace


def _parameters(kernel: Callable[..., Any]) -> list[inspect.Parameter]:
    # Not cached: methods belong to one Lua state.
    return _kept_parameters(kernel) if isinstance(kernel, types.FunctionType) else _read_parameters(kernel)


def _read_parameters(kernel: Callable[..., Any]) -> list[inspect.Parameter]:
    return list(inspect.signature(kernel).parameters.values())


# Cached, because every thread of a script has a Lua state that needs them.
_kept_parameters = functools.cache(_read_parameters)


@functools.cache
def _compiled(source: str) -> types.CodeType:
    return compile(source, "<adapter of a kernel>", "exec")


def kernel_signature(kernel: Callable[..., Any]) -> str:
    """Returns one letter per argument.

    t: tensor, o: resized tensor, i: whole number, d: number, n: number or a text of one, b: boolean,
    s: string; I, D, S: the same, may be left out. At the end ``*``: more tensors, ``#``: more whole numbers,
    ``+``: more numbers, ``$``: more strings. A workspace, the first argument, is not among them.
    """
    return "".join(_letter(parameter) for parameter in _lua_parameters(kernel))


def _letter(parameter: inspect.Parameter) -> str:
    is_last = parameter.kind is inspect.Parameter.VAR_POSITIONAL
    if _is_tensor(parameter.annotation):
        return "*" if is_last else "o" if parameter.annotation == Out else "t"
    if parameter.annotation == Scalar:
        return "n"
    kinds = set(typing.get_args(parameter.annotation)) or {parameter.annotation}
    letter = _LETTERS[frozenset(kinds - {types.NoneType})]
    if is_last:
        return _MORE[letter]
    is_optional = parameter.default is not inspect.Parameter.empty or types.NoneType in kinds
    return letter.upper() if is_optional and letter != "b" else letter


def _state(tensor: Tensor) -> tuple[torch.Size, tuple[int, ...], int]:
    return tensor.shape, tensor.stride(), tensor.untyped_storage().data_ptr()


def _keep_inside(tensor: Tensor, before: tuple[torch.Size, tuple[int, ...], int]) -> None:
    """Gives a tensor back the sizes of ``before`` where it reaches outside its storage.

    PyTorch changes the sizes first, then requests the memory: where there is none, the new sizes stay.
    """
    if tensor.numel() == 0:
        return
    last = tensor.storage_offset()
    for size, stride in zip(tensor.shape, tensor.stride(), strict=True):
        last += (size - 1) * stride
    storage = tensor.untyped_storage()
    if (last + 1) * tensor.element_size() > storage.nbytes():
        tensor.set_(storage, tensor.storage_offset(), *before[:2])


def _layout(tensor: Tensor, before: tuple[torch.Size, tuple[int, ...], int]) -> tuple[int, ...]:
    if _state(tensor) == before:
        return (_UNCHANGED,)
    storage = tensor.untyped_storage()
    count = storage.nbytes() // tensor.element_size()
    return (tensor.dim(), storage.data_ptr(), count, *tensor.shape, *tensor.stride())


# What PyTorch or Python raises where tensors do not fit together; our kernels raise ValueError in own words.
_MISFITS = (
    RuntimeError, IndexError, TypeError, AttributeError, NotImplementedError, AssertionError, ValueError
)  # fmt: skip
_UNPACKED = "values to unpack"  # in Python's ValueError for sizes of another number of dimensions
# Of these lua_compat/runtime/state.py tells Lua, or CUDA's own words do.
_TOLD = ("CUDA", "allocate memory", "ZeroDivisionError", "not implemented for")


def _misfit(error: Exception, name: str, tensors: list[Tensor | None]) -> Exception:
    """Returns the error that Lua sees in place of one in PyTorch's or Python's words."""
    if isinstance(error, torch.OutOfMemoryError) or any(words in str(error) for words in _TOLD):
        return error
    if isinstance(error, ValueError) and _UNPACKED not in str(error):
        return error
    shown = [
        f"{TYPE_NAMES.get(t.dtype, t.dtype)}[{'x'.join(map(str, t.shape))}]" for t in tensors if t is not None
    ]
    what = " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown) or "arguments"
    return ValueError(f"{name.replace('_', ' ')}: invalid sizes, types or numbers for {what}")


def _in_float(kernel: Callable[..., Any], *arguments: Any) -> Any:
    """Calls a kernel that PyTorch lacks for half precision with floats in place of halves; rounds what it
    wrote."""
    floats = {id(t): (t, t.float()) for t in arguments if isinstance(t, Tensor) and t.dtype == torch.float16}
    result = kernel(*(floats[id(t)][1] if id(t) in floats else t for t in arguments))
    for half, computed in floats.values():
        if half.shape != computed.shape:
            half.resize_(computed.shape)
        half.copy_(computed)
    return result


def for_lua(kernel: Callable[..., Any], handles: Handles, name: str = "kernel") -> Callable[..., Any]:
    """Returns ``kernel`` as a function that takes handles in place of tensors; ``name`` is for errors.

    If a resized tensor changed, the result is (result, layout of each Out...); a layout is -1 (unchanged)
    or dimensions, storage address, storage elements, sizes..., strides... That is so, too, where the kernel
    raised an error afterwards: Lua must know where the memory lies now. Then the result is FAILED, and
    ``raise_kept`` raises the error.
    """
    signature = kernel_signature(kernel)
    names = [f"a{i}" for i in range(len(signature))]
    looked_up = {"t": "tensors[{}]", "o": "tensors[{}]"}
    passed = [looked_up.get(letter, "{}").format(n) for n, letter in zip(names, signature, strict=True)]
    parameters = list(names)
    if signature.endswith(("*", *_MORE.values())):
        parameters[-1] = "*" + names[-1]
        passed[-1] = f"*[tensors[h] for h in {names[-1]}]" if signature.endswith("*") else "*" + names[-1]
    outs = [name for name, letter in zip(names, signature, strict=True) if letter == "o"]
    defaults = [p.default for p in _lua_parameters(kernel)]
    parameters = [
        f"{n}={default!r}" if default is not inspect.Parameter.empty else n
        for n, default in zip(parameters, defaults, strict=True)
    ]
    call = f"kernel({', '.join(passed)})"
    lines = [f"def adapter({', '.join(parameters)}):"]
    lines += [f"    before_{o} = state(tensors[{o}])" for o in outs]
    given = [text for text, letter in zip(passed, signature, strict=True) if letter in "ot*"]
    computing = [
        "try:",
        f"    result = {call}",
        "except misfits as error:",
        "    if \"not implemented for 'Half'\" not in str(error):",
        f"        raise misfit(error, name, [{', '.join(given)}]) from error",
        f"    result = in_float(kernel{''.join(', ' + text for text in passed)})",
    ]
    if outs:
        same = " and ".join(f"state(tensors[{o}]) == before_{o}" for o in outs)
        layouts = ", ".join(f"*layout(tensors[{o}], before_{o})" for o in outs)
        lines += ["    try:", *("        " + line for line in computing)]
        lines += [
            "    except BaseException as error:",
            *(f"        keep_inside(tensors[{o}], before_{o})" for o in outs),
            f"        if {same}: raise",
            f"        return keep_error(error), {layouts}",
            f"    if {same}: return result",
            f"    return result, {layouts}",
        ]
    else:
        lines += ["    " + line for line in [*computing, "return result"]]
    if _wants_workspace(kernel):
        kernel = functools.partial(kernel, handles.workspace)
    # A closure made for the signature: a loop over annotations would cost more than most small kernels.
    scope: dict[str, Any] = {
        "kernel": kernel,
        "tensors": handles.tensors,
        "layout": _layout,
        "state": _state,
        "misfits": _MISFITS,
        "misfit": _misfit,
        "in_float": _in_float,
        "keep_error": handles.keep_error,
        "keep_inside": _keep_inside,
        "name": name,
    }
    exec(_compiled("\n".join(lines)), scope)
    return typing.cast(Callable[..., Any], scope["adapter"])
