"""The source text of our classes and functions, for a self-contained file.

It is taken from the modules that define them, so that it exists only once. Fields that a Torch7Module
declares become the arguments of an ordinary constructor, and layers no longer work in place.
"""

import ast
import functools
import inspect
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from torch import Tensor, nn

from lua_compat.conversion.errors import ConversionError
from lua_compat.torch_modules.base import InPlace, Torch7Module, declared_fields, is_parameter

_OURS = ("lua_compat", "convnet_benchmarks")
_COMMON = {"nn": "from torch import nn", "Tensor": "from torch import Tensor"}
_NOTES = re.compile(r"  # (?:type: ignore|fmt: skip|noqa).*")


def is_ours(module_name: str) -> bool:
    return module_name.partition(".")[0] in _OURS


@dataclass
class Definitions:
    """Collects texts, each after those that it uses, and the imports that they need."""

    texts: list[str] = field(default_factory=list)
    imports: set[str] = field(default_factory=set)
    _known: dict[str, str] = field(default_factory=dict)  # names, and their modules

    def need(self, thing: Any, parts: Mapping[str, Any] | None = None) -> str:
        """Adds a class or function; returns its name.

        ``parts``: what a module's constructor made. It becomes one that takes them; where there are none, it
        is the base's.
        """
        name: str = thing.__name__
        self._add(thing.__module__, name, parts)
        return name

    def _add(self, module_name: str, name: str, parts: Mapping[str, Any] | None = None) -> None:
        node = _names(module_name).get(name)
        if isinstance(node, ast.Import | ast.ImportFrom):
            self._import(node, name)
        elif node is None:
            if name in _COMMON:
                self.imports.add(_COMMON[name])
        elif name not in self._known:
            self._known[name] = module_name
            text = _text(module_name, name, node, parts)
            for used in _used(text):
                if used != name:
                    self._add(module_name, used)
            self.texts.append(text)
        elif self._known[name] != module_name:
            raise ConversionError(
                f"of {self._known[name]} and of {module_name}: two things of one name", name
            )

    def _import(self, node: ast.Import | ast.ImportFrom, name: str) -> None:
        alias = next(each for each in node.names if (each.asname or each.name) == name)
        if isinstance(node, ast.ImportFrom) and is_ours(node.module or ""):
            self._add(str(node.module), alias.name)
            return
        bound = f"{alias.name} as {alias.asname}" if alias.asname else alias.name
        self.imports.add(
            f"from {node.module} import {bound}" if isinstance(node, ast.ImportFrom) else f"import {bound}"
        )


@functools.cache
def _source(module_name: str) -> str:
    return inspect.getsource(import_module(module_name))


@functools.cache
def _names(module_name: str) -> dict[str, ast.stmt]:
    """Returns the statements that define a module's names."""
    found: dict[str, ast.stmt] = {}
    for node in ast.parse(_source(module_name)).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found[node.name] = node
        elif isinstance(node, ast.Assign):
            found.update({target.id: node for target in node.targets if isinstance(target, ast.Name)})
        elif isinstance(node, ast.Import | ast.ImportFrom):
            found.update({alias.asname or alias.name: node for alias in node.names})
    return found


def _used(text: str) -> list[str]:
    """Returns the names in a text, in order, without duplicates."""
    nodes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)]
    return list(dict.fromkeys(node.id for node in nodes))


def _lines(module_name: str, node: ast.stmt) -> str:
    decorators = getattr(node, "decorator_list", [])
    first = min([node.lineno, *(each.lineno for each in decorators)])
    lines = _source(module_name).splitlines()[first - 1 : node.end_lineno]
    return "\n".join(_NOTES.sub("", line) for line in lines)


def _text(module_name: str, name: str, node: ast.stmt, parts: Mapping[str, Any] | None) -> str:
    found = getattr(import_module(module_name), name)
    if parts is not None and isinstance(node, ast.ClassDef):
        return _class_of_parts(module_name, node, parts)
    plain = not isinstance(node, ast.ClassDef) or not issubclass(found, Torch7Module | InPlace)
    return _lines(module_name, node) if plain else _plain_class(module_name, node, found)  # type: ignore[arg-type]


def assigned_names(kind: type) -> list[str]:
    """Returns the attributes that a class's own constructor sets, in order."""
    node = _names(kind.__module__)[kind.__name__]
    found = [
        inner for inner in ast.walk(node) if isinstance(inner, ast.FunctionDef) and inner.name == "__init__"
    ]
    names: dict[str, None] = {}
    for inner in (inner for constructor in found for inner in constructor.body):
        for target in inner.targets if isinstance(inner, ast.Assign) else ():
            if isinstance(target, ast.Attribute) and ast.unparse(target.value) == "self":
                names[target.attr] = None
    return list(names)


