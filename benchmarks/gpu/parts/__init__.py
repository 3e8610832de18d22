"""The four parts by number; each gives its steps, in the order in which they matter."""

from benchmarks.gpu.parts import lines, packages, studies, tests
from benchmarks.gpu.step import Part

PARTS: dict[int, Part] = {1: tests.steps, 2: lines.steps, 3: studies.steps, 4: packages.steps}
