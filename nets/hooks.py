"""Hooks: user code that PyTorch runs around a module's forward, or on a gradient.

This is the complete list. Hooks that concern state dicts or the construction of modules compute nothing and
are not in it.
"""

from collections.abc import Callable

from torch import Tensor, nn
from torch.nn.modules import module as of_all_modules

# Name of a kind: its attribute of a module; with "_global" in front, that of torch.nn.modules.module for all.
_KINDS = {
    "forward pre-hook": "_forward_pre_hooks",
    "forward hook": "_forward_hooks",
    "backward pre-hook": "_backward_pre_hooks",
    "backward hook": "_backward_hooks",
}
_AFTER_ACCUMULATION = "_post_accumulate_grad_hooks"
_KINDS_OF_PARAMETERS = {"gradient hook": "_backward_hooks", "post-accumulate hook": _AFTER_ACCUMULATION}


def hook_on(module: nn.Module) -> str:
    """Returns the kind of a hook that runs with ``module``; empty without one.

    A forward that was set on the module itself counts as one: it replaces that of the class.
    """
    for kind, attribute in _KINDS.items():
        if getattr(of_all_modules, f"_global{attribute}"):
            return f"global {kind}"
        if getattr(module, attribute):
            return kind
    return "forward of its own" if "forward" in vars(module) else ""


def hook_within(module: nn.Module) -> str:
    """Returns the kind of a hook that runs with ``module`` or a module inside it; empty without one."""
    return next(filter(None, map(hook_on, module.modules())), "")


def hook_on_parameter(parameter: Tensor) -> str:
    """Returns the kind of a hook on the parameter's gradient; empty without one."""
    return next((kind for kind, name in _KINDS_OF_PARAMETERS.items() if getattr(parameter, name, None)), "")


def has_legacy_hook(module: nn.Module) -> bool:
    """Returns whether a hook of ``register_backward_hook`` runs with ``module``, on the node that made its
    output."""
    of_all = of_all_modules._global_is_full_backward_hook is False and of_all_modules._global_backward_hooks
    return bool(of_all or (module._is_full_backward_hook is False and module._backward_hooks))


def needs_whole_backward(module: nn.Module) -> bool:
    """Returns whether a hook needs the gradients of inputs and parameters together, as a full backward
    computes them.

    Legacy hooks and hooks on parameters do.
    """
    return any(map(has_legacy_hook, module.modules())) or any(map(hook_on_parameter, module.parameters()))


def run_after_accumulation(parameter: Tensor) -> None:
    """Runs the parameter's post-accumulate hooks, once its gradient is in ``.grad``."""
    found: dict[int, Callable[[Tensor], object]] | None = getattr(parameter, _AFTER_ACCUMULATION, None)
    for hook in (found or {}).values():
        hook(parameter)
