"""A GPU that is not there: tensors in main memory that PyTorch's rules for CUDA hold for.

With it on, a tensor made with device="cuda" is on the CPU but remembered; operators that would refuse tensors
on several devices refuse those, too, and numpy() of one fails.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

_GPU = torch.device("cuda", 0)
_aten = torch.ops.aten
# Operators whose tensors may lie on several devices.
_MIXING = {_aten.copy_, _aten._to_copy}
_INDEXING = {_aten.index, _aten.index_put, _aten.index_put_, _aten._index_put_impl_}  # by indices on the CPU


def _tensors(values: Any) -> Iterator[Tensor]:
    if isinstance(values, Tensor):
        yield values
    elif isinstance(values, list | tuple):
        for value in values:
            yield from _tensors(value)
    elif isinstance(values, dict):
        yield from _tensors(list(values.values()))


def _is_gpu(device: Any) -> bool:
    return device is not None and torch.device(device).type == "cuda"


class _Placement:
    """Which storages are on the GPU."""

    def __init__(self) -> None:
        self._there: dict[int, tuple[Any, bool]] = {}  # storages are kept, so that no address is used twice

    def __contains__(self, tensor: Tensor) -> bool:
        return self._there.get(tensor.untyped_storage()._cdata, (None, False))[1]

    def known(self, tensor: Tensor) -> bool:
        return tensor.untyped_storage()._cdata in self._there

    def put(self, tensor: Tensor, there: bool) -> Tensor:
        storage = tensor.untyped_storage()
        self._there[storage._cdata] = storage, there
        return tensor


class _Operators(TorchDispatchMode):
    def __init__(self, placement: _Placement) -> None:
        super().__init__()
        self._placement = placement

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        tensors = list(_tensors((args, kwargs)))
        there = [one in self._placement for one in tensors]
        packet = func.overloadpacket
        if any(there) and packet not in _MIXING:
            elsewhere = [one for one, on in zip(tensors, there, strict=True) if not on and one.dim() > 0]
            if packet in _INDEXING and there[0]:
                elsewhere = []
            if elsewhere:
                raise RuntimeError(
                    f"Expected all tensors to be on the same device, but found cuda:0 and cpu ({func}: "
                    f"{[tuple(one.shape) for one in tensors]}, {there})"
                )
        result = func(*args, **kwargs)
        for made in _tensors(result):
            if not self._placement.known(made):
                self._placement.put(made, any(there) if packet not in _MIXING else there[0])
        return result


class _Functions(TorchFunctionMode):
    def __init__(self, placement: _Placement) -> None:
        super().__init__()
        self._placement = placement

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        name = getattr(func, "__name__", "")
        owner = getattr(func, "__self__", None)
        if name == "__get__" and owner in (Tensor.is_cuda, Tensor.device):
            there = args[0] in self._placement
            if owner is Tensor.is_cuda:
                return there
            return _GPU if there else func(*args, **kwargs)
        if name in ("numpy", "__array__") and args[0] in self._placement:
            raise TypeError("can't convert cuda:0 device type tensor to numpy")
        if name in ("cpu", "cuda", "to"):
            return self._moved(func, name, args, kwargs)
        if _is_gpu(kwargs.get("device")):
            kwargs["device"] = "cpu"
            return self._placement.put(func(*args, **kwargs), True)
        if "device" in kwargs and kwargs["device"] is not None:
            return self._placement.put(func(*args, **kwargs), False)
        return func(*args, **kwargs)

    def _moved(self, func: Any, name: str, args: Any, kwargs: Any) -> Tensor:
        tensor, *rest = args
        there = tensor in self._placement
        wanted = there
        if name != "to":
            wanted, rest = name == "cuda", []
        else:
            device = kwargs.pop("device", None)
            for place, value in enumerate(rest):
                if isinstance(value, torch.device | str):
                    device = rest.pop(place)
                    break
                if isinstance(value, Tensor):
                    device, rest[place] = value.device, value.dtype
                    break
            if device is not None:
                wanted = _is_gpu(device)
        result = Tensor.to(tensor, *rest, **kwargs) if rest or kwargs else tensor
        if wanted == there:
            return result
        return self._placement.put(result.clone(), wanted)


@contextmanager
def fake_cuda() -> Iterator[None]:
    placement = _Placement()
    with _Functions(placement), _Operators(placement):
        yield
