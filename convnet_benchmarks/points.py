"""One measured point: a net with a batch on a device, and what is found out about it."""

import json
from dataclasses import asdict, dataclass, fields
from typing import Any

DTYPES = ("float32", "float64", "bfloat16", "float16")
MODES = ("inference", "training")

# What became of a point. The first three are final; a failed point is measured again when a study resumes.
OK, OUT_OF_MEMORY, UNSUPPORTED, FAILED = "ok", "out of memory", "unsupported", "failed"


@dataclass(frozen=True)
class Point:
    """What is measured. Raises ValueError for a mode or number format that there is not.

    ``device``: cpu, cuda or cuda:N. ``backend``: a name of ``study_backends``. ``mode``: inference, or
    training, which is the three phases. ``threads``: None for PyTorch's own choice. ``input_size``: planes,
    height and width, None for the net's own. ``seed``: of the parameters; the input's is one more.
    """

    net: str
    batch_size: int = 1
    device: str = "cpu"
    dtype: str = "float32"
    backend: str = "stock"
    mode: str = "inference"
    threads: int | None = None
    input_size: tuple[int, int, int] | None = None
    seed: int = 1

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise ValueError(f"unknown mode '{self.mode}'; accepted: {', '.join(MODES)}")
        if self.dtype not in DTYPES:
            raise ValueError(f"unknown number format '{self.dtype}'; accepted: {', '.join(DTYPES)}")

    def __str__(self) -> str:
        what = [self.net, f"batch {self.batch_size}", self.device, self.dtype, self.backend]
        return ", ".join([*what, *(["training"] if self.mode == "training" else [])])

    @property
    def key(self) -> str:
        """The same text for the same point, whatever wrote it."""
        return json.dumps(asdict(self))

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_dict(content: dict[str, Any]) -> "Point":
        """The point that ``as_dict`` described; raises ValueError or TypeError for anything else."""
        unknown = set(content) - {field.name for field in fields(Point)}
        if unknown:
            raise ValueError(f"unknown fields of a point: {', '.join(sorted(unknown))}")
        size = content.get("input_size")
        return Point(**{**content, "input_size": None if size is None else tuple(size)})
