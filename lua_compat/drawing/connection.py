"""The connection of a script to the process that draws, which it starts."""

import contextlib
import socket
from collections.abc import Sequence
from typing import Any

from lua_compat.helper_process.messages import packed
from lua_compat.helper_process.process import QUIETLY, start_helper


class Connection:
    """A process that draws, and the socket to it. Raises OSError if no process can be made."""

    def __init__(self) -> None:
        self.process, self._socket = start_helper("lua_compat.drawing.__main__", "main")
        self._answers = self._socket.makefile("rb")

    def send(self, message: dict[str, Any], parts: Sequence[bytes]) -> None:
        """Sends a message whole. Raises OSError if the process has ended."""
        self._socket.sendall(packed(message, parts), QUIETLY)

    def wait_for_answer(self, number: int) -> bool:
        """Waits for the answer of a number, past older ones that nobody waited for (Ctrl-C); returns False
        where the process has ended."""
        while answer := self._answers.readline():
            if answer == b"%d\n" % number:
                return True
        return False

    def close(self) -> None:
        """Closes the socket: the process draws what it has received, and ends."""
        self._answers.close()
        self._socket.close()

    def finish(self) -> None:
        """Waits until the process has drawn everything, or (Ctrl-C) does not wait any longer."""
        with contextlib.suppress(OSError, KeyboardInterrupt):
            self._socket.shutdown(socket.SHUT_WR)
        with contextlib.suppress(KeyboardInterrupt):
            self.process.wait()
        self.close()
