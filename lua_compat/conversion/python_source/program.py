"""A net as a Python file that needs only PyTorch, with its weights in a file next to it."""

import bisect
import itertools
import os
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import torch
from torch import Tensor, nn

from lua_compat.conversion.errors import ConversionError
from lua_compat.conversion.hooks import without_hooks
from lua_compat.conversion.python_source.blocks import block_classes, class_text
from lua_compat.conversion.python_source.building import Builder
from lua_compat.conversion.python_source.definitions import Definitions
from lua_compat.conversion.python_source.nodes import Block, Chain, Node
from lua_compat.conversion.state_files import save_state
from lua_compat.lua_modules import LuaModule
from lua_compat.whole_file import replaced_when_whole

_HEADER = '''"""A PyTorch net, written by convnet-benchmarks convert. It needs nothing but PyTorch{also}.

load() returns the net with the numbers in {weights}.
"""
'''
_LOAD = '''def load(weights: str | Path = WEIGHTS) -> Net:
    """Returns the net with the numbers in a file."""
    net = Net()
    net.load_state_dict({read})
{mode}    return net
'''


def weights_file(path: str | os.PathLike[str]) -> Path:
    """Returns where the weights of the net in ``path`` go: .pt if the package safetensors is missing."""
    return Path(path).with_suffix(".safetensors" if find_spec("safetensors") else ".pt")


