"""An option that torch.nn takes as one number or as two."""

from collections.abc import Sequence


def pair(value: int | Sequence[int]) -> tuple[int, int]:
    """Returns the option as (vertical, horizontal), using a single number for both."""
    return (value, value) if isinstance(value, int) else (int(value[0]), int(value[-1]))
