"""The connection of a script to the process that draws, which it starts."""

import contextlib
import os
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lua_compat.drawing.messages import packed

_ROOT = str(Path(__file__).resolve().parents[2])
# Our own modules, whatever lies in the working folder.
_START = "import sys; sys.path[0] = {root!r}; from lua_compat.drawing.__main__ import main; main()"
# A script's process is one that a broken pipe ends, but not for this.
_QUIETLY = getattr(socket, "MSG_NOSIGNAL", 0)


class Connection:
    """A process that draws, and the socket to it. Raises OSError where no process can be made."""

    def __init__(self) -> None:
        self._socket, its = socket.socketpair()
        with its:
            self.process = subprocess.Popen(
                [sys.executable, "-c", _START.format(root=_ROOT)],
                stdin=its.fileno(),
                stdout=subprocess.DEVNULL,
                env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},  # threads that would have nothing to do
                start_new_session=True,  # so that Ctrl-C, and what ends this session, come to us alone
            )
        self._answers = self._socket.makefile("rb")

    def send(self, message: dict[str, Any], parts: Sequence[bytes]) -> None:
        """Sends a message whole. Raises OSError where the process has ended."""
        self._socket.sendall(packed(message, parts), _QUIETLY)

    def wait_for_answer(self, number: int) -> bool:
        """Waits for the answer of a number, past older ones that nobody waited for (Ctrl-C); returns False
        where the process has ended."""
        while answer := self._answers.readline():
            if answer == b"%d\n" % number:
                return True
        return False

    def close(self) -> None:
        """Closes the socket: the process draws what it has been told, and ends."""
        self._answers.close()
        self._socket.close()

    def finish(self) -> None:
        """Waits until the process has drawn everything, or (Ctrl-C) does not wait any longer."""
        with contextlib.suppress(OSError, KeyboardInterrupt):
            self._socket.shutdown(socket.SHUT_WR)
        with contextlib.suppress(KeyboardInterrupt):
            self.process.wait()
        self.close()
