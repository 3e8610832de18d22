"""Panes of the Lua package display: sent to a display server, or written as one page of HTML."""

import base64
import html
import io
import json
import math
import os
import urllib.error
import urllib.request
import wave
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from lua_compat.kernels.arrays import array_of
from lua_compat.kernels.results import Out
from lua_compat.kernels.strings import from_lua

__all__ = ["base64_of", "display_post", "display_write_page", "read_bytes", "wave_of"]

_SECONDS = 2  # a server on this machine answers at once
_RELOAD_SECONDS = 5
_LOUDEST = 32767

_PAGE = """<!DOCTYPE html>
<html><head><meta charset="utf-8"><meta http-equiv="refresh" content="{seconds}"><title>display</title><style>
body {{ font: 14px sans-serif; background: #eee; margin: 4px }}
body {{ display: flex; flex-wrap: wrap; align-items: flex-start }}
section {{ background: #fff; margin: 4px; padding: 6px; border: 1px solid #bbb }}
h2 {{ font-size: 14px; margin: 0 0 6px }}
figure {{ position: relative; margin: 0 }}
figure span {{ position: absolute; color: #fff; background: #0008; padding: 0 3px }}
img {{ image-rendering: pixelated; display: block }}
text {{ font: 11px sans-serif }}
</style></head><body>
{panes}
</body></html>
"""
_COLORS = ("#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#8c564b", "#17becf", "#7f7f7f")
_WIDTH, _HEIGHT, _MARGIN = 420, 260, 46


def base64_of(t: Tensor) -> str:
    """Returns the elements of a contiguous tensor in base64."""
    return base64.b64encode(array_of(t).tobytes()).decode("ascii")


def read_bytes(out: Out, path: str) -> None:
    """Reads a file into a uint8 tensor."""
    with open(from_lua(path), "rb") as file:
        _fill(out, file.read())


def _fill(out: Tensor, data: bytes) -> None:
    out.resize_(len(data))
    if data:
        out.copy_(torch.frombuffer(bytearray(data), dtype=torch.uint8))


def wave_of(out: Out, samples: Tensor, rate: float) -> None:
    """Writes samples x channels as a 16-bit WAV. Values of at most 1 have the full scale 1, others 2^31, as
    in Torch7's audio."""
    largest = float(samples.abs().max()) if samples.numel() else 0.0
    full = 1.0 if largest <= 1 else float(1 << 31)
    written = io.BytesIO()
    with wave.open(written, "wb") as file:
        file.setnchannels(samples.shape[1])
        file.setsampwidth(2)
        file.setframerate(int(rate))
        scaled = (samples * (_LOUDEST / full)).round().clamp(-_LOUDEST, _LOUDEST).to(torch.int16)
        file.writeframes(array_of(scaled.contiguous()).astype("<i2").tobytes())
    _fill(out, written.getvalue())


def display_post(url: str, body: str) -> bool:
    """Sends a command to a server; returns whether one accepted it."""
    request = urllib.request.Request(url, body.encode("latin-1"), {"Content-Type": "application/text"})
    try:
        with urllib.request.urlopen(request, timeout=_SECONDS) as answer:
            return 200 <= int(answer.status) < 300
    except (OSError, ValueError):
        return False


