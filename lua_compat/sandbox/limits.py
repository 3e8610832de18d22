"""The limits of a script that is not trusted."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """The limits of a script: memory beyond the packages', elapsed time, what it prints and returns."""

    memory_mb: int = 1024
    seconds: float = 60.0
    output_mb: int = 64
