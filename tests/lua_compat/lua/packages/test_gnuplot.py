"""gnuplot: figures in files, with what was asked for in them."""

import re
import struct
from pathlib import Path

import pytest

from tests.helpers.commands import run_lua, run_th
from tests.helpers.places import GOLDEN


def test_histograms_print_as_recorded(tmp_path: Path) -> None:
    result = run_th("-l", "gnuplot", GOLDEN / "packages" / "probe_gnuplot_histogram.lua")
    assert result.stdout == (GOLDEN / "packages" / "gnuplot_histogram.txt").read_text()


def test_a_figure_has_what_was_asked_for(tmp_path: Path) -> None:
    run_lua(
        tmp_path,
        """
        require 'gnuplot'
        local file = arg[1] .. '/lines.svg'
        gnuplot.svgfigure(file)
        local x = torch.range(1, 6)
        gnuplot.plot({ 'first', x, x * 2, '-' }, { 'second', x, x:clone():pow(2), '+-' }, { x, x, '~' })
        gnuplot.title('costs $5 & <more>')
        gnuplot.raw('set xlabel "from raw"; set xrange [0:40]\\nset log y')
        gnuplot.ylabel('up')
        gnuplot.grid(true)
        gnuplot.movelegend('left', 'bottom')
        gnuplot.axis('auto')
        gnuplot.axis{ 0, 40, '', '' }
        gnuplot.plotflush()

        -- all the forms of arguments, and those that are none
        gnuplot.figure()
        for _, list in ipairs{ { x }, { x, '.' }, { x, x, '|' }, { 'a', x }, { 'a', x, x },
           { torch.rand(3, 2) }, { torch.rand(3, 4) }, { torch.rand(3, 4), 'v' },
           { { x, x }, { 'b', x, '+' } }, { { { x, x } } } } do
           gnuplot.plot(unpack(list))
        end
        gnuplot.bar(x)
        gnuplot.splot('surface', torch.rand(3, 3))
        gnuplot.scatter3({ 'c', x, x, x }, { x, x, x })
        gnuplot.imagesc(torch.rand(3, 4), 'color')
        local function refuses(words, f, ...)
           local ok, problem = pcall(f, ...)
           assert(not ok and problem:find(words, 1, true), problem)
        end
        refuses('no inputs', gnuplot.plot)
        refuses('expecting [string,] tensor [,tensor] [,string]', gnuplot.plot, 'name')
        refuses('expecting [string,] tensor [,tensor] [,string]', gnuplot.plot, x, 3)
        refuses('x and y dims are wrong', gnuplot.plot, x, torch.ones(2))
        refuses('expecting', gnuplot.splot, x, x)
        refuses('x is expected to be matrices x = 1D', gnuplot.imagesc, x)
        refuses('directory does not exist', gnuplot.pngfigure, arg[1] .. '/none/a.png')
        refuses('only eps, png, pdf and svg', gnuplot.figprint, 'a.gif')
        refuses('gnuplot.movelegend expects', gnuplot.movelegend, 'up', 'top')
        """,
        str(tmp_path),
    )
    drawn = (tmp_path / "lines.svg").read_text()
    texts = re.findall(r"<text[^>]*>([^<]*)</text>", drawn)
    assert {"costs $5 &amp; &lt;more&gt;", "from raw", "up", "first", "second", "40"} <= set(texts)


@pytest.mark.slow
def test_every_kind_of_figure_in_every_kind_of_file(tmp_path: Path) -> None:
    run_lua(
        tmp_path,
        """
        require 'gnuplot'
        local draw = {
           lines = function()
              local x = torch.range(1, 9)
              gnuplot.plot({ x, torch.rand(9), '~0.5' }, { x, torch.rand(9), 'with filledcurves' },
                 { torch.rand(9, 3), 'with filledcurves lc rgb "red"' },
                 { torch.rand(9, 3), 'with yerrorbars' })
           end,
           surface = function() gnuplot.splot(torch.rand(6, 5)) end,
           points = function() gnuplot.scatter3(torch.rand(5), torch.rand(5), torch.rand(5)) end,
           picture = function() gnuplot.imagesc(torch.rand(5, 5)) end,
           hist = function() gnuplot.hist(torch.randn(100), 10) end,
        }
        for kind, file in pairs{ png = gnuplot.pngfigure, pdf = gnuplot.pdffigure, svg = gnuplot.svgfigure,
           eps = gnuplot.epsfigure } do
           for name, f in pairs(draw) do
              file(('%s/%s.%s'):format(arg[1], name, kind))
              f()
              gnuplot.close()
           end
        end
        draw.lines()
        gnuplot.figprint(arg[1] .. '/large.png')
        gnuplot.closeall()
        """,
        str(tmp_path),
    )
    starts = {"png": b"\x89PNG", "pdf": b"%PDF", "svg": b"<?xml", "eps": b"%!PS-Adobe-3.0 EPSF"}
    for kind, start in starts.items():
        files = [path for path in tmp_path.glob(f"*.{kind}") if path.stem != "large"]
        assert len(files) == 5 and all(path.read_bytes().startswith(start) for path in files)
    assert struct.unpack(">II", (tmp_path / "large.png").read_bytes()[16:24]) == (1024, 768)


def test_a_plot_that_nobody_sees_is_reported_once() -> None:
    result = run_th("-e", "require 'gnuplot' gnuplot.plot(torch.ones(3)) gnuplot.plot(torch.ones(3))")
    assert (result.returncode, result.stdout) == (0, "")
    assert result.stderr.splitlines() == [
        "gnuplot: there is no window to plot in: figures are seen in files (gnuplot.pngfigure, figprint)"
    ]
