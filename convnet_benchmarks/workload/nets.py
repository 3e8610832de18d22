"""The nets that ``--net`` can name: of the registry, a function of the user's, a Torch7 model in a file."""

import ast
import contextlib
import copy
import importlib
import importlib.util
import inspect
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from convnet_benchmarks.errors import UserError, did_you_mean
from convnet_benchmarks.nets import registry
from convnet_benchmarks.nets.net import LIST, Input, InputSize, Net
from convnet_benchmarks.workload.author_errors import described
from convnet_benchmarks.workload.torch7_models import is_t7_file, load_module, without_lua_files

if TYPE_CHECKING:
    from torch import nn

FORMS = (
    "a name of benchmark.py --list-nets, module:function, file.py:function, file.py:function(64, depth=2), "
    "or a Torch7 model in a file: model.t7, model.t7:place, model.t7+FILE.lua"
)
_CALL = re.compile(r"([^()]*:[\w.]+)(\(.*\))", re.DOTALL)


def find(name: str, input_size: InputSize | None = None, option: str = "--net") -> Net:
    """Returns the net that ``option`` names (see ``FORMS``), with ``input_size`` as the size of one sample,
    or as its several inputs.

    A net from outside the registry needs ``input_size``, keeps the parameters it comes with, and is not built
    yet. Raises UserError for a name, file or function that is not there.
    """
    call = _CALL.fullmatch(name)
    model, lua_files = without_lua_files(name) if call is None else (call[1], ())
    file, colon, inner = model.rpartition(":")
    if name in registry.NETS:
        net = registry.NETS[name]
        if input_size is None:
            return net
        if isinstance(input_size[0], Input):
            raise UserError(f"option --input-size: {name} takes one input, of {by(net.input_size)}")
        check_size(net, input_size, "--input-size")
        return replace(net, input_size=input_size)
    if is_t7_file(model) or is_t7_file(file):
        source, place = (model, None) if is_t7_file(model) else (file, inner)
        _check_lua_files(lua_files, option)
        definition: Callable[[], nn.Module] = partial(_torch7_model, source, place, option, lua_files)
    elif model.endswith(".t7") or file.endswith(".t7"):
        missing = model if model.endswith(".t7") else file
        raise UserError(f"option {option}: there is no file '{missing}'")
    elif colon:
        arguments = _arguments(call[2], name, option) if call is not None else None
        definition = partial(_call, _function(file, inner, option), arguments, name, option)
    else:
        raise UserError(f"option {option}: {_not_a_net(name)}")
    if input_size is None:
        raise UserError(
            f"option {option}: '{name}' needs the size of one input, as --input-size 3x224x224; of several "
            "by name, as --input-size ids:2x128 mask:2x128"
        )
    if isinstance(input_size[0], Input):
        if input_size[0].name == LIST:
            in_a_list = partial(_of_samples, definition)
            return Net(name, in_a_list, input_size[0].shape[1:], name, own_parameters=True)
        inputs = input_size
        several = partial(_of_several, definition)
        return Net(name, several, inputs[0].shape[1:], name, own_parameters=True, inputs=inputs)
    return Net(name, definition, input_size, name, own_parameters=True)


def _of_several(definition: "Callable[[], nn.Module]") -> "nn.Module":
    from convnet_benchmarks.nets.several_inputs import SeveralInputs

    return SeveralInputs(definition())


def _of_samples(definition: "Callable[[], nn.Module]") -> "nn.Module":
    from convnet_benchmarks.nets.several_inputs import ListOfSamples

    return ListOfSamples(definition())


def _not_a_net(name: str) -> str:
    """Returns why ``name`` is no net, what it may be meant for first."""
    if os.path.isdir(name):
        return f"'{name}' is a folder; accepted: {FORMS}"
    if name.endswith(".py"):
        try:
            functions = ", ".join(f"{name}:{one}" for one in _functions_of(_from_file(name)))
        except (Exception, SystemExit) as error:  # whatever the author's code raises
            return f"cannot import '{name}': {described(error)}"
        return f"'{name}' is a file; name a function in it: {functions or 'none is defined there'}"
    if os.path.isfile(name):
        hint = (
            "; 'convert' reads a state_dict with --net"
            if name.endswith((".pt", ".pth", ".safetensors"))
            else ""
        )
        return f"'{name}' is no Torch7 model{hint}; accepted: {FORMS}"
    return f"unknown net '{name}'{did_you_mean(name, registry.NETS)}; accepted: {FORMS}"


