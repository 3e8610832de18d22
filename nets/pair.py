"""An option that torch.nn takes as one number or as two."""

from collections.abc import Sequence


def pair(value: int | Sequence[int]) -> tuple[int, int]:
    """Returns the option as (vertical, horizontal), with one number for both where only one is given."""
    return (value, value) if isinstance(value, int) else (int(value[0]), int(value[-1]))
