"""A whole notebook, run as ``jupyter execute`` runs it."""

import base64
import io
import re
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.commands import run_python

nbformat = pytest.importorskip("nbformat", reason="the extra test has it")
pytest.importorskip("nbclient", reason="the extra test has it")

CELLS = {
    "seed": "require 'nn'; torch.manualSeed(1)",
    "net": "net = nn.Sequential()",
    "layer": "net:add(nn.Linear(2, 1))",
    "data": "x, y = torch.randn(50, 2), torch.ones(50, 1); y:copy(x:sum(2)):add(3)",
    "training": """
criterion = nn.MSECriterion()
for i = 1, 200 do
   net:zeroGradParameters()
   criterion:forward(net:forward(x), y)
   net:backward(x, criterion:backward(net.output, y))
   net:updateParameters(0.1)
end
print('done')""",
    "parameters": "net:get(1).weight, net:get(1).bias",
    "picture": "require 'image'; t = torch.zeros(3, 4, 6); t[1]:fill(1); itorch.image(t)",
    "pictures": "itorch.image({ t, t }, { padding = 2 })",
    "picture of a file": "image.save('red.png', t); itorch.image('red.png')",
    "matrix": "itorch.image(torch.rand(5, 5))",
    "svg": "itorch.image('drawn.svg') itorch.svg('<svg/>')",
    "sound": "itorch.audio('a.mp3')",
    "video": "itorch.video('a.mp4')",
    "no sound": "print(pcall(itorch.audio, 'a.txt')) print(pcall(itorch.video, 'none.mp4'))",
    "plot": """
Plot = require 'itorch.Plot'
x, y = torch.range(1, 5), torch.rand(5)
plot = Plot():circle(x, y, 'red', 'first'):line(x, y, 'blue', 'second'):draw()""",
    "plot again": "plot:title('My plot'):xaxis('length'):yaxis('width'):legend(true):redraw();",
    "quiver": "Plot():quiver(torch.ones(2, 3), torch.ones(2, 3), 'red', '', 10):draw();",
    "page": "Plot():histogram(torch.Tensor{ 1, 1, 2 }, 2):title('</script>'):save('page.html');",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the notebook."""
    folder = tmp_path_factory.mktemp("notebook")
    (folder / "drawn.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9'/>")
    (folder / "a.mp3").write_bytes(b"sound")
    (folder / "a.mp4").write_bytes(b"video")
    return folder


@pytest.fixture(scope="module")
def outputs(jupyter: Path, folder: Path) -> dict[str, list[Any]]:
    """The outputs of the cells by their names above."""
    pytest.importorskip("PIL")
    pytest.importorskip("bokeh")
    path = folder / "cells.ipynb"
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS.values()])
    notebook.metadata.kernelspec = {"name": "itorch", "display_name": "iTorch", "language": "lua"}
    nbformat.write(notebook, path)
    result = run_python(
        "-c", "from nbclient.cli import main; main()", path, "--inplace",
        cwd=folder, environment={"JUPYTER_PATH": str(jupyter)},
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    executed = nbformat.read(path, as_version=4)
    return {name: cell.outputs for name, cell in zip(CELLS, executed.cells, strict=True)}


def test_a_net_is_trained(outputs: dict[str, list[Any]]) -> None:
    assert outputs["layer"][0].data["text/plain"].startswith("nn.Sequential {\n  [input -> (1) -> output]\n")
    assert outputs["training"][0].text == "done\n"
    text = outputs["parameters"][0].data["text/plain"]
    assert [round(float(number)) for number in re.findall(r"\d\.\d+", text)] == [1, 1, 3]


def test_pictures(outputs: dict[str, list[Any]]) -> None:
    from PIL import Image

    def picture(name: str) -> Any:
        return Image.open(io.BytesIO(base64.b64decode(outputs[name][0].data["image/png"])))

    assert picture("picture").size == (6, 4)
    assert picture("picture").getpixel((3, 2)) == (255, 0, 0)
    assert outputs["picture"][0].metadata["image/png"] == {"width": 6, "height": 4}
    assert picture("pictures").size == (16, 6)
    assert picture("picture of a file").getpixel((5, 3)) == (255, 0, 0)
    assert picture("matrix").size == (5, 5)
    assert outputs["svg"][0].data["image/svg+xml"].startswith("<svg xmlns")
    assert outputs["svg"][1].data["image/svg+xml"] == "<svg/>"


def test_sounds_and_videos(outputs: dict[str, list[Any]]) -> None:
    sound, video = (base64.b64encode(data).decode() for data in (b"sound", b"video"))
    played = outputs["sound"][0].data["text/html"], outputs["video"][0].data["text/html"]
    assert played == (
        f'<audio controls src="data:audio/mpeg;base64,{sound}"></audio>',
        f'<video controls src="data:video/mp4;base64,{video}"></video>',
    )
    text = outputs["no sound"][0].text
    assert "a.txt is none of mp3, wav, ogg, aac" in text and "there is no file none.mp4" in text


def test_plots(outputs: dict[str, list[Any]], folder: Path) -> None:
    (first,), (second,) = outputs["plot"], outputs["quiver"]
    assert outputs["plot again"] == []  # it is drawn in the first one's place
    assert first.data["text/plain"] == "a plot: My plot"
    assert '"My plot"' in first.data["text/html"] and '"length"' in first.data["text/html"]
    assert "embed_item" in second.data["text/html"]
    assert len(second.data["text/html"]) < 20_000  # bokeh's library comes once
    page = (folder / "page.html").read_text()
    assert "<\\/script>" in page or "&lt;/script&gt;" in page
