"""Modules that are programs: what is inside runs as one, so nothing can stand in for a part of it."""

from collections.abc import Iterator

from torch import nn
from torch.jit import ScriptModule


def is_program(module: nn.Module) -> bool:
    """Returns whether a module is one of TorchScript or of torch.compile."""
    return isinstance(module, ScriptModule) or is_compiled(module)


def is_compiled(module: nn.Module) -> bool:
    """Returns whether torch.compile, or the module's method ``compile``, was called for it."""
    return "_orig_mod" in module._modules or module._compiled_call_impl is not None


def hookable_parts(module: nn.Module) -> Iterator[tuple[str, nn.Module]]:
    """Yields the module and what is in it, with their names, but for what is in programs, and TorchScript's,
    which take no hooks."""
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
