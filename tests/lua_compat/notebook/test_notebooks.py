"""Whole notebooks, run as ``jupyter execute`` runs them."""

import base64
import io
import re
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.commands import run_python

nbformat = pytest.importorskip("nbformat", reason="the extra test has it")
pytest.importorskip("nbclient", reason="the extra test has it")


def executed(jupyter: Path, folder: Path, *cells: str) -> list[Any]:
    """Runs cells in a kernel of their own; returns the outputs of each."""
    path = folder / "cells.ipynb"
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    notebook.metadata.kernelspec = {"name": "itorch", "display_name": "iTorch", "language": "lua"}
    nbformat.write(notebook, path)
    result = run_python(
        "-c", "from nbclient.cli import main; main()", path, "--inplace",
        cwd=folder, environment={"JUPYTER_PATH": str(jupyter)},
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    return [cell.outputs for cell in nbformat.read(path, as_version=4).cells]


def test_a_net_is_trained(jupyter: Path, tmp_path: Path) -> None:
    outputs = executed(
        jupyter,
        tmp_path,
        "require 'nn'; torch.manualSeed(1)",
        "net = nn.Sequential()",
        "net:add(nn.Linear(2, 1))",
        "x, y = torch.randn(50, 2), torch.ones(50, 1); y:copy(x:sum(2)):add(3)",
        "criterion = nn.MSECriterion()\nfor i = 1, 200 do\n"
        "   net:zeroGradParameters()\n   loss = criterion:forward(net:forward(x), y)\n"
        "   net:backward(x, criterion:backward(net.output, y))\n   net:updateParameters(0.1)\nend\n"
        "print('done')",
        "net:get(1).weight, net:get(1).bias",
    )
    assert outputs[2][0].data["text/plain"].startswith("nn.Sequential {\n  [input -> (1) -> output]\n")
    assert outputs[4][0].text == "done\n"
    text = outputs[5][0].data["text/plain"]
    numbers = [
        float(number) for number in re.findall(r"-?\d+\.?\d*", text.replace("DoubleTensor of size 1x2", ""))
    ]
    assert numbers[:2] == pytest.approx([1, 1], abs=1e-3)


def test_pictures_and_sounds(jupyter: Path, tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    (tmp_path / "drawn.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9'/>")
    (tmp_path / "a.mp3").write_bytes(b"sound")
    (tmp_path / "a.mp4").write_bytes(b"video")
    outputs = executed(
        jupyter,
        tmp_path,
        "require 'image'; t = torch.zeros(3, 4, 6); t[1]:fill(1); itorch.image(t)",
        "itorch.image({ t, t }, { padding = 2 })",
        "image.save('red.png', t); itorch.image('red.png')",
        "itorch.image(torch.rand(5, 5))",
        "itorch.image('drawn.svg') itorch.svg('<svg/>')",
        "itorch.audio('a.mp3')",
        "itorch.video('a.mp4')",
        "print(pcall(itorch.audio, 'a.txt')) print(pcall(itorch.video, 'none.mp4'))",
    )

    def picture(output: Any) -> Any:
        return image.open(io.BytesIO(base64.b64decode(output.data["image/png"])))

    red = picture(outputs[0][0])
    assert red.size == (6, 4) and red.getpixel((3, 2)) == (255, 0, 0)
    assert outputs[0][0].metadata["image/png"] == {"width": 6, "height": 4}
    assert picture(outputs[1][0]).size == (16, 6)
    assert picture(outputs[2][0]).getpixel((5, 3)) == (255, 0, 0)
    assert picture(outputs[3][0]).size == (5, 5)
    assert outputs[4][0].data["image/svg+xml"].startswith("<svg xmlns")
    assert outputs[4][1].data["image/svg+xml"] == "<svg/>"
    sound, video = (base64.b64encode(data).decode() for data in (b"sound", b"video"))
    assert outputs[5][0].data["text/html"] == f'<audio controls src="data:audio/mpeg;base64,{sound}"></audio>'
    assert outputs[6][0].data["text/html"] == f'<video controls src="data:video/mp4;base64,{video}"></video>'
    assert "a.txt is none of mp3, wav, ogg, aac" in outputs[7][0].text
    assert "there is no file none.mp4" in outputs[7][0].text


def test_plots(jupyter: Path, tmp_path: Path) -> None:
    pytest.importorskip("bokeh")
    outputs = executed(
        jupyter,
        tmp_path,
        "Plot = require 'itorch.Plot'; x, y = torch.range(1, 5), torch.rand(5)",
        "plot = Plot():circle(x, y, 'red', 'first'):line(x, y, 'blue', 'second'):draw()",
        "plot:title('My plot'):xaxis('length'):yaxis('width'):legend(true):redraw();",
        "Plot():quiver(torch.ones(2, 3), torch.ones(2, 3), 'red', '', 10):draw();",
        "Plot():histogram(torch.Tensor{ 1, 1, 2 }, 2):title('</script>'):save('page.html');",
    )
    first, second = outputs[1][0].data, outputs[3][0].data
    assert len(outputs[1]) == 1 and outputs[2] == []  # redrawn in its place
    assert first["text/plain"] == "a plot: My plot"
    assert '"My plot"' in first["text/html"] and '"length"' in first["text/html"]
    assert "embed_item" in second["text/html"]
    assert len(second["text/html"]) < 20_000  # bokeh's library comes once
    page = (tmp_path / "page.html").read_text()
    assert "<\\/script>" in page or "&lt;/script&gt;" in page
