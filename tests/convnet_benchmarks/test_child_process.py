"""Functions in a process of their own: results, errors, and processes that die."""

import os
import signal
from typing import Any

import pytest

from convnet_benchmarks import child_process
from convnet_benchmarks.errors import OutOfDeviceMemoryError, UserError
from tests.helpers.commands import default_ctrl_c

HERE = __name__


def pid_and(argument: Any) -> list[Any]:
    print("this must not spoil the answer")
    return [os.getpid(), argument]


def fails(kind: str) -> None:
    raise {"user": UserError, "memory": OutOfDeviceMemoryError, "defect": ZeroDivisionError}[kind]("why")


def dies(number: int) -> None:
    default_ctrl_c()
    os.kill(os.getpid(), number)


def test_the_result_comes_from_another_process() -> None:
    pid, echoed = child_process.call(f"{HERE}:pid_and", {"a": [1, None, "ü"]})
    assert pid != os.getpid() and echoed == {"a": [1, None, "ü"]}


@pytest.mark.parametrize(
    ("kind", "error"), [("user", UserError), ("memory", OutOfDeviceMemoryError), ("defect", RuntimeError)]
)
def test_errors_come_back(kind: str, error: type[Exception]) -> None:
    with pytest.raises(error, match="why") as caught:
        child_process.call(f"{HERE}:fails", kind)
    assert type(caught.value) is error


def test_a_killed_process_is_named_as_such() -> None:
    with pytest.raises(OutOfDeviceMemoryError, match="killed"):
        child_process.call(f"{HERE}:dies", signal.SIGKILL)


def test_ctrl_c_in_it_is_ctrl_c_here() -> None:
    with pytest.raises(KeyboardInterrupt):
        child_process.call(f"{HERE}:dies", signal.SIGINT)