def display_write_page(path: str, panes: str) -> None:
    """Writes panes (JSON: a list of commands) as a self-contained page, replaced atomically."""
    path = from_lua(path)
    described = json.loads(panes.encode("latin-1").decode("utf-8", "replace"))
    text = _PAGE.format(seconds=_RELOAD_SECONDS, panes="\n".join(map(_pane, described)))
    unfinished = f"{path}.{os.getpid()}.tmp"
    with open(unfinished, "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(unfinished, path)


def _pane(pane: dict[str, Any]) -> str:
    title = html.escape(str(pane.get("title") or ""))
    content = _CONTENTS[pane["type"]](pane["content"])
    heading = f"<h2>{title}</h2>" if title else ""
    return f'<section id="{html.escape(str(pane["id"]))}">{heading}{content}</section>'


def _image(content: dict[str, Any]) -> str:
    width = f' width="{float(content["width"]):g}"' if content.get("width") else ""
    labels = "".join(
        f'<span style="left:{100 * x:.4g}%;top:{100 * y:.4g}%">{html.escape(str(text))}</span>'
        for x, y, text in content.get("labels") or []
    )
    return f'<figure><img src="{html.escape(content["src"])}"{width}>{labels}</figure>'


def _text(content: object) -> str:
    return f"<div>{content}</div>"  # display interprets text as HTML


def _audio(content: str) -> str:
    return f'<audio controls src="{html.escape(content)}"></audio>'


def _ticks(low: float, high: float) -> list[float]:
    """Returns about five round numbers from ``low`` to ``high``."""
    span = high - low
    step = 10.0 ** math.floor(math.log10(span / 4))
    step *= next((times for times in (1, 2, 5) if span / (step * times) <= 6), 10)
    first = math.ceil(low / step)
    return [k * step for k in range(first, math.floor(high / step) + 1)]


def _range(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(values, default=0.0), max(values, default=1.0)
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def _plot(options: dict[str, Any]) -> str:
    """Returns an SVG of the columns of ``file`` over its first."""
    rows = [row for row in options["file"] if row and row[0] is not None]
    names = options.get("labels") or []
    columns = max((len(row) for row in rows), default=1)
    values = [value for row in rows for value in row[1:] if value is not None]
    (left, right), (low, high) = _range([row[0] for row in rows]), _range(values)

    def place(x: float, y: float) -> tuple[float, float]:
        across, up = (x - left) / (right - left), (y - low) / (high - low)
        return _MARGIN + across * (_WIDTH - _MARGIN - 8), 8 + (1 - up) * (_HEIGHT - _MARGIN - 8)

    drawn = [f'<svg width="{_WIDTH}" height="{_HEIGHT}" xmlns="http://www.w3.org/2000/svg">']
    for tick in _ticks(left, right):
        x, y = place(tick, low)
        drawn.append(f'<path d="M{x:.1f} 8V{y:.1f}" stroke="#ddd"/>')
        drawn.append(f'<text x="{x:.1f}" y="{y + 14:.1f}" text-anchor="middle">{tick:g}</text>')
    for tick in _ticks(low, high):
        x, y = place(left, tick)
        drawn.append(f'<path d="M{x:.1f} {y:.1f}H{_WIDTH - 8}" stroke="#ddd"/>')
        drawn.append(f'<text x="{x - 4:.1f}" y="{y + 4:.1f}" text-anchor="end">{tick:g}</text>')
    for column in range(1, columns):
        color = _COLORS[(column - 1) % len(_COLORS)]
        drawn += _line(rows, column, color, place)
        if column < len(names):
            name = html.escape(str(names[column]))
            drawn.append(f'<text x="{_MARGIN + 8}" y="{10 + 13 * column}" fill="{color}">{name}</text>')
    for key, x, y in (("xlabel", _WIDTH / 2, _HEIGHT - 6), ("ylabel", 40, 10)):
        if options.get(key):
            text = html.escape(str(options[key]))
            drawn.append(f'<text x="{x}" y="{y}" text-anchor="middle">{text}</text>')
    return "".join([*drawn, "</svg>"])


def _line(rows: list[list[float | None]], column: int, color: str, place: Any) -> list[str]:
    """Returns a column as lines, which are broken where a value is missing."""
    pieces: list[list[str]] = [[]]
    for row in rows:
        value = row[column] if column < len(row) else None
        if value is None:
            pieces.append([])
        else:
            x, y = place(row[0], value)
            pieces[-1].append(f"{x:.1f},{y:.1f}")
    return [
        f'<polyline points="{" ".join(piece)}" fill="none" stroke="{color}"/>' for piece in pieces if piece
    ]


_CONTENTS: dict[str, Callable[[Any], str]] = {"image": _image, "plot": _plot, "text": _text, "audio": _audio}
