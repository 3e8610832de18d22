"""What Python processes started by this one have in common: their environment, and a stdout for answers."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TextIO


def environment(variables: Mapping[str, str] | None = None) -> dict[str, str]:
    """This process's, with this package where the child imports from; ``variables`` on top."""
    package = str(Path(__file__).resolve().parent.parent)
    path = os.pathsep.join(filter(None, (package, os.environ.get("PYTHONPATH"))))
    return {**os.environ, "PYTHONPATH": path, **(variables or {})}


def stdout_for_answers() -> TextIO:
    """The child's stdout; whatever else writes there, such as a library, writes to stderr from now on."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return answers
