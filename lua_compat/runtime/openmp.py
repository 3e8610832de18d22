"""How OpenMP's threads wait, before PyTorch is loaded."""

from collections.abc import MutableMapping

_POLICY = "OMP_WAIT_POLICY"
_SET_BY_USERS = (_POLICY, "GOMP_SPINCOUNT", "KMP_BLOCKTIME", "KMP_LIBRARY")


def sleep_while_waiting(environment: MutableMapping[str, str]) -> None:
    """Makes PyTorch's threads sleep while they wait for each other, unless the user has said how they wait.

    By default they spin. Where other programs run, that takes many times as long: a spinning thread keeps the
    core that the one it waits for needs. OpenMP reads the variable when it is loaded.
    """
    if not any(name in environment for name in _SET_BY_USERS):
        environment[_POLICY] = "PASSIVE"
