"""Compares what a random program gave in our th and in Torch7."""

import re

NUMBER = re.compile(r"-?(?:nan|inf|\d+\.?\d*(?:e[+-]?\d+)?)")
TOLERANCE = 1e-4  # of five printed digits
SMALL = {"modules": 1e-2}  # below this, differences count absolutely: sums in single precision

# Torch7 views some tensors where ours copies them.
ONLY_IN_TORCH7 = ("expecting a contiguous tensor", "input must be contiguous", "CRASH")


def same_number(a: str, b: str, small: float) -> bool:
    if a.endswith("nan") or b.endswith("nan"):
        return a.endswith("nan") and b.endswith("nan")
    x, y = float(a), float(b)
    return x == y or abs(x - y) <= TOLERANCE * max(small, abs(x), abs(y))


def same(of_torch7: str, ours: str, small: float = 1e-3) -> bool:
    """Returns whether two lines tell the same, but for rounding."""
    if of_torch7 == ours or any(text in of_torch7 for text in ONLY_IN_TORCH7):
        return True
    if NUMBER.split(of_torch7) != NUMBER.split(ours):
        return False
    pairs = zip(NUMBER.findall(of_torch7), NUMBER.findall(ours), strict=True)
    return all(same_number(x, y, small) for x, y in pairs)
