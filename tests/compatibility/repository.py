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

# For ``Run.lines`` of a script that ends by itself, but takes its random numbers from the clock
SEEDED = 10**9
# What ``Run.code`` prints last
ENDED = "all of it ran"


@dataclass(frozen=True)
class Run:
    """A command: what follows ``th``, in ``folder`` of the repository.

    ``cuda``: it wants a GPU, so th gets --cpu-as-cuda, and Torch7 cuda_on_cpu.lua.
    ``printed``: a pattern of the lines whose numbers are compared with Torch7's; None: they say
    nothing that could be compared, for which ``because`` gives the reason, as it does where Torch7 cannot run
    the command. ``environment``: variables that the script reads.
    ``lines``: the script is ended after it has printed so many, because it would train for ever; it begins
    with seed 1. A word with a * stands for the first file that it fits.
    """

    command: str
    folder: str = "."
    cuda: bool = False
    printed: str | None = None
    environment: Sequence[tuple[str, str]] = ()
    stdin: str = ""
    lines: int | None = None
    because: str = ""

    @classmethod
    def each(
        cls, pattern: str, names: str, folder: str = ".", printed: str | None = None, cuda: bool = False
    ) -> list["Run"]:
        """Returns a command for each of the names, which stand for {} in ``pattern``."""
        return [cls(pattern.format(name), folder, cuda, printed, lines=SEEDED) for name in names.split()]

    @classmethod
    def code(
        cls, lua: str, folder: str = ".", cuda: bool = False, printed: str | None = ".*", because: str = ""
    ) -> "Run":
        """Returns a command that runs a few lines of Lua."""
        command = shlex.join(["-e", f"{' '.join(lua.split())} print('{ENDED}')"])
        return cls(command, folder, cuda, printed, because=because)

    def ended_in(self, stdout: str) -> bool:
        """Whether all lines of ``code`` have run: th -e of Torch7 ends well where they have failed."""
        return ENDED not in self.command or ENDED in stdout

    @property
    def words(self) -> list[str]:
        return shlex.split(self.command)


@dataclass(frozen=True)
class Checkpoint:
    """``write``: what leaves a checkpoint in the folder of a repository; ``resume``: what continues from it
    and prints numbers."""

    write: Run
    resume: Run


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
    checkpoint: Checkpoint | None = None

    @property
    def folder(self) -> str:
        return self.name.replace("/", "+")
