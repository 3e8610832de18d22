"""Other programs, beside which something is measured."""

import contextlib
import subprocess
import sys
from collections.abc import Iterator

_BUSY = "while True: pass"


@contextlib.contextmanager
def others(count: int) -> Iterator[None]:
    """Runs so many programs meanwhile that compute without end."""
    running = [subprocess.Popen([sys.executable, "-c", _BUSY]) for _ in range(count)]
    try:
        yield
    finally:
        for one in running:
            one.kill()
            one.wait()
