"""A record of what was measured: decided when a workload is made ready, written into every result file."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from convnet_benchmarks import environment
from convnet_benchmarks.nets.net import Net
from convnet_benchmarks.workload.tensors import sizes, tensors_in

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Ran:
    """The conditions of a measurement, as they really were.

    ``batch_size``: samples in one pass. ``input_shape``: of the whole input. ``backend``: a name of
    ``workload/backends.py``. ``device``: cpu or cuda:N; ``device_name``: its model. ``threads``: PyTorch's.
    ``cold_cache``: each pass began with an empty one. ``inputs``: the sizes of several inputs, of which
    ``input_shape`` is the first one's. ``unit``: what ``batch_size`` counts.
    """

    net: str
    batch_size: int
    input_shape: tuple[int, ...]
    backend: str
    dtype: str
    device: str
    device_name: str
    threads: int
    cold_cache: bool = False
    inputs: str = ""
    unit: str = "images"

    @property
    def shape(self) -> str:
        """Returns the sizes of the whole input: 8x3x224x224, or ids 2x128, mask 2x128."""
        return self.inputs or "x".join(map(str, self.input_shape))

    @property
    def software(self) -> str:
        """Returns the kernels, the number format and what else changes a figure, in a few words."""
        return f"{self.backend}, {self.dtype}{', cold cache' if self.cold_cache else ''}"

    def as_dict(self) -> dict[str, Any]:
        """Returns plain JSON values, for the field ``ran`` of a result file."""
        return {**asdict(self), "input_shape": list(self.input_shape)}


def unit_of_all(units: Iterable[str]) -> str:
    """Returns the unit for a heading: that of all samples, or "samples" where there are several or none."""
    found = set(units)
    return found.pop() if len(found) == 1 else "samples"


def unit_of_records(records: Iterable[Mapping[str, Any]]) -> str:
    """Returns the same of records that have the field ``ran``; the others did not run."""
    return unit_of_all(record["ran"].get("unit", "images") for record in records if "ran" in record)


def batch_size(net: Net, input_shape: tuple[int, ...]) -> int:
    """Returns the samples in an input; one without a batch dimension is one sample."""
    return input_shape[0] if len(input_shape) > len(net.input_size) else 1


def ran_on(
    net: Net,
    input: Any,
    backend: str,
    dtype: str,
    device: "torch.device",
    *,
    cold_cache: bool = False,
) -> Ran:
    """Returns the conditions of passes of ``net`` on ``input``: a tensor, or a dict, tuple or list of them.

    Threads are those that PyTorch has now.
    """
    import torch

    first = tensors_in(input)[0]
    inputs = "" if input is first else sizes(input)
    unit = _unit(first, len(net.input_size))
    return Ran(
        net=net.name,
        batch_size=batch_size(net, tuple(first.shape)),
        input_shape=tuple(first.shape),
        backend=backend,
        dtype=dtype,
        device=str(device),
        device_name=environment.machine(str(device))["device"],
        threads=torch.get_num_threads(),
        cold_cache=cold_cache,
        inputs=inputs,
        unit=unit,
    )


def _unit(input: "torch.Tensor", dimensions: int) -> str:
    """Returns what a sample of so many dimensions is."""
    if not input.is_floating_point() or dimensions == 2:
        return "sequences"
    return "images" if dimensions == 3 else "samples"