def save_python(module: nn.Module, path: str | os.PathLike[str]) -> Path:
    """Writes ``module`` as Python text, and its weights next to it; returns the path of the weights.

    Raises ConversionError for a module that is neither PyTorch's nor made by ``to_torch``, that Lua computes,
    or that has a forward hook.
    """
    weights = weights_file(path)
    text, state = python_source(module, Path(path).stem, weights.name)
    save_state(state, weights)
    with replaced_when_whole(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
    return weights


def python_source(module: nn.Module, name: str, weights: str) -> tuple[str, dict[str, Tensor]]:
    """Returns the text of a file ``name``.py, and the state_dict of the net in it, for the file ``weights``.

    Raises ConversionError as ``save_python``.
    """
    if lua := sorted({each.typename for each in module.modules() if isinstance(each, LuaModule)}):
        raise ConversionError(f"Lua computes {', '.join(lua)}, which cannot run without it", "net")
    without_hooks(module, "net")
    definitions = Definitions()
    net = Builder(definitions).block(module, "net")
    state = dict(_state(net, ""))
    taken = {text.partition("(")[0].split()[-1] for text in definitions.texts} | {"Net"}
    classes = block_classes(net, taken)
    whole = class_text("Net", net, {}, [], _after(net, state))
    safe = weights.endswith(".safetensors")
    read = "load_file(weights)" if safe else "torch.load(weights, weights_only=True)"
    load = _LOAD.format(read=read, mode="".join(f"    {line}\n" for line in _mode(net)))
    imports = {"import torch", "from torch import nn", "from pathlib import Path", *definitions.imports}
    imports |= {"from safetensors.torch import load_file"} if safe else set()
    also = " and safetensors" if safe else ""
    head = _HEADER.format(also=also, weights=ascii(weights)[1:-1].replace('"', "'"))
    at = f"WEIGHTS = Path(__file__).with_name({weights!r})"
    parts = [f"{head}\n{_imports(imports)}\n\n{at}", *definitions.texts, *classes, whole, load]
    text = "\n\n\n".join(parts)
    try:
        compile(text, f"{name}.py", "exec")
    except (SyntaxError, RecursionError, MemoryError) as error:  # such as parts within parts, without end
        raise ConversionError(f"Python cannot read its text: {error}", "net") from None
    return text, state


def _imports(lines: set[str]) -> str:
    """Returns the imports in order: Python's own, an empty line, the others; names of one module together."""
    names: dict[str, set[str]] = {}
    plain = {line for line in lines if line.startswith("import ")}
    for line in lines - plain:
        _, module, _, name = line.split(maxsplit=3)
        names.setdefault(module, set()).add(name)
    plain |= {f"from {module} import {', '.join(sorted(found))}" for module, found in names.items()}

    def others(line: str) -> bool:
        return line.split()[1].partition(".")[0] in ("torch", "safetensors")

    def order(line: str) -> tuple[bool, bool, str]:
        return others(line), not line.startswith("import"), line

    groups = itertools.groupby(sorted(plain, key=order), key=others)
    return "\n\n".join("\n".join(group) for _, group in groups)


def _state(node: Node, prefix: str) -> Iterator[tuple[str, Tensor]]:
    """Yields a node's tensors, with their names in the written net."""
    if node.callee or not isinstance(node, Block | Chain):
        module = node.module
        for name, tensor in (*module._parameters.items(), *module._buffers.items()):  # some of them tied
            if tensor is not None and name not in module._non_persistent_buffers_set:
                yield f"{prefix}{name}", tensor.detach()
        for name, inner in module.named_children():
            if name not in node.children:
                yield from ((f"{prefix}{name}.{key}", value) for key, value in inner.state_dict().items())
    for name, child in node.children.items():
        yield from _state(child, f"{prefix}{name}.")


def _nodes(node: Node, prefix: str = "self") -> Iterator[tuple[str, Node]]:
    """Yields the inner nodes with the expressions that refer to them."""
    for name, child in node.children.items():
        place = f"{prefix}[{name}]" if name.isdigit() else f"{prefix}.{name}"
        yield place, child
        yield from _nodes(child, place)


def _after(net: Block, state: dict[str, Tensor]) -> list[str]:
    """Returns the lines that end the constructor: number types, shared parameters, and frozen ones."""
    found = {tensor.dtype for tensor in state.values() if tensor.is_floating_point()}
    most = max(found, key=lambda kind: sum(tensor.dtype == kind for tensor in state.values()), default=None)
    lines = [f"self.to({most})"] if most not in (None, torch.float32) or len(found) > 1 else []
    first: dict[int, str] = {}
    tied = _Tied()
    shared: list[str] = []
    for place, node in _nodes(net):
        if any(place.startswith((f"{one}.", f"{one}[")) for one in shared):
            continue
        if isinstance(node, Block | Chain) and not isinstance(node.module, nn.Module):
            continue
        known = first.setdefault(id(node.module), place)
        if known != place and not _is_part(known, place) and _has_memory(node.module):
            lines.append(f"{place} = {known}")
            shared.append(place)
            continue
        if isinstance(node, Block | Chain):
            continue
        for name, tensor in node.module.named_buffers(recurse=False, remove_duplicate=False):
            if tensor.is_floating_point() and tensor.dtype != most:
                lines.append(f"{place}.{name} = {place}.{name}.to({tensor.dtype})")
        for name, parameter in node.module.named_parameters(recurse=False, remove_duplicate=False):
            here = f"{place}.{name}"
            if parameter.dtype != most:
                lines.append(f"{here}.data = {here}.data.to({parameter.dtype})")
            lines += tied.lines(here, parameter)
            if not parameter.requires_grad:
                lines.append(f"{here}.requires_grad_(False)")
    return lines


def _is_part(whole: str, place: str) -> bool:
    return place.startswith((f"{whole}.", f"{whole}["))


def _has_memory(module: nn.Module) -> bool:
    """Returns whether it matters that a module is shared: not for PyTorch's layers without parameters."""
    known = module.__class__.__module__.startswith("torch.nn.")
    return not known or next(iter(module.state_dict()), None) is not None


class _Tied:
    """The parameters of a net by their memory, in which one may be a view of another."""

    def __init__(self) -> None:
        self._places: dict[int, str] = {}
        self._spans: dict[int, list[tuple[int, int, str, nn.Parameter]]] = {}  # by storage, in order

    def lines(self, here: str, parameter: nn.Parameter) -> list[str]:
        """Returns the line that ties a parameter to an earlier one, if any."""
        if id(parameter) in self._places:
            return [f"{here} = {self._places[id(parameter)]}"]
        self._places[id(parameter)] = here
        if not parameter.numel():
            return []
        first, last = _span(parameter)
        spans = self._spans.setdefault(parameter.untyped_storage()._cdata, [])
        place = bisect.bisect_right(spans, first, key=lambda span: span[0])
        for begin, end, other, holds in spans[max(place - 1, 0) : place + 1]:
            if last <= begin or end <= first:
                continue
            if not holds.is_contiguous() or first < begin or last > end:
                raise ConversionError("it shares a part of its memory with another parameter", here)
            size, stride = tuple(parameter.shape), parameter.stride()
            return [f"{here}.data = {other}.data.as_strided({size}, {stride}, {first - begin})"]
        spans.insert(place, (first, last, here, parameter))
        return []


def _span(tensor: Tensor) -> tuple[int, int]:
    """Returns the first element in the memory, and the one after the last."""
    first = int(tensor.storage_offset())
    reach = sum((n - 1) * step for n, step in zip(tensor.shape, tensor.stride(), strict=True))
    return first, first + int(reach) + 1


def _mode(net: Block) -> list[str]:
    """Returns the lines that give each layer the mode that it has."""
    training = net.module.training
    lines = [] if training else ["net.eval()"]
    for place, node in _nodes(net, "net"):
        if isinstance(node, Block | Chain):
            continue
        if node.module.training != training:
            lines.append(f"{place}.training = {node.module.training}")
    return lines
