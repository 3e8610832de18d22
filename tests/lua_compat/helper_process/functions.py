"""Functions for test_library.py, called in a process of their own."""

import os
import time

CALLS: list[int] = []


def _count() -> int:
    CALLS.append(1)
    return len(CALLS)


def _fail(kind: str) -> None:
    if kind == "missing":
        open("/does/not/exist")  # noqa: SIM115
    raise {"value": ValueError, "type": TypeError, "other": ZeroDivisionError}[kind](f"a {kind}")


FUNCTIONS = {
    "same": lambda *values: values,
    "first": lambda *values: values[0],
    "count": _count,
    "fail": _fail,
    "die": lambda number: os.kill(os.getpid(), int(number)),
    "leave": lambda code: os._exit(int(code)),
    "sleep": lambda seconds: time.sleep(seconds),
}
