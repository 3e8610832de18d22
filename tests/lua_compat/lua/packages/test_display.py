"""display: panes on a page of their own, or sent to a server that answers."""

import base64
import io
import json
import re
import threading
import wave
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import numpy as np
from PIL import Image

from tests.helpers.commands import run_lua

SHOW = """
    local display = require 'display'
    display.configure{ port = tonumber(arg[1]), page = arg[2] }
    torch.manualSeed(1)
    local win = display.image(torch.linspace(0, 5, 12):view(3, 4), { title = 'a <picture>', width = 80 })
    assert(type(win) == 'string')
    assert(display.image(torch.ones(1, 3):fill(2), { win = win, max = 2, min = 0 }) == win)
    display.images({ torch.zeros(3, 2, 2), torch.ones(1, 2, 3), torch.ones(2, 2) }, { nperrow = 2,
       labels = { 'one', nil, 'three' } })
    display.image(torch.rand(5, 3, 4, 4))
    local rows = { { 1, 0.5, 0 / 0 }, { 2, 1 / 0, 3 }, { 3, 2.5, 4 } }
    display.plot(rows, { labels = { 'step', 'loss', 'error' }, title = 'progress' })
    display.plot(torch.rand(4, 2))
    display.text('<b>bold</b>', { title = 'words' })
    display.audio(torch.Tensor{ { 0, 0.5 }, { -1, 1 } }, { rate = 8000 })
"""


def pictures(page: str) -> list[np.ndarray]:
    found = re.findall(r"data:image/jpg;base64,([^\"]+)", page)
    return [np.asarray(Image.open(io.BytesIO(base64.b64decode(data)))) for data in found]


def test_a_self_contained_page(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    run_lua(tmp_path, SHOW, "1", str(page))  # no server has port 1
    text = page.read_text()
    assert "a &lt;picture&gt;" in text and "<b>bold</b>" in text and 'http-equiv="refresh"' in text
    assert not re.search(r'(src|href)="(?!data:)', text)
    first, tiles, grid = pictures(text)
    assert first.shape == (1, 3) and first.min() == 255  # the window's second picture replaced its first
    assert tiles.shape == (4, 6, 3) and tiles[0, 0].max() < 40 and tiles[0, 5].min() > 220
    assert grid.shape == (8, 12, 3)
    assert text.count("<svg") == 2 and "loss" in text and text.count("<section") == 7
    (sound,) = re.findall(r"data:audio/wav;base64,([^\"]+)", text)
    with wave.open(io.BytesIO(base64.b64decode(sound))) as file:
        assert (file.getframerate(), file.getnchannels(), file.getnframes()) == (8000, 2, 2)
        assert np.frombuffer(file.readframes(2), "<i2").tolist() == [0, 16384, -32767, 32767]
    assert list(tmp_path.glob("*.tmp")) == []


def test_a_server_that_answers_gets_the_panes(tmp_path: Path) -> None:
    received = []

    class Server(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            received.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Server) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            run_lua(tmp_path, SHOW, str(server.server_port), str(tmp_path / "page.html"))
        finally:
            server.shutdown()
            thread.join()
    assert not (tmp_path / "page.html").exists()
    assert [pane["type"] for pane in received] == [*["image"] * 4, "plot", "plot", "text", "audio"]
    assert all(pane["command"] == "pane" for pane in received)
    assert received[0]["id"] == received[1]["id"] and received[0]["title"] == "a <picture>"
    assert received[2]["content"]["labels"] == [[0, 0, "one"], [0, 0.5, "three"]]
    plot = received[4]["content"]
    assert plot["file"] == [[1, 0.5, None], [2, None, 3], [3, 2.5, 4]]
    assert (plot["xlabel"], plot["labels"], "win" in plot) == ("step", ["step", "loss", "error"], False)
