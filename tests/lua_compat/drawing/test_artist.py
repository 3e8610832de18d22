"""The process that draws: figures are there when somebody looks, whatever becomes of the script."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from lua_compat.drawing.artist import Artist
from tests.helpers.commands import default_ctrl_c, run_th
from tests.helpers.places import ROOT

CONTENT = json.dumps(
    {"kind": "lines", "shapes": [[3], [3]], "series": [{"first": 0, "count": 2, "legend": "", "format": "-"}]}
)
NUMBERS = np.arange(3.0).tobytes().decode("latin-1")


def draw(artist: Artist, path: Path, title: str, with_content: bool = True) -> bool:
    content = [CONTENT, NUMBERS, NUMBERS] if with_content else []
    done: bool = artist.functions()["figure_draw"](
        1, str(path), "svg", 600, 480, json.dumps({"title": title}), *content
    )
    return done


def test_a_process_that_was_ended_is_replaced(tmp_path: Path) -> None:
    artist = Artist()
    first = tmp_path / "first.svg"
    assert not draw(artist, first, "no content yet", with_content=False)
    assert draw(artist, first, "one") and draw(artist, first, "two", with_content=False)
    artist.settle_named([str(first), 3, "\0", "x" * 100_000])
    assert ">two<" in first.read_text()

    assert artist._connection is not None
    artist._connection.process.kill()
    artist._connection.process.wait()
    with pytest.raises(RuntimeError, match="the next figure starts another"):
        draw(artist, first, "three", with_content=False)
    assert not draw(artist, first, "three", with_content=False)
    assert draw(artist, first, "three")
    artist.close()
    assert ">three<" in first.read_text()


SCRIPT = """
    require 'gnuplot'
    gnuplot.svgfigure(arg[1])
    for step = 1, 30 do
       gnuplot.plot(torch.range(1, 5))
       gnuplot.title('step ' .. step)
    end
    """

ENDS = {
    "an error": "error('in the middle')",
    "os.exit": "os.exit(3)",
    "the end": "",
}


@pytest.mark.parametrize(
    "end", ["an error", *(pytest.param(end, marks=pytest.mark.slow) for end in list(ENDS)[1:])]
)
def test_the_last_figure_is_drawn_when_the_script_has_ended(tmp_path: Path, end: str) -> None:
    figure, script = tmp_path / "a.svg", tmp_path / "a.lua"
    script.write_text(SCRIPT + ENDS[end])
    run_th(script, figure)
    assert ">step 30<" in figure.read_text()


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_the_last_figure_is_drawn_though_the_script_was_killed(
    tmp_path: Path, number: signal.Signals
) -> None:
    figure, script = tmp_path / "a.svg", tmp_path / "a.lua"
    script.write_text(SCRIPT + "print('ready') io.stdout:flush() io.read()")
    with subprocess.Popen(
        [sys.executable, "-m", "lua_compat", script, figure], cwd=ROOT, preexec_fn=default_ctrl_c,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
    ) as process:  # fmt: skip
        assert process.stdout is not None and process.stderr is not None
        assert process.stdout.readline() == b"ready\n"
        os.killpg(process.pid, number)
        process.stderr.read()  # which the process that draws has, too: until both have ended
    assert process.returncode != 0
    assert ">step 30<" in figure.read_text()


@pytest.mark.slow
def test_whoever_looks_at_a_file_sees_the_last_figure(tmp_path: Path) -> None:
    again = "os.remove(file) gnuplot.title(title)"
    read = "local f = io.open(file) seen = f:read('*a') f:close()"
    looks = {
        "io.open": read,
        "io.lines": "seen = '' for line in io.lines(file) do seen = seen .. line end",
        "os.execute": "os.execute('cp ' .. file .. ' ' .. copy)",
        "io.popen": "local f = io.popen('cat ' .. file) seen = f:read('*a') f:close()",
        "os.rename": "os.rename(file, copy)",
        "DiskFile": "seen = torch.DiskFile(file):readString('*a')",
        "a link": f"os.execute('ln -s ' .. file .. ' ' .. copy) {again} seen = io.open(copy):read('*a')",
        "paths.filep": f"{again} assert(paths.filep(file)) {read}",
        "paths.dir": f"{again} assert(#paths.dir(folder) == 4) {read}",
    }
    script = tmp_path / "a.lua"
    body = "".join(
        f"title = '<{name}>' copy = folder .. '/copy' os.remove(copy) gnuplot.title('')"
        f" gnuplot.title(title) {look} seen = seen or io.open(copy):read('*a')"
        " assert(seen:find('&lt;' .. title:sub(2, -2), 1, true), title) seen = nil\n"
        for name, look in looks.items()
    )
    script.write_text(
        "require 'gnuplot' folder = arg[1] file = folder .. '/a.svg' gnuplot.svgfigure(file)"
        " gnuplot.plot(torch.range(1, 5))\n" + body
    )
    run_th(script, tmp_path)


@pytest.mark.slow
def test_a_figure_of_its_own_for_each_step_is_drawn(tmp_path: Path) -> None:
    script = tmp_path / "a.lua"
    script.write_text(
        """
        require 'gnuplot'
        for step = 1, 8 do
           gnuplot.figure(1)
           gnuplot.plot(torch.range(1, step + 2))
           gnuplot.title('step ' .. step)
           gnuplot.figprint(('%s/%d.svg'):format(arg[1], step))
        end
        """
    )
    run_th(script, tmp_path)
    for step in range(1, 9):
        assert f">step {step}<" in (tmp_path / f"{step}.svg").read_text()


def test_what_cannot_be_drawn_is_told(tmp_path: Path) -> None:
    script = tmp_path / "a.lua"
    script.write_text(
        """
        require 'gnuplot'
        gnuplot.svgfigure(arg[1] .. '/a.svg')
        gnuplot.plot(torch.range(1, 5), 'with lines lc rgb "nosuchcolor"')
        gnuplot.svgfigure(arg[1])
        gnuplot.plot(torch.range(1, 5))
        """
    )
    result = run_th(script, tmp_path)
    told = [line for line in result.stderr.splitlines() if line.startswith("gnuplot: cannot")]
    assert len(told) == 2
    assert "a.svg: " in told[0] and "nosuchcolor" in told[0]
    assert told[1] == f"gnuplot: cannot write {tmp_path}: Is a directory"
