"""The process that draws a script's figures, which it receives on a socket, its standard input.

It ends when the script's process has ended, in whatever way, and everything requested has been drawn. What
cannot be drawn is reported on stderr.
"""

import contextlib
import json
import os
import socket
import threading
from dataclasses import dataclass
from typing import Any

import numpy as np

from lua_compat.drawing.figures import draw_figure
from lua_compat.drawing.waiting import Waiting
from lua_compat.helper_process.messages import read_message


@dataclass(frozen=True)
class Content:
    """The content of a figure; ``described``: its series point into ``arrays``."""

    described: dict[str, Any]
    arrays: list[np.ndarray]


@dataclass(frozen=True)
class Picture:
    """A figure as it is to be in a file."""

    content: Content
    settings: dict[str, Any]
    kind: str
    size: tuple[float, float]


def main() -> None:
    """Draws until the socket ends."""
    script = socket.socket(fileno=os.dup(0))
    waiting: Waiting[Picture] = Waiting()
    listening = threading.Thread(target=_listen, args=(script, waiting), daemon=True)
    listening.start()
    while waiting.draw_next(_draw):
        pass


def _listen(script: socket.socket, waiting: Waiting[Picture]) -> None:
    contents: dict[int, Content] = {}
    try:
        with contextlib.suppress(OSError), script, script.makefile("rb", buffering=1 << 20) as stream:
            while received := read_message(stream):
                message, parts = received
                figure = message.get("figure", 0)
                if message["do"] == "draw":
                    if len(parts) > 1:
                        contents[figure] = _content(parts[1], parts[2:])
                    picture = Picture(contents[figure], _read(parts[0]), message["kind"], message["size"])
                    waiting.add(message["path"], picture)
                elif message["do"] == "forget":
                    contents.pop(figure, None)
                else:
                    waiting.settle(message["paths"])
                    script.sendall(b"%d\n" % message["number"])
    finally:  # the script's process has ended
        waiting.end()


def _read(text: bytes) -> dict[str, Any]:
    described: dict[str, Any] | list[Any] = json.loads(text.decode("utf-8", "replace"))
    return described if isinstance(described, dict) else {}  # an empty table of Lua's may be a list


def _content(text: bytes, data: list[bytes]) -> Content:
    described = _read(text)
    shapes = described["shapes"]
    arrays = [np.frombuffer(d, np.float64).reshape(shape) for d, shape in zip(data, shapes, strict=True)]
    return Content(described, arrays)


def _draw(path: str, picture: Picture) -> None:
    content = picture.content
    try:
        drawn = draw_figure(content.described, content.arrays, picture.settings, picture.kind, picture.size)
        with open(path, "wb") as file:
            file.write(drawn)
    except OSError as error:
        _tell(f"gnuplot: cannot write {path}: {error.strerror or error}")
    except Exception as error:  # whatever matplotlib thinks of a style, a color or a number
        _tell(f"gnuplot: cannot draw {path}: {error}")


def _tell(text: str) -> None:
    line = text.encode("utf-8", "surrogateescape").replace(b"\n", b" ") + b"\n"
    with contextlib.suppress(OSError):
        os.write(2, line)


if __name__ == "__main__":
    main()
