"""An nn module of Torch7 as a torch.nn Module that Lua computes."""

import weakref
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from lua_compat.lua_modules.state import LuaState
from lua_compat.lua_modules.values import assembled, from_lua, shape_of, tensors_in
from lua_compat.runtime.errors import LuaError

_TYPES = {torch.float16: "Half", torch.float32: "Float", torch.float64: "Double"}


class LuaModule(nn.Module):
    """A module of ``state``, read from ``data``, the bytes of its .t7.

    ``updateOutput``, ``updateGradInput`` and ``accGradParameters`` are Lua's. Its parameters are Parameters
    that share their memory with Lua's tensors. Tables are lists. ``given``: the parameters to use, by their
    path in the module, instead of those in ``data``.
    """

    def __init__(
        self,
        state: LuaState,
        data: bytes,
        typename: str,
        given: Callable[[str], nn.Parameter | None] = lambda path: None,
    ) -> None:
        """Raises LuaError with one line where Lua cannot read the module."""
        super().__init__()
        self.typename = typename
        self._state = state
        self._mode: bool | None = None  # None: as the file says
        self._load(data, given)
        # The state that a class keeps between calls looks like what it leaves behind: the names are those it
        # had in the file.
        self._kept = frozenset(self._state.ask("state", self._number)[0].split("\n"))

    def _load(self, data: bytes, given: Callable[[str], nn.Parameter | None]) -> None:
        self._number = self._state.load(data)
        weakref.finalize(self, self._state.drop, self._number).atexit = False
        self._bound: list[Any] = []  # where each parameter's memory was when Lua took it over
        paths, tensors = self._lua_parameters()
        self._paths = tuple(paths)
        for path, tensor in zip(paths, tensors, strict=True):
            parameter = given(path)
            self.register_parameter(_name(path), nn.Parameter(tensor) if parameter is None else parameter)

    # What is computed

    def forward(self, *inputs: Any) -> Any:
        input = inputs[0] if len(inputs) == 1 else list(inputs)
        self._share_parameters()
        shape = shape_of(input)
        tensors = list(tensors_in(input))
        call = _Call(self, shape)
        outputs = _Computed.apply(call, len(tensors), *tensors, *self._own_parameters())
        return assembled(call.output_shape, iter(outputs))

    def _own_parameters(self) -> list[nn.Parameter]:
        return [getattr(self, _name(path)) for path in self._paths]

    def _lua_parameters(self) -> tuple[list[str], list[Tensor]]:
        """Returns the paths of Lua's parameters, and copies of them."""
        names, *handles = self._state.ask("parameters", self._number)
        return names.split(), [from_lua(self._state.tensor(handle)) for handle in handles]

    def _share_parameters(self) -> None:
        """Lets Lua's tensors use the parameters' memory, where that is not so (yet, or any longer)."""
        for place, parameter in enumerate(self._own_parameters()):
            memory = (parameter.data_ptr(), parameter.shape, parameter.stride(), parameter.dtype)
            if parameter.is_meta or (place < len(self._bound) and self._bound[place] == memory):
                continue
            self._state.ask("bind", self._number, place + 1, *self._state.place([parameter]))
            self._bound[place : place + 1] = [memory]

    # State

    def train(self, mode: bool = True) -> "LuaModule":
        super().train(mode)
        self._mode = mode  # Lua learns it with the next forward
        return self

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        names, *handles = self._state.ask("state", self._number)
        for name, handle in zip(names.split("\n") if names else (), handles, strict=True):
            if name in self._kept:
                destination[prefix + name] = from_lua(self._state.tensor(handle))

    def _load_from_state_dict(
        self,
        state_dict: Mapping[str, Any],
        prefix: str,
        local_metadata: Any,
        strict: bool,
        missing: list[str],
        unexpected: list[str],
        errors: list[str],
    ) -> None:
        own = {prefix + _name(path) for path in self._paths}
        parameters = {name: value for name, value in state_dict.items() if name in own}
        super()._load_from_state_dict(parameters, prefix, local_metadata, strict, missing, unexpected, errors)
        missing += [prefix + name for name in self._kept if name and prefix + name not in state_dict]
        for name, value in state_dict.items():
            if not name.startswith(prefix) or name in own:
                continue
            if name[len(prefix) :] not in self._kept:
                unexpected += [name] if strict else []
                continue
            place = self._state.place([value.detach().cpu()])
            self._state.ask("set", self._number, name[len(prefix) :], *place)

    def data(self) -> bytes:
        """Returns the module as the bytes of a .t7, without what it computed last."""
        self._share_parameters()
        return self._state.save(self._number)

    def __getstate__(self) -> dict[str, Any]:
        state = {name: value for name, value in self.__dict__.items() if name not in ("_number", "_bound")}
        return {**state, "t7": self.data()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        data = state.pop("t7")
        super().__setstate__(state)
        parameters = dict(self._parameters)
        self._load(data, lambda path: parameters[_name(path)])

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> "LuaModule":
        """Lets Lua convert its other tensors where the parameters change their type."""
        now = self._state.ask("typename", self._number)[0]
        before = next((d for d, name in _TYPES.items() if now == f"torch.{name}Tensor"), torch.float64)
        after = fn(torch.empty(0, dtype=before))
        if after.device.type not in ("cpu", "meta"):
            raise RuntimeError(
                f"{self._get_name()} cannot move to {after.device}: Lua computes it on the CPU"
            )
        if after.dtype not in _TYPES:
            raise RuntimeError(f"{self._get_name()}: Torch7 has no tensors of {after.dtype}")
        super()._apply(fn, recurse)
        if after.dtype != before:
            self._state.ask("type", self._number, f"torch.{_TYPES[after.dtype]}Tensor")
            self._bound.clear()
        return self

    # What is printed

    def _get_name(self) -> str:
        return self.typename

    def extra_repr(self) -> str:
        file = self._state.declared.get(self.typename)
        return "computed by Lua" + (f": {file.name}" if file else ", th's own class")


class _Call:
    """One forward: what its backward needs besides the tensors."""

    def __init__(self, module: LuaModule, input_shape: str) -> None:
        self.module = module
        self.input_shape = input_shape
        self.output_shape = ""
        self.turn = 0
        self.random: Tensor | None = None
        self.of_shapes = False  # its tensors are on the device meta

    def fitted(self, gradient: Any, input: Tensor) -> Tensor | None:
        """Returns the gradient of an input in its shape; None if Lua gives none."""
        if not isinstance(gradient, Tensor) or not gradient.numel() or not input.is_floating_point():
            return None
        if gradient.numel() != input.numel():
            sizes = f"{tuple(gradient.shape)} for an input of {tuple(input.shape)}"
            raise RuntimeError(f"{self.module.typename}, computed by Lua: gradInput is {sizes}")
        return gradient.to(input.dtype).view(input.shape)

    def failed(self, error: LuaError) -> RuntimeError:
        return RuntimeError(f"{self.module.typename}, computed by Lua: {error}")


def _beside(places: Any, value: Any) -> Iterator[tuple[int, Any]]:
    """Yields every number in a list of lists with what is at its path in ``value``, None if nothing
    is."""
    if isinstance(places, int):
        yield places, value
        return
    for number, inner in enumerate(places):
        yield from _beside(inner, value[number] if isinstance(value, list) and number < len(value) else None)


def _with_values(tensor: Tensor) -> Tensor:
    """Returns ones for a tensor that only has a shape: Lua finds the shape of its output by computing it."""
    return torch.ones_like(tensor, device="cpu") if tensor.is_meta else tensor


def _name(path: str) -> str:
    return path.replace(".", "_")


class _Computed(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, call: _Call, count: int, *tensors: Tensor) -> Any:
        module, state = call.module, call.module._state
        # Lua may write to its input, and keep it: a copy, which backward sees as Lua left it.
        inputs = [from_lua(_with_values(tensor.detach())) for tensor in tensors[:count]]
        recorded = any(ctx.needs_input_grad)
        try:
            call.turn, random, call.output_shape, *handles = state.ask(
                "forward", module._number, module._mode, recorded, call.input_shape, *state.place(inputs)
            )
        except LuaError as error:
            raise call.failed(error) from None
        outputs = tuple(from_lua(state.tensor(handle)) for handle in handles)
        if any(tensor.is_meta for tensor in tensors):
            call.of_shapes, outputs = True, tuple(output.to("meta") for output in outputs)
        ctx.call, ctx.count = call, count
        if recorded:
            call.random = from_lua(state.tensor(random))
            ctx.save_for_backward(*inputs, *tensors[count:])
        ctx.mark_non_differentiable(*(output for output in outputs if not output.is_floating_point()))
        return outputs

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        call, count = ctx.call, ctx.count
        state = call.module._state
        inputs = ctx.saved_tensors[:count]
        wanted = ctx.needs_input_grad[2:]
        if call.of_shapes:
            empty = (torch.empty_like(tensor, device="meta") for tensor in ctx.saved_tensors)
            return None, None, *(tensor if each else None for tensor, each in zip(empty, wanted, strict=True))
        copies = [from_lua(gradient) for gradient in gradients]
        shape = "{" + call.input_shape + call.output_shape + "t}"
        try:
            text, *handles = state.ask(
                "backward", call.module._number, call.turn, any(wanted[count:]), shape,
                *state.place([*inputs, *copies, call.random]),
            )  # fmt: skip
        except LuaError as error:
            raise call.failed(error) from None
        found = assembled(text, (from_lua(state.tensor(handle)) for handle in handles))
        of_inputs: list[Tensor | None] = [None] * count
        places = assembled(call.input_shape, iter(range(count)))
        for place, gradient in _beside(places, found[0][0] if found[0] else None):
            of_inputs[place] = call.fitted(gradient, inputs[place])
        of_parameters = found[1] or [None] * (len(wanted) - count)
        return None, None, *of_inputs, *of_parameters
