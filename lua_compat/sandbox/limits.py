"""The limits of a script that is not trusted."""

import math
from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class Limits:
    """The limits of a script: memory beyond the packages', elapsed time, what it prints and returns."""

    memory_mb: int = 1024
    seconds: float = 60.0
    output_mb: int = 64

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if not isinstance(value, int | float) or not 0 < value < math.inf:
                raise ValueError(f"limits: {name} is {value!r}; accepted: a number above 0")
