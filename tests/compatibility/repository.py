"""A repository on the list: what it needs and what is run."""

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

# How far a repository comes, in this order. ``end`` means that every command on the list ran to its end.
STAGES = (
    "nothing",
    "files parse",
    "packages load",
    "runs in part",
    "runs to its end",
    "numbers equal",
    "bits equal",
)


@dataclass(frozen=True)
class Run:
    """A command: what follows ``th``, in ``folder`` of the repository.

    ``cuda``: it wants a GPU, so th gets --cpu-as-cuda, and Torch7 cuda_on_cpu.lua.
    ``printed``: a pattern of the lines whose numbers are
    compared with Torch7's; None: they say nothing that could be compared (times, random numbers).
    ``environment``: variables that the script reads. ``lines``: the script is ended after it has printed so
    many, because it would train for ever. A word with a * stands for the first file that it fits.
    """

    command: str
    folder: str = "."
    cuda: bool = False
    printed: str | None = None
    environment: Sequence[tuple[str, str]] = ()
    stdin: str = ""
    lines: int | None = None

    @property
    def words(self) -> list[str]:
        return shlex.split(self.command)


@dataclass(frozen=True)
class Repository:
    """``name``: OWNER/NAME on GitHub; ``commit``: what was run; ``licence``: its own, in SPDX's words.

    ``absent``: modules that its files require and that nobody has published: they fail on Torch7, too.
    ``data(folder, seed)`` writes what the commands read, small and from the seed. ``not_counted``: why it
    runs nowhere, Torch7 included.
    """

    name: str
    commit: str
    licence: str
    runs: Sequence[Run] = ()
    data: Callable[[Path, int], None] | None = None
    not_counted: str = ""
    absent: Sequence[str] = ()

    @property
    def folder(self) -> str:
        return self.name.replace("/", "+")
