"""Tensors in main memory that PyTorch's rules for CUDA hold for.

With it on, a tensor made with device="cuda" is on the CPU but remembered; operators that would refuse tensors
on several devices refuse those, too, and numpy() of one fails. The memory of the remembered is counted, and
can be limited.
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
# Operators that take a number of the CPU (a tensor without dimensions) beside tensors of the GPU: those of
# two tensors element by element, and by its place the argument that is only a number.
_OF_TWO = {
    *(_aten.add, _aten.add_, _aten.sub, _aten.sub_, _aten.rsub, _aten.mul, _aten.mul_, _aten.div, _aten.div_),
    *(_aten.true_divide, _aten.floor_divide, _aten.remainder, _aten.remainder_, _aten.fmod, _aten.fmod_),
    *(_aten.eq, _aten.ne, _aten.lt, _aten.le, _aten.gt, _aten.ge, _aten.atan2, _aten.atan2_, _aten.pow),
    *(_aten.pow_, _aten.maximum, _aten.minimum, _aten.fmax, _aten.fmin, _aten.copysign, _aten.hypot),
    *(_aten.xlogy, _aten.logical_and, _aten.logical_or, _aten.logical_xor, _aten.bitwise_and),
    *(_aten.bitwise_or, _aten.bitwise_xor, _aten.bitwise_left_shift, _aten.bitwise_right_shift),
    *(_aten.__lshift__, _aten.__rshift__, _aten.sigmoid_backward, _aten.tanh_backward),
}
_NORMALIZING = {_aten.native_batch_norm, _aten.native_batch_norm_backward}
_HALVES = (torch.float16, torch.bfloat16)
_NUMBER_AT = {_aten.fill: 1, _aten.fill_: 1, _aten.masked_fill: 2, _aten.masked_fill_: 2}


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


# From this size on a storage that is made makes those that have gone be counted off first.
_LARGE = 1 << 20
_MOST_UNCOUNTED = 10_000


class Placement:
    """Which storages are on the GPU, and how much memory they take (``allocated``, ``peak``: bytes).

    ``limit``: bytes beyond which an allocation there raises OutOfMemoryError.
    """

    def __init__(self, limit: float = float("inf")) -> None:
        # By address: a weak reference, which keeps the address from being used again; there or not; bytes.
        self._known: dict[int, tuple[Any, bool, int]] = {}
        self._uncounted = 0
        self._allocated = 0
        self.peak = 0
        self.limit = limit
        self.recorded: list[tuple[Any, Any, Any, Any]] | None = None  # operators, while a graph is captured

    def __contains__(self, tensor: Tensor) -> bool:
        return self._known.get(tensor.untyped_storage()._cdata, (0, False, 0))[1]

    def known(self, tensor: Tensor) -> bool:
        return tensor.untyped_storage()._cdata in self._known

    @property
    def allocated(self) -> int:
        self._forget_the_gone()
        return self._allocated

    def put(self, tensor: Tensor, there: bool) -> Tensor:
        storage = tensor.untyped_storage()
        address, size = storage._cdata, storage.nbytes()
        weak, was_there, counted = self._known.get(address) or (storage._weak_ref(), False, 0)
        self._uncounted += 1
        if (there and size >= _LARGE) or self._uncounted > _MOST_UNCOUNTED:
            self._forget_the_gone()
        before = self._allocated - (counted if was_there else 0)
        after = before + (size if there else 0)
        if there and after > self.limit:  # nothing has changed: what cannot be had is not counted
            raise torch.cuda.OutOfMemoryError("CUDA out of memory (of a GPU that is not there)")
        self._allocated = after
        self.peak = max(self.peak, after)
        self._known[address] = weak, there, size
        return tensor

    def _forget_the_gone(self) -> None:
        self._uncounted = 0
        for address, (weak, there, size) in list(self._known.items()):
            if torch.UntypedStorage._expired(weak):
                torch.UntypedStorage._free_weak_ref(weak)
                del self._known[address]
                self._allocated -= size if there else 0


def _run(func: Any, args: Any, kwargs: Any, there: bool) -> Any:
    """Calls an operator; main memory that cannot be had for a tensor of the GPU is the GPU's."""
    try:
        return func(*args, **kwargs)
    except RuntimeError as error:
        if there and "can't allocate memory" in str(error):
            raise torch.cuda.OutOfMemoryError("CUDA out of memory (of a GPU that is not there)") from None
        raise