def check_size(net: Net, size: tuple[int, ...], option: str) -> None:
    """Checks, without building ``net`` of the registry, that a sample of ``size`` has its dimensions.

    The first is never another one: planes, or the sentences of a pair. Raises UserError that names
    ``option``.
    """
    own = net.input_size
    if len(size) != len(own) or (size[0] != own[0] and 1 < len(own) != 3):
        raise UserError(f"option {option}: an input of {net.name} is {by(own)}, not {by(size)}")
    if size[0] != own[0] and len(own) == 3:
        raise UserError(f"option {option}: {net.name} takes {own[0]} input planes, not {size[0]}")


def by(sizes: Sequence[int]) -> str:
    """Returns sizes as people write them: 3x224x224."""
    return "x".join(map(str, sizes))


def an(noun: str) -> str:
    """Returns the noun with its article: a list, an int."""
    return f"{'an' if noun[:1].lower() in 'aeiou' else 'a'} {noun}"


def _check_lua_files(files: Sequence[str], option: str) -> None:
    for file in files:
        if not os.path.isfile(file):
            raise UserError(f"option {option}: there is no Lua file '{file}'")


def _torch7_model(file: str, place: str | None, option: str, lua: Sequence[str]) -> "nn.Module":
    return load_module(file, place, f"option {option}", lua)


@contextlib.contextmanager
def _working_directory_first() -> Iterator[None]:
    """Lets code of the user's import its neighbours: first while this is open, afterwards last."""
    folder = os.getcwd()
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        sys.path.remove(folder)
        if folder not in sys.path:
            sys.path.append(folder)


def _function(module: str, name: str, option: str) -> Callable[[], Any]:
    """Returns the function ``name`` of a module that can be imported from here, or of a .py file."""
    try:
        with _working_directory_first():
            imported = _from_file(module) if module.endswith(".py") else importlib.import_module(module)
    except (Exception, SystemExit) as error:  # whatever the author's code raises
        raise UserError(f"option {option}: cannot import '{module}': {described(error)}") from None
    found: Any = imported
    for part in name.split("."):
        found = getattr(found, part, None)
    if not callable(found):
        problem = "is not a function" if found is not None else "is not there"
        accepted = ", ".join(_functions_of(imported)) or "none defined there"
        raise UserError(f"option {option}: '{name}' {problem} in '{module}'; accepted: {accepted}")
    return found


def _from_file(path: str) -> ModuleType:
    if not os.path.isfile(path):
        raise FileNotFoundError(f"there is no file '{path}'")
    spec = importlib.util.spec_from_file_location(Path(path).stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _functions_of(module: ModuleType) -> list[str]:
    """Returns the public functions and classes that ``module`` itself defines."""
    return [
        name
        for name, value in vars(module).items()
        if callable(value)
        and not name.startswith("_")
        and getattr(value, "__module__", None) == module.__name__
    ]


def _arguments(text: str, name: str, option: str) -> tuple[list[Any], dict[str, Any]]:
    """Returns the plain values in the brackets of a call, such as (64, depth=2)."""
    try:
        call = ast.parse(f"f{text}", mode="eval").body
        assert isinstance(call, ast.Call)
        given = [ast.literal_eval(one) for one in call.args]
        return given, {str(one.arg): ast.literal_eval(one.value) for one in call.keywords if one.arg}
    except (SyntaxError, ValueError, AssertionError):
        accepted = "accepted: plain values, such as (64, depth=2, kind='wide')"
        raise UserError(f"option {option}: '{name}' has arguments that cannot be read; {accepted}") from None


def _call(
    function: Callable[..., Any], arguments: tuple[list[Any], dict[str, Any]] | None, name: str, option: str
) -> "nn.Module":
    from torch import nn

    from convnet_benchmarks.nets.programs import let_mode_be_set

    if isinstance(function, nn.Module) and arguments is None:
        return let_mode_be_set(copy.deepcopy(function))  # it may be asked for several times
    given, by_name = arguments or ([], {})
    shown = name if arguments is not None else f"{name}()"
    try:
        with _working_directory_first():
            module = function(*given, **by_name)
    except (Exception, SystemExit) as error:  # whatever the author's code raises
        hint = (
            ""
            if arguments is not None or not _needs_arguments(function)
            else (f"; give its arguments as --net '{name}(...)'")
        )
        raise UserError(f"option {option}: {shown} failed: {described(error)}{hint}") from None
    if not isinstance(module, nn.Module):
        raise UserError(
            f"option {option}: {shown} returned {an(type(module).__name__)}; accepted: a torch.nn.Module"
        )
    if any(tensor.is_meta for tensor in (*module.parameters(), *module.buffers())):
        raise UserError(
            f"option {option}: {shown} returned a module on PyTorch's meta device; accepted: one with memory"
        )
    return let_mode_be_set(module)


def _needs_arguments(function: Callable[..., Any]) -> bool:
    try:
        inspect.signature(function).bind()
    except TypeError:
        return True
    except ValueError:  # not written in Python
        pass
    return False
