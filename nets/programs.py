"""Whose code a module runs; those that are programs run as a whole, so that no part of them can be
replaced."""

from collections.abc import Iterator
from typing import Any

from torch import nn
from torch.fx import GraphModule
from torch.jit import ScriptModule


def is_program(module: nn.Module) -> bool:
    """Returns whether a module is from TorchScript or torch.compile."""
    return isinstance(module, ScriptModule) or is_compiled(module)


def is_compiled(module: nn.Module) -> bool:
    """Returns whether torch.compile, or the module's method ``compile``, was called for it."""
    return "_orig_mod" in module._modules or module._compiled_call_impl is not None


_KNOWN_CODE = ("torch.nn.", "convnet_benchmarks.", "lua_compat.")


def origin(module: nn.Module) -> str:
    """Returns the Python module of a forward: a subclass that keeps torch.nn's is that layer. What torch.fx
    compiled has none."""
    return type(module).forward.__module__ or ""


def is_known_code(python_module: str) -> bool:
    """Returns whether a Python module is torch.nn's or ours."""
    return python_module.startswith(_KNOWN_CODE)


def computes_as(kind: Any, layer: Any) -> bool:
    """Returns whether a class, which may be derived from ``layer``, is called as it, has its forward and the
    methods that this calls (Conv2d's ``_conv_forward``)."""
    return kind is layer or all(
        getattr(kind, name, None) is getattr(layer, name)
        for name in ("__call__", "forward", *layer.forward.__code__.co_names)
        if hasattr(layer, name)
    )


def own_call_within(module: nn.Module) -> str:
    """Returns the class of a part that replaces how modules are called, which torch.fx may not see; empty
    without one. Its own modules do."""
    return next(
        (
            type(part).__name__
            for part in module.modules()
            if type(part).__call__ is not nn.Module.__call__ and not isinstance(part, GraphModule)
        ),
        "",
    )


def let_mode_be_set(module: nn.Module) -> nn.Module:
    """Returns ``module``, whose parts all have a mode now: exported programs (torch.export) refuse ``train``
    and ``eval``, and frozen ones of TorchScript have none. It does not change what they compute."""
    for part in module.modules():
        if isinstance(part, GraphModule):
            for name in ("train", "eval"):
                vars(part).pop(name, None)
        elif not hasattr(part, "training"):
            part.eval()
    return module


def hookable_parts(module: nn.Module) -> Iterator[tuple[str, nn.Module]]:
    """Yields the module and its inner modules, with their names, except those inside programs, and
    TorchScript's, which do not support hooks."""
    seen: set[nn.Module] = set()

    def walk(name: str, part: nn.Module) -> Iterator[tuple[str, nn.Module]]:
        if part in seen or isinstance(part, ScriptModule):
            return
        seen.add(part)
        yield name, part
        if not is_program(part):
            for inner, child in part.named_children():
                yield from walk(f"{name}.{inner}" if name else inner, child)

    return walk("", module)