class _Operators(TorchDispatchMode):
    def __init__(self, placement: Placement) -> None:
        super().__init__()
        self._placement = placement

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        tensors = list(_tensors((args, kwargs)))
        there = [one in self._placement for one in tensors]
        packet = func.overloadpacket
        if any(there) and not self._may_mix(packet, args, kwargs):
            raise RuntimeError(
                f"Expected all tensors to be on the same device, but found cuda:0 and cpu ({func}: "
                f"{[tuple(one.shape) for one in tensors]}, {there})"
            )
        if any(there) and packet in _NORMALIZING:
            result = _normalized(packet, func, args, kwargs)
        else:
            result = _run(func, args, kwargs, any(there))
        if self._placement.recorded is not None:
            self._placement.recorded.append((func, args, kwargs, result))
        for made in _tensors(result):
            if not self._placement.known(made):
                self._placement.put(made, any(there) if packet not in _MIXING else there[0])
        return result

    def _may_mix(self, packet: Any, args: Any, kwargs: Any) -> bool:
        """Returns whether CUDA takes these tensors, some of which are on the GPU."""
        if packet in _MIXING:
            return True
        written = {"out", *(name for name in kwargs if name.startswith("out"))}
        inputs = list(args)
        if packet in _OF_TWO:
            in_place = packet.__name__.endswith("_")
            inputs[in_place:] = [one for one in inputs[in_place:] if not self._is_host_number(one)]
        elif packet == _aten.where:
            inputs[1:] = [one for one in inputs[1:] if not self._is_host_number(one)]
        elif packet in _INDEXING and isinstance(args[0], Tensor) and args[0] in self._placement:
            inputs = [one for one in (args[0], *args[2:]) if not self._is_host_number(one)]
        elif packet in _NUMBER_AT and len(inputs) > _NUMBER_AT[packet]:
            del inputs[_NUMBER_AT[packet]]
        outputs = [kwargs[name] for name in written if name in kwargs]
        others = [value for name, value in kwargs.items() if name not in written]
        return all(one in self._placement for one in _tensors((inputs, outputs, others)))

    def _is_host_number(self, value: Any) -> bool:
        return isinstance(value, Tensor) and value.dim() == 0 and value not in self._placement


def _normalized(packet: Any, func: Any, args: Any, kwargs: Any) -> Any:
    """Returns what CUDA's batch normalization gives: of halves, statistics in single precision."""
    if packet == _aten.native_batch_norm_backward:
        _check_statistics(*args)
    if args[0].dtype not in _HALVES:
        return func(*args, **kwargs)
    assert not kwargs, "not faked for halves"
    single = [one.float() if isinstance(one, Tensor) else one for one in args]
    results = func(*single)
    if packet == _aten.native_batch_norm:
        for running, moved in zip(args[3:5], single[3:5], strict=True):
            if running is not None:
                running.copy_(moved)
        return results[0].to(args[0].dtype), *results[1:]
    like = args[0] if args[2] is None else args[2]
    types = (args[0].dtype, like.dtype, like.dtype)
    return tuple(one if one is None else one.to(of) for one, of in zip(results, types, strict=True))


def _check_statistics(
    grad: Tensor, input: Tensor, weight: Any, mean: Any, var: Any, save_mean: Tensor, save_std: Tensor,
    train: bool, *_: Any,
) -> None:  # fmt: skip
    """Raises RuntimeError for what CUDA's kernel refuses, and for what it computes otherwise than the CPU's:
    it takes the statistics that are given, also where those of the batch are not asked for.
    """
    wanted = torch.float32 if input.dtype in _HALVES else input.dtype
    for one in (save_mean, save_std):
        if one.numel() and one.dtype != wanted:
            raise RuntimeError(f"expected scalar type {wanted} but found {one.dtype}")
    if not train and save_mean.numel():
        raise RuntimeError("CUDA normalizes by the statistics of the batch where they are given")


class _Functions(TorchFunctionMode):
    def __init__(self, placement: Placement) -> None:
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
            return self._placement.put(_run(func, args, kwargs, True), True)
        if "device" in kwargs and kwargs["device"] is not None:
            return self._placement.put(func(*args, **kwargs), False)
        return func(*args, **kwargs)

    def _moved(self, func: Any, name: str, args: Any, kwargs: Any) -> Tensor:
        tensor, *rest = args
        there = tensor in self._placement
        wanted = there
        if name != "to":
            wanted, rest, kwargs = name == "cuda", [], {}
        else:
            device = kwargs.get("device")
            if device is not None:
                kwargs["device"] = "cpu"
            for place, value in enumerate(rest):
                if isinstance(value, torch.device | str):
                    device, rest[place] = value, "cpu"
                    break
                if isinstance(value, Tensor):
                    device, rest[place] = _GPU if value in self._placement else value.device, value.dtype
                    break
            if device is not None:
                if torch.device(device).type not in ("cpu", "cuda"):
                    return func(*args, **{**kwargs, **({"device": device} if "device" in kwargs else {})})
                wanted = _is_gpu(device)
        result = Tensor.to(tensor, *rest, **kwargs) if rest or kwargs else tensor
        if wanted == there:
            return result
        return self._placement.put(result.clone(), wanted)


@contextmanager
def fake_cuda(placement: Placement | None = None) -> Iterator[None]:
    """Lets tensors of device "cuda" be made, in main memory, until it ends."""
    placement = placement or Placement()
    with _Functions(placement), _Operators(placement):
        yield
