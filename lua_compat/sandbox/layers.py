"""The layers that hold a script even where native code runs: which this machine has; entering them."""

import os
import platform
from collections.abc import Collection

from lua_compat.sandbox import landlock, rlimits, seccomp
from lua_compat.sandbox.limits import Limits
from lua_compat.sandbox.system_calls import no_new_privileges

NAMES, LIMITS, LANDLOCK, SECCOMP = "names", "limits", "Landlock", "seccomp"

_MOST_DESCRIPTORS = 1 << 16  # a process that has just begun has fewer


def missing() -> dict[str, str]:
    """Returns the layers that this machine lacks, each with what it would take."""
    if platform.system() != "Linux":
        return {LANDLOCK: "only Linux has it", SECCOMP: "only Linux has it"}
    here = f"Linux {platform.release()} on {platform.machine()} has none, or it is switched off"
    found: dict[str, str] = {}
    if not landlock.version():
        found[LANDLOCK] = f"{here}; it takes Linux 5.13, and a container that lets it through"
    if not seccomp.is_there():
        found[SECCOMP] = f"{here}; it takes x86_64 or aarch64, and a container that lets it through"
    return found


class Layers:
    """Entering the layers, in two steps. ``without``: the ones that are not there."""

    def __init__(self, without: Collection[str]) -> None:
        self._without = frozenset(without)
        self._memory = rlimits.Memory()

    def enter_before_threads(self) -> None:
        """Enters what holds only for the thread that enters it and those that it starts. Raises OSError."""
        no_new_privileges()
        if LANDLOCK in self._without:
            return
        others = len(os.listdir("/proc/self/task")) - 1
        if others:
            raise OSError(f"threads were started before {LANDLOCK} could hold them: {others}")
        landlock.enter()

    def enter(self, limits: Limits, keep_open: int) -> tuple[str, ...]:
        """Enters what holds for all threads; returns the layers that hold now. Raises OSError.

        ``keep_open``: the one descriptor that stays open besides 0, 1 and 2.
        """
        rlimits.enter(limits, self._memory)
        os.closerange(3, keep_open)
        os.closerange(keep_open + 1, _MOST_DESCRIPTORS)
        if SECCOMP not in self._without:
            seccomp.enter()
        return tuple(layer for layer in (NAMES, LIMITS, LANDLOCK, SECCOMP) if layer not in self._without)
