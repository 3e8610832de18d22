"""A function called in a Python process of its own; its argument and its result are JSON values."""

import contextlib
import importlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

from convnet_benchmarks.errors import EXIT_INTERRUPTED, OutOfDeviceMemoryError, UserError

_ERRORS = {kind.__name__: kind for kind in (UserError, OutOfDeviceMemoryError)}


def environment(variables: Mapping[str, str] | None = None) -> dict[str, str]:
    """Returns a child's environment variables: this process's, a path to this package, and ``variables``."""
    package = str(Path(__file__).resolve().parent.parent)
    path = os.pathsep.join(filter(None, (package, os.environ.get("PYTHONPATH"))))
    return {**os.environ, "PYTHONPATH": path, **(variables or {})}


def stdout_for_answers() -> TextIO:
    """Returns the child's stdout; whatever else writes there, such as a library, writes to stderr from
    now on.
    """
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return answers


def call(function: str, argument: Any, *, wrapper: Sequence[str] = ()) -> Any:
    """Returns the result of ``function`` ("module:name") called with ``argument`` in a new process.

    ``wrapper`` is a command that runs another one, such as ``perf stat``. A UserError of the function is
    raised again here. A process that was killed, or that a net ended, is a UserError, too. Any other failure
    is a RuntimeError.
    """
    command = [*wrapper, sys.executable, "-m", __name__, function]
    done = subprocess.run(
        command,
        input=json.dumps(argument, default=vars),
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode == 0 and done.stdout:
        answer = json.loads(done.stdout)
        if "error" in answer:
            raise _ERRORS[answer["error"]](answer["message"])
        return answer["result"]
    if done.returncode in (EXIT_INTERRUPTED, -signal.SIGINT):
        raise KeyboardInterrupt
    if done.returncode == -signal.SIGKILL:
        raise OutOfDeviceMemoryError(f"the process of {function} was killed, most likely for lack of memory")
    if "Traceback (most recent call last)" in done.stderr:
        raise RuntimeError(
            f"the process of {function} ended with code {done.returncode}: {done.stderr.strip()}"
        )
    raise UserError(f"the measuring process {_how(done.returncode)}{_last_line(done.stderr)}")


def _how(code: int) -> str:
    return f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"


def _last_line(stderr: str) -> str:
    last = next((line.strip() for line in reversed(stderr.split("\n")) if line.strip()), "")
    return f": {last[:300]}" if last else ""


def _answer() -> int:
    """Does the work of the new process: reads the argument from stdin and writes the answer alone to
    stdout.
    """
    module, name = sys.argv[1].split(":")
    answers = stdout_for_answers()
    argument = json.load(sys.stdin)
    try:
        answer = {"result": getattr(importlib.import_module(module), name)(argument)}
    except UserError as error:
        answer = {"error": type(error).__name__, "message": str(error)}
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    with answers:
        json.dump(answer, answers)
    return 0


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        sys.exit(_answer())
    sys.exit(EXIT_INTERRUPTED)
