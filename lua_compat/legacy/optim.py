"""The functions of torch.legacy.optim: ``x, losses = sgd(opfunc, x, config, state=None)``.

``opfunc(x)`` returns the loss and its gradient; x, config and state are changed.
"""

from collections.abc import Callable
from typing import Any

from torch import Tensor

from lua_compat.legacy.modules import link

__all__ = [
    "adadelta", "adagrad", "adam", "adamax", "asgd", "cg", "lbfgs", "nag", "rmsprop", "rprop", "sgd",
]  # fmt: skip


def _optimize(name: str, opfunc: Callable[[Tensor], Any], x: Tensor, config: Any, state: Any) -> Any:
    known = link()
    number = known.next_number()
    known.functions[number] = opfunc
    config = {} if config is None else config
    given = (x, config) if state is None or state is config else (x, config, state)
    try:
        answer = known.ask("optimize", name, number, *known.encoded(*given))
    finally:
        del known.functions[number]
    best, losses, new_config, new_state = known.decoded(*answer)
    # An empty table comes as a list.
    config.update(new_config or {})
    if len(given) == 3:
        state.update(new_state or {})
    x.copy_(best)
    return x, losses


def _function(name: str) -> Callable[..., Any]:
    def optimize(opfunc: Callable[[Tensor], Any], x: Tensor, config: Any = None, state: Any = None) -> Any:
        return _optimize(name, opfunc, x, config, state)

    optimize.__name__ = optimize.__qualname__ = name
    optimize.__doc__ = f"Does a step (or, cg and lbfgs, several) of optim.{name}."
    return optimize


adadelta = _function("adadelta")
adagrad = _function("adagrad")
adam = _function("adam")
adamax = _function("adamax")
asgd = _function("asgd")
cg = _function("cg")
lbfgs = _function("lbfgs")
nag = _function("nag")
rmsprop = _function("rmsprop")
rprop = _function("rprop")
sgd = _function("sgd")