def _class_of_parts(module_name: str, node: ast.ClassDef, parts: Mapping[str, Any]) -> str:
    """Returns the text of a class whose constructor takes what its own made."""
    lines = _signature([f"{name}: {_kind_of(value)}" for name, value in parts.items()])
    lines.append("        super().__init__()")
    lines += [f"        self.{name} = {_set_as(name, value)}" for name, value in parts.items()]
    texts = []
    for statement in node.body:
        if not isinstance(statement, ast.FunctionDef) or statement.name != "__init__":
            texts.append(_lines(module_name, statement))
        elif parts:
            texts.append("\n".join(lines))
    return f"class {node.name}({', '.join(map(ast.unparse, node.bases))}):\n" + "\n\n".join(texts)


def _kind_of(value: Any) -> str:
    if isinstance(value, nn.Module | Tensor):
        return "nn.Module" if isinstance(value, nn.Module) else "Tensor"
    return type(value).__name__


def _set_as(name: str, value: Any) -> str:
    return f"nn.Parameter({name})" if isinstance(value, nn.Parameter) else name


def _plain_class(module_name: str, node: ast.ClassDef, kind: type) -> str:
    """Returns the text of a Torch7Module as a class with a constructor."""
    bases = [ast.unparse(base) for base in node.bases if ast.unparse(base) != InPlace.__name__]
    named = ["nn.Module" if base == Torch7Module.__name__ else base for base in bases]
    head, methods = [], []
    constructor: list[str] = []
    for statement in node.body:
        if isinstance(statement, ast.AnnAssign) or _is_typename(statement):
            continue
        if isinstance(statement, ast.FunctionDef):
            is_constructor = statement.name == "__init__" and own_fields(kind)
            if is_constructor:
                constructor = [_lines(module_name, each) for each in statement.body[1:]]
            else:
                methods.append(_lines(module_name, statement))
        else:
            head.append(_lines(module_name, statement))
    if own_fields(kind):
        methods.insert(0, "\n".join([*_constructor(node, kind), *constructor]))
    parts = ["\n".join(head)] if head else []
    body = "\n\n".join([*parts, *methods]) or "    pass"
    return f"class {node.name}({', '.join(named)}):\n{body}"


def _is_typename(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "typename"


def own_fields(kind: type) -> dict[str, Any]:
    """Returns the fields that the class itself declares."""
    return {name: each for name, each in inspect.get_annotations(kind).items() if name != "typename"}


def _constructor(node: ast.ClassDef, kind: Any) -> list[str]:
    """Returns the lines of a constructor that takes all fields and sets the class's own."""
    fields = declared_fields(kind)
    own = own_fields(kind)
    inherited = {name for base in kind.__bases__ for name in declared_fields(base)}
    required, optional = [], []
    for name, kind_of_field in fields.items():
        what = f"{name}: {_annotation(kind, name)}"
        if has_default(kind, name, kind_of_field):
            default = None if is_parameter(kind_of_field) else getattr(kind, name)
            optional.append(f"{what} = {default!r}")
        else:
            required.append(what)
    lines = _signature([*required, *optional])
    handed_on = ", ".join(f"{name}={name}" for name in fields if name in inherited)
    lines.append(f"        super().__init__({handed_on})")
    for name, kind_of_field in own.items():
        if name in inherited:
            continue
        if kind_of_field is nn.Parameter:
            lines.append(f"        self.{name} = nn.Parameter({name})")
        elif is_parameter(kind_of_field):
            lines.append(f"        self.{name} = None if {name} is None else nn.Parameter({name})")
        else:
            lines += _set(name, _annotation(kind, name))
    return lines


def _set(name: str, annotation: str) -> list[str]:
    """Returns the lines that set a field which is no parameter; a tensor is a buffer."""
    assign, register = f"self.{name} = {name}", f'self.register_buffer("{name}", {name})'
    if annotation == "Tensor":
        return [f"        {register}"]
    if "Tensor" in annotation:
        return [
            f"        if isinstance({name}, Tensor):",
            f"            {register}",
            "        else:",
            f"            {assign}",
        ]
    return [f"        {assign}"]


def _signature(arguments: list[str]) -> list[str]:
    line = f"    def __init__(self, {', '.join(arguments)}) -> None:"
    if len(line) <= 100:
        return [line]
    return [
        "    def __init__(",
        "        self,",
        *(f"        {each}," for each in arguments),
        "    ) -> None:",
    ]


def has_default(kind: Any, name: str, kind_of_field: Any) -> bool:
    """Returns whether a field is optional."""
    if is_parameter(kind_of_field):
        return kind_of_field is not nn.Parameter
    return name in {key for base in kind.__mro__ if base not in nn.Module.__mro__ for key in vars(base)} and (
        not issubclass(kind, InPlace) or name != "inplace"
    )


def _annotation(kind: type, name: str) -> str:
    """Returns a field's annotation as text; a parameter is made of a Tensor."""
    for base in kind.__mro__:
        if name in inspect.get_annotations(base):
            node = _names(base.__module__)[base.__name__]
            assert isinstance(node, ast.ClassDef)
            found = next(
                each.annotation
                for each in node.body
                if isinstance(each, ast.AnnAssign) and ast.unparse(each.target) == name
            )
            return ast.unparse(found).replace("nn.Parameter", "Tensor")
    raise KeyError(name)
