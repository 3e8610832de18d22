"""The parts by name; each gives its steps, in the order in which they matter."""

from benchmarks.gpu.parts import first, lines, packages, rest, studies, tests, tune
from benchmarks.gpu.step import Part

PARTS: dict[str, Part] = {
    "1": tests.steps,
    "2": lines.steps,
    "3": studies.steps,
    "4": packages.steps,
    "first": first.steps,
    "tune": tune.steps,
    "rest": rest.steps,
}
# What runs where no part is named: what else there is measures a choice of their steps, or takes another way.
ALL = ("1", "2", "3", "4")
# Seconds that a part may take, where they are not reported.
SECONDS = {"first": 350.0, "tune": 230.0, "rest": 470.0}
