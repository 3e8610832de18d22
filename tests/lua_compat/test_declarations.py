"""What is declared of nn's classes is what Torch7, the kernels, THNN and torch.nn have."""

import re
from pathlib import Path
from typing import Any

import pytest
from torch import nn

from lua_compat import run, t7
from lua_compat.conversion import ConversionError, from_torch, to_torch
from lua_compat.declarations import Declaration, declarations
from lua_compat.kernels import all_kernels
from lua_compat.runtime.state import LUA_FOLDER
from tests.helpers.commands import run_lua
from tests.helpers.places import DATA

NN_CLASSES = (DATA / "nn_classes.txt").read_text(encoding="utf-8")
SCALARS = {"number": float, "boolean": lambda text: text == "true", "string": str}
KINDS = {
    **dict.fromkeys(("whole", "index", "number", "scalar"), float),
    **dict.fromkeys(("flag", "truth", "exact"), bool),
    "text": str,
}


def parents() -> dict[str, str]:
    found = re.findall(r"^class (\w+) parent (\S+)", NN_CLASSES, re.MULTILINE)
    return {name: parent.removeprefix("nn.") for name, parent in found}


def literal(text: str) -> Any:
    text = text.strip()
    if text in ("true", "false"):
        return text == "true"
    return text[1:-1] if text[0] == "'" else float(text)


def fresh_modules() -> list[tuple[str, list[Any], dict[str, Any]]]:
    """Each constructor that Torch7 was given plain values: the class, the values, the fields it then had."""
    found = []
    for block in re.split(r"^fresh ", NN_CLASSES, flags=re.MULTILINE)[1:]:
        call = re.match(r"nn\.(\w+)\(((?:[\d.-]+|true|false|'\w+'|, )*)\) type", block)
        if call:
            values = [literal(text) for text in call[2].split(",") if text.strip()]
            rows = re.findall(r"^ +(\w+) = (number|boolean|string) (.*)$", block, re.MULTILINE)
            fields = {name: SCALARS[kind](value) for name, kind, value in rows}
            found.append((call[1], values, fields))
    return found


def test_every_class_of_torch7_is_declared_with_its_parent() -> None:
    for name, parent in parents().items():
        assert declarations()[name].base == parent or parent == "-", name


def expected_fields(declared: Declaration, values: list[Any]) -> dict[str, Any]:
    """The plain fields of a new module, of the kinds that are declared; none that were given a text."""
    found: dict[str, Any] = {}
    given = iter(values)
    for name, field in declared.fields.items():
        value = next(given, None) if field.role in ("argument", "own") else None
        if value is None:
            value = found.get(field.like) if field.like else field.default
        if field.role == "optional" and value is None:
            continue
        if field.role != "own" and (not isinstance(value, str) or value == field.default):
            found[name] = value
    return found


def test_a_new_module_has_the_fields_that_are_declared() -> None:
    compared = 0
    for name, values, recorded in fresh_modules():
        declared = declarations()[name]
        for field, value in expected_fields(declared, values).items():
            # an argument's name may be that of a field of another kind, as IndexLinear's normalize is
            if isinstance(recorded.get(field), KINDS.get(declared.fields[field].kind, ())):
                assert value == pytest.approx(recorded[field]), f"nn.{name}({values}).{field}"
                compared += 1
    assert compared > 250


def test_defaults_are_of_the_field_s_type() -> None:
    for name, declared in declarations().items():
        for field in declared.fields.values():
            for value in (field.default, field.absent):
                if value is not None and field.kind in KINDS:
                    kind = KINDS[field.kind]
                    as_declared = type(value) is kind or (kind is float and type(value) is int)
                    assert as_declared, f"{name}.{field.name}"
            assert field.like is None or field.like in declared.fields, f"{name}.{field.name}"


def kernels_of(declared: Declaration) -> list[str]:
    endings = {
        "plain": ["_gradient"],
        "pair": ["_gradients"],
        "weighted": ["_grad_input", "_grad_parameters"],
        "maxima": ["_grad_input"],
        "averages": ["_grad_input"],
    }[declared.kind or ""]
    return [f"{declared.kernel}{ending}" for ending in ["", *endings]]


def test_kernels_are_there_and_take_declared_fields() -> None:
    found = set()
    for name, declared in declarations().items():
        if not declared.kernel:
            continue
        found |= set(kernels_of(declared))
        for word in (declared.takes or "").split():
            plain = word == "..." or word[0] == "'" or word.isdigit()
            assert plain or word in declared.fields, f"{name}: {word}"
    assert len(found) >= 60
    assert found <= all_kernels().keys()


def test_thnn_s_functions_take_what_is_declared() -> None:
    lines = (DATA / "thnn_functions.txt").read_text(encoding="utf-8").splitlines()
    recorded = {name: arguments for name, *arguments in map(str.split, lines)}
    checked = 0
    for declared in declarations().values():
        for method, text in declared.thnn.items():
            function, words = f"{declared.thnn_name}_{method}", text.split()
            if function not in recorded:  # of a version of Torch7 before
                continue
            arguments = recorded[function]
            assert len(words) == len(arguments), function
            assert [w for w in words if w in arguments] == [a for a in arguments if a in words], function
            checked += 1
    assert checked > 120


