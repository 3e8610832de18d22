"""Connections of the Lua packages socket and socket.http. A failure is returned as (None, text), as there."""

import http.client
import json
import select
import socket
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from typing import Any

from lua_compat.kernels.strings import to_lua

_PIECE = 1 << 16
_MOST_BYTES = 1 << 30

Answer = tuple[Any, ...]


def _failed(error: Exception) -> tuple[None, str]:
    """Returns a failure in luasocket's words if it has any."""
    if isinstance(error, TimeoutError | BlockingIOError):
        return None, "timeout"
    if isinstance(error, ConnectionRefusedError):
        return None, "connection refused"
    if isinstance(error, ConnectionError):
        return None, "closed"
    if isinstance(error, socket.gaierror):
        return None, "host not found"
    said = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return None, to_lua(said.lower())


class Connections:
    """The sockets of one Lua state, by number."""

    def __init__(self) -> None:
        self._open: dict[int, socket.socket] = {}
        self._read: dict[int, bytearray] = {}  # received but not yet requested
        self._made = 0

    def kernels(self) -> dict[str, Callable[..., Any]]:
        """Returns the kernels by name. They reach other machines: none is for untrusted scripts."""
        found = (
            self.socket_connect, self.socket_listen, self.socket_accept, self.socket_send,
            self.socket_receive, self.socket_name, self.socket_set_timeout, self.socket_ready,
            self.socket_close, self.socket_shut, self.http_request, self.host_address, self.host_name,
        )  # fmt: skip
        return {kernel.__name__: kernel for kernel in found}

    def _add(self, made: socket.socket) -> int:
        self._made += 1
        self._open[self._made] = made
        self._read[self._made] = bytearray()
        return self._made

    def socket_connect(self, host: str, port: float, seconds: float) -> Answer:
        """Returns the number of a connection; ``seconds`` below 0: no time limit."""
        try:
            made = socket.create_connection((host, int(port)), seconds if seconds >= 0 else None)
        except (OSError, OverflowError) as error:
            return _failed(error)
        return (self._add(made), None)

    def socket_listen(self, host: str, port: float, waiting: float) -> Answer:
        """Returns the number of a socket that waits for connections; ``host`` *: on all addresses."""
        try:
            made = socket.create_server(("" if host == "*" else host, int(port)), backlog=int(waiting))
        except (OSError, OverflowError) as error:
            return _failed(error)
        return (self._add(made), None)

    def socket_accept(self, number: int) -> Answer:
        if number not in self._open:
            return None, "closed"
        try:
            made, _ = self._open[number].accept()
        except OSError as error:
            return _failed(error)
        return (self._add(made), None)

    def socket_send(self, number: int, data: str) -> Answer:
        """Returns how many bytes were sent, and the error that stopped it."""
        if number not in self._open:
            return 0, "closed"
        view, sent = memoryview(data.encode("latin-1")), 0
        while sent < len(view):
            try:
                sent += self._open[number].send(view[sent:])
            except OSError as error:
                return sent, _failed(error)[1]
        return sent, None

    def socket_receive(self, number: int, wanted: float, to_end_of_line: bool) -> Answer:
        """Returns bytes, and the error before all had arrived: ``wanted`` bytes, a line, or (below 0)
        everything until the connection is closed."""
        if number not in self._open:
            return "", "closed"
        got = self._read[number]
        problem = None
        while problem is None and not self._is_enough(got, wanted, to_end_of_line):
            try:
                piece = self._open[number].recv(_PIECE)
                got += piece
                problem = None if piece else "closed"
            except OSError as error:
                problem = _failed(error)[1]
        if problem is not None:
            self._read[number] = bytearray()
            if wanted < 0 and not to_end_of_line and problem == "closed":
                problem = None  # the end was waited for
            return got.decode("latin-1"), problem
        count = got.index(b"\n") + 1 if to_end_of_line else int(wanted)
        taken = got[:count]
        del got[:count]
        if to_end_of_line:
            taken = taken[:-1].replace(b"\r", b"")
        return taken.decode("latin-1"), None

    @staticmethod
    def _is_enough(got: bytearray, wanted: float, to_end_of_line: bool) -> bool:
        return b"\n" in got if to_end_of_line else 0 <= wanted <= len(got)

    def socket_name(self, number: int, peer: bool) -> Answer:
        """Returns the address and the port of this end of a connection, or of its peer."""
        if number not in self._open:
            return None, "closed"
        try:
            address = self._open[number].getpeername() if peer else self._open[number].getsockname()
        except OSError as error:
            return _failed(error)
        return address[0], address[1]

    def socket_set_timeout(self, number: int, seconds: float) -> None:
        """Sets the time limit of a connection's operations; below 0: none."""
        if number in self._open:
            self._open[number].settimeout(seconds if seconds >= 0 else None)

    def socket_ready(self, readers: str, writers: str, seconds: float) -> Answer:
        """Returns which of the given numbers (separated by spaces) are ready for reading, and for writing."""
        reading = {int(word): self._open[int(word)] for word in readers.split() if int(word) in self._open}
        writing = {int(word): self._open[int(word)] for word in writers.split() if int(word) in self._open}
        held = [number for number in reading if self._read[number]]
        wait = 0.0 if held else seconds if seconds >= 0 else None
        readable, writable, _ = select.select(list(reading.values()), list(writing.values()), [], wait)
        found = [number for number, one in reading.items() if one in readable or number in held]
        return (
            " ".join(map(str, found)),
            " ".join(str(number) for number, one in writing.items() if one in writable),
        )

    def socket_shut(self, number: int, how: str) -> None:
        """Ends one direction of a connection, or both."""
        ways = {"receive": socket.SHUT_RD, "send": socket.SHUT_WR}
        if number in self._open:
            try:
                self._open[number].shutdown(ways.get(how, socket.SHUT_RDWR))
            except OSError:  # closed by the peer
                return

    def socket_close(self, number: int) -> None:
        if number in self._open:
            self._open.pop(number).close()
            self._read.pop(number)

    def http_request(
        self, method: str, url: str, headers: str, body: str, redirect: bool, seconds: float
    ) -> Answer:
        """Returns body, status, headers (JSON) and the line of the status.

        ``headers``: JSON; ``seconds``: the time limit of each network operation.
        """
        if urllib.parse.urlsplit(url).scheme not in ("http", "https"):
            return None, f"unknown scheme in {url}"
        given = {name: str(value) for name, value in json.loads(headers or "{}").items()}
        data = body.encode("latin-1") if body or method in ("POST", "PUT") else None
        request = urllib.request.Request(url, data, given, method=method)
        opener = urllib.request.build_opener() if redirect else urllib.request.build_opener(_NoRedirect())
        try:
            with opener.open(request, timeout=seconds) as answer:
                return _answered(answer)
        except urllib.error.HTTPError as answer:  # also a response
            with answer:
                return _answered(answer)
        except urllib.error.URLError as error:
            return _failed(error.reason if isinstance(error.reason, Exception) else error)
        except (OSError, http.client.HTTPException, ValueError) as error:
            return _failed(error)

    def host_address(self, name: str) -> Answer:
        """Returns the address of a host."""
        try:
            return socket.gethostbyname(name), None
        except OSError as error:
            return _failed(error)

    def host_name(self) -> str:
        return socket.gethostname()


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *given: Any, **named: Any) -> None:
        return None


def _answered(answer: Any) -> Answer:
    headers = json.dumps({name.lower(): value for name, value in answer.headers.items()})
    body = answer.read(_MOST_BYTES).decode("latin-1")
    return body, answer.status, headers, f"HTTP/1.1 {answer.status} {answer.reason}"
