"""The parts by name; each gives its steps, in the order in which they matter."""

from benchmarks.gpu.parts import first, lines, packages, studies, tests
from benchmarks.gpu.step import Part

PARTS: dict[str, Part] = {
    "1": tests.steps,
    "2": lines.steps,
    "3": studies.steps,
    "4": packages.steps,
    "first": first.steps,
}
# What runs where no part is named: together the others have no step more.
ALL = ("1", "2", "3", "4")
# Seconds that a part may take, where they are not told.
SECONDS = {"first": 350.0}