def test_counterparts_are_there() -> None:
    named = [declared.torch_nn for declared in declarations().values() if declared.torch_nn]
    assert len(named) > 50
    assert [name for name in named if not isinstance(getattr(nn, name, None), type)] == []


def constructors() -> list[tuple[str, str]]:
    """The constructors that are written out in nn: the class's name and the text."""
    found = []
    for file in (Path(LUA_FOLDER) / "nn").rglob("*.lua"):
        text = file.read_text(encoding="utf-8")
        classes = dict(re.findall(r"^local (\w+)(?:, \w+)? = torch\.class\('nn\.(\w+)'", text, re.MULTILINE))
        for local, body in re.findall(r"^function (\w+):__init\((.*?)^end", text, re.MULTILINE | re.DOTALL):
            found.append((classes[local], body))
    return found


def test_no_constructor_has_a_default_that_is_declared() -> None:
    assert len(constructors()) > 40
    for name, body in constructors():
        if name in ("Module", "Criterion"):
            continue
        for field in declarations()[name].fields.values():
            if field.default is not None or field.like:
                given = rf"(?<!and )(?<!and self\.)\b{field.name}"
                set_here = rf"self\.{field.name} = (-?\d|'|{{|true|false)"
                by_hand = rf"{given} or |{given} (==|~=) (nil|false)|{set_here}"
                assert not re.search(by_hand, body), f"{name}: {field.name}"


def test_each_has_a_sentence() -> None:
    for name, declared in declarations().items():
        assert re.fullmatch(r"[\w(].*\.", declared.help), name


def test_a_family_is_declared_where_its_classes_are() -> None:
    for file in (Path(LUA_FOLDER) / "nn").glob("*/declarations.lua"):
        beside = "".join(path.read_text(encoding="utf-8") for path in file.parent.glob("*.lua"))
        assert file.parent.name in beside
    families = {declared.family for declared in declarations().values()}
    assert families == {file.parent.name for file in (Path(LUA_FOLDER) / "nn").glob("*/init.lua")}


SAVE = """
require 'nn'
local saved = {}
for _, expression in ipairs(dofile(arg[1])) do
   local ok, module = pcall(loadstring('return ' .. expression))
   if ok and not expression:find 'Copy' and not expression:find 'Profile' then saved[#saved + 1] = module end
end
torch.save(arg[2], saved)
"""


def converted(module: t7.TorchObject, changes: dict[str, Any]) -> str:
    fields = {**dict(module.fields.items()), **changes}
    kept = t7.LuaTable({name: value for name, value in fields.items() if value is not None})
    try:
        return repr(to_torch(t7.TorchObject(module.typename, module.version, kept)))
    except ConversionError as error:
        return str(error)


@pytest.fixture(scope="module")
def new_modules(tmp_path_factory: pytest.TempPathFactory) -> list[t7.TorchObject]:
    """A new module of each class of nn."""
    folder = tmp_path_factory.mktemp("new")
    script, saved = folder / "save.lua", folder / "modules.t7"
    script.write_text(SAVE)
    assert run(script, [str(DATA / "nn_constructors.lua"), str(saved)]) == 0
    modules: list[t7.TorchObject] = t7.load(saved).array()
    return modules


def test_a_written_module_has_all_fields_of_a_new_one(new_modules: list[t7.TorchObject]) -> None:
    compared = set()
    for module in new_modules:
        try:
            written = from_torch(to_torch(module))
        except ConversionError:  # has no counterpart
            continue
        if written.typename == module.typename:
            assert dict(module.fields.items()).keys() <= dict(written.fields.items()).keys(), module.typename
            compared.add(module.typename)
    assert len(compared) > 110


def test_a_file_without_a_field_means_what_is_declared(new_modules: list[t7.TorchObject]) -> None:
    compared = 0
    for module in new_modules:
        declared = declarations()[module.typename.removeprefix("nn.")]
        for name, field in declared.fields.items():
            value = declared.absent(name, module.get)
            if value is None or field.kind not in KINDS or module.get(name) is None:
                continue
            without, with_it = converted(module, {name: None}), converted(module, {name: value})
            if not without.endswith("is not supported"):  # such an old file
                assert without == with_it, f"{module.typename}.{name}"
                compared += 1
    assert compared > 150


def test_lua_reads_a_module_without_a_field_as_declared(tmp_path: Path) -> None:
    rows = [
        f"{{ '{name}', '{field.name}', {str(value).lower()} }}"
        for name, declared in declarations().items()
        for field in declared.fields.values()
        for value in [declared.absent(field.name, lambda _: None)]
        if value is not None and field.name in (declared.takes or "").split()
    ]
    assert len(rows) > 60
    code = f"""
        require 'nn'
        local reader = require('nn.shared.declared').reader
        for _, row in ipairs{{ {", ".join(rows)} }} do
           local name, field, value = unpack(row)
           local module = setmetatable({{}}, {{ __index = function(_, key)
              if key ~= field then return key:find('^pad') and 0 or 2 end
           end }})
           local read = reader(name, field)(module)
           assert(read == value, ('%s.%s: %s'):format(name, field, tostring(read)))
        end
    """
    run_lua(tmp_path, code)
