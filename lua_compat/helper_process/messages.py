"""Messages to and from a helper process: a line of JSON, then bytes, whose lengths the line has."""

import json
from collections.abc import Sequence
from typing import Any, Protocol


class Stream(Protocol):
    """A stream that messages are read from."""

    def readline(self) -> bytes: ...

    def read(self, size: int, /) -> bytes: ...


def packed(message: dict[str, Any], parts: Sequence[bytes] = ()) -> bytes:
    """Returns a message as bytes."""
    line = json.dumps({**message, "parts": [len(part) for part in parts]})
    return b"".join([line.encode("ascii"), b"\n", *parts])


def read_message(stream: Stream) -> tuple[dict[str, Any], list[bytes]] | None:
    """Reads a message and its parts; None if the stream ends, be it in the middle of one."""
    line = stream.readline()
    if not line.endswith(b"\n"):
        return None
    message = json.loads(line)
    lengths = message.pop("parts")
    parts = [stream.read(length) for length in lengths]
    return (message, parts) if [len(part) for part in parts] == lengths else None
