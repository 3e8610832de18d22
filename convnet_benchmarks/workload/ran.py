"""A record of what was measured: decided when a workload is made ready, written into every result file."""

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from convnet_benchmarks import environment
from convnet_benchmarks.nets.net import Net

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Ran:
    """The conditions of a measurement, as they really were.

    ``batch_size``: samples in one pass. ``input_shape``: of the whole input. ``backend``: a name of
    ``workload/backends.py``. ``device``: cpu or cuda:N; ``device_name``: its model. ``threads``: PyTorch's.
    ``cold_cache``: each pass began with an empty one.
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

    @property
    def software(self) -> str:
        """Returns the kernels, the number format and what else changes a figure, in a few words."""
        return f"{self.backend}, {self.dtype}{', cold cache' if self.cold_cache else ''}"

    def as_dict(self) -> dict[str, Any]:
        """Returns plain JSON values, for the field ``ran`` of a result file."""
        return {**asdict(self), "input_shape": list(self.input_shape)}


def batch_size(net: Net, input_shape: tuple[int, ...]) -> int:
    """Returns the samples in an input; one without a batch dimension is one sample."""
    return input_shape[0] if len(input_shape) > len(net.input_size) else 1


def ran_on(
    net: Net,
    input_shape: tuple[int, ...],
    backend: str,
    dtype: str,
    device: "torch.device",
    *,
    cold_cache: bool = False,
) -> Ran:
    """Returns the conditions of passes of ``net`` on an input of ``input_shape``.

    Threads are those that PyTorch has now.
    """
    import torch

    return Ran(
        net=net.name,
        batch_size=batch_size(net, input_shape),
        input_shape=tuple(input_shape),
        backend=backend,
        dtype=dtype,
        device=str(device),
        device_name=environment.machine(str(device))["device"],
        threads=torch.get_num_threads(),
        cold_cache=cold_cache,
    )
