"""A step of a part: one command, what it may take, and what is kept of it."""

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

# Stands in a step's command for the file that the command writes its result into.
RESULT = "{result}"
PYTHON = sys.executable

Size = TypeVar("Size")


@dataclass(frozen=True)
class Step:
    """``name`` is unique in its part. ``seconds``: after which it is ended.

    ``needs``: files of the user's that it works on; where one is missing the step is skipped.
    ``variables``: of the environment. ``alone``: False if it measures no time; then it runs beside others.
    """

    name: str
    command: tuple[str, ...]
    seconds: float = 120.0
    needs: tuple[Path, ...] = ()
    variables: dict[str, str] = field(default_factory=dict)
    alone: bool = True


@dataclass(frozen=True)
class Setting:
    """What a part's steps depend on.

    ``checkouts``: the folder of the user's checkouts of Torch7's packages and scripts. ``rehearsal``: the CPU
    stands in for the GPU, and every size is the smallest that takes the same way through the code.
    """

    checkouts: Path
    rehearsal: bool = False

    def sized(self, real: Size, rehearsed: Size) -> Size:
        return rehearsed if self.rehearsal else real


# The steps of one part, in the order in which they matter.
Part = Callable[[Setting], list[Step]]


def script(name: str, *arguments: Any, seconds: float = 120.0, title: str = "") -> Step:
    """Returns the step that runs a script of the root of the checkout, or ``-m`` and a module."""
    words = tuple(str(one) for one in arguments)
    start = ("-m", name) if not name.endswith(".py") else (name,)
    shown = " ".join(word for word in words if word not in ("--json", "--points", RESULT))
    return Step(title or f"{name} {shown}".strip(), (PYTHON, *start, *words), seconds)


def check(name: str, setting: Setting, *arguments: str, seconds: float = 120.0, alone: bool = True) -> Step:
    """Returns the step that runs a module of checks/."""
    words = (PYTHON, "-m", f"benchmarks.gpu.checks.{name}", RESULT, *arguments)
    title = " ".join((name.replace("_", " "), *arguments))
    return Step(title, (*words, *setting.sized((), ("--small",))), seconds, alone=alone)
