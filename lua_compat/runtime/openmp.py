"""How OpenMP's threads wait, before PyTorch is loaded."""

from collections.abc import MutableMapping

SET_BY_USERS = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME", "KMP_LIBRARY")
# About 50 microseconds, longer than the time between two loops of a script. Sleeping at once
# (OMP_WAIT_POLICY=PASSIVE) makes short loops twice as slow on a quiet machine.
_SPINS = 1000


def wait_briefly(environment: MutableMapping[str, str]) -> None:
    """Makes PyTorch's threads spin only briefly while they wait for each other, and then sleep, unless the
    user has chosen how they wait.

    By default they spin for milliseconds. If other programs run, a spinning thread occupies the core that the
    thread it waits for needs. OpenMP reads the variable when it is loaded.
    """
    if not any(name in environment for name in SET_BY_USERS):
        environment["GOMP_SPINCOUNT"] = str(_SPINS)
