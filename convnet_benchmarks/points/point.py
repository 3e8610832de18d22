"""One measured point: a net with a batch on a device, and what is found out about it."""

import dataclasses
import json
from dataclasses import asdict, dataclass
from typing import Any

from convnet_benchmarks.nets.net import Input, InputSize
from convnet_benchmarks.points.fields import FieldError, Fields
from convnet_benchmarks.workload.devices import DTYPES

MODES = ("inference", "training")

# What became of a point. The first three are final; a failed point is measured again when a study resumes.
OK, OUT_OF_MEMORY, UNSUPPORTED, FAILED = "ok", "out of memory", "unsupported", "failed"
STATUSES = (OK, OUT_OF_MEMORY, UNSUPPORTED, FAILED)


@dataclass(frozen=True)
class Point:
    """A measurement to make. Raises ValueError for an unknown mode or number format.

    ``device``: cpu, cuda or cuda:N. ``backend``: a name of ``workload/backends.py``. ``mode``: inference, or
    training, which is the three phases. ``threads``: None for PyTorch's own choice. ``input_size``: of one
    sample, None for the net's own. ``seed``: of the parameters; the input's is one more. ``cold_cache``:
    emptied before each timed pass.
    """

    net: str
    batch_size: int = 1
    device: str = "cpu"
    dtype: str = "float32"
    backend: str = "stock"
    mode: str = "inference"
    threads: int | None = None
    input_size: InputSize | None = None
    seed: int = 1
    cold_cache: bool = False

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise ValueError(f"unknown mode '{self.mode}'; accepted: {', '.join(MODES)}")
        if self.dtype not in DTYPES:
            raise ValueError(f"unknown number format '{self.dtype}'; accepted: {', '.join(DTYPES)}")

    def __str__(self) -> str:
        what = [self.net, f"batch {self.batch_size}", self.device, self.dtype, self.backend]
        what += ["training"] if self.mode == "training" else []
        return ", ".join([*what, *(["cold cache"] if self.cold_cache else [])])

    @property
    def key(self) -> str:
        """Returns the same text for the same point, whatever wrote it."""
        return json.dumps(asdict(self))

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_dict(content: dict[str, Any]) -> "Point":
        """Returns the point that ``as_dict`` described; raises ValueError for anything else."""
        return Point.from_fields(Fields(content, "point"))

    @staticmethod
    def from_fields(given: Fields) -> "Point":
        """Returns the same; raises FieldError, which is a ValueError."""
        unknown = set(given) - {field.name for field in dataclasses.fields(Point)}
        if unknown:
            raise FieldError(f"unknown fields of a point: {', '.join(sorted(map(str, unknown)))}")
        size: InputSize | None = None
        if not given.is_null("input_size", "a list of sizes"):
            size = _several(given) if given.has_objects("input_size") else given.wholes("input_size")
        return Point(
            net=given.text("net"),
            batch_size=given.whole("batch_size"),
            device=given.text("device"),
            dtype=given.text("dtype", *DTYPES),
            backend=given.text("backend"),
            mode=given.text("mode", *MODES),
            threads=None if given.is_null("threads", "a whole number") else given.whole("threads"),
            input_size=size,
            seed=given.seed("seed"),
            cold_cache="cold_cache" in given and given.flag("cold_cache"),
        )


def _several(given: Fields) -> tuple[Input, ...]:
    """Returns the inputs of a net that takes several."""
    return tuple(
        Input(one.text("name"), one.wholes("shape"), one.text("kind")) for one in given.each("input_size")
    )
