"""report: the page, the pictures, and the command as a person types it."""

import html.parser
import importlib.util
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from convnet_benchmarks.commands import report
from convnet_benchmarks.commands.report import over_time
from convnet_benchmarks.commands.report.chart import Axis, Chart, Mark, Panel, Series
from convnet_benchmarks.commands.report.data import ReportData, by_net, trust
from convnet_benchmarks.commands.report.machines import machines
from convnet_benchmarks.commands.report.overview import Overview, overview
from convnet_benchmarks.commands.report.page import Section, page_text, table_html
from convnet_benchmarks.commands.report.plots import all_plots
from convnet_benchmarks.errors import UserError
from convnet_benchmarks.results.load import ResultFile, load_all
from convnet_benchmarks.results.measurement import Measurement
from convnet_benchmarks.tables import Column, Table
from lua_compat.optional_packages import pip_install
from tests.helpers import made_results
from tests.helpers.commands import run_python

COMMAND = ("-m", "convnet_benchmarks", "report")
VOID = {"meta", "link", "br", "img", "input", "hr"}


class Page(html.parser.HTMLParser):
    """Reads a page and notes what it would load, its ids and its text; a tag that does not close fails."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loads: list[str | None] = []
        self.ids: list[str | None] = []
        self.tags: list[str] = []
        self.policy: str | None = ""
        self._open: list[str] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        given = dict(attributes)
        if "id" in given:
            self.ids.append(given["id"])
        if given.get("http-equiv") == "Content-Security-Policy":
            self.policy = given["content"]
        for name in ("src", "href", "data", "action", "poster", "srcset"):
            # A link that is followed only when it is pressed loads nothing.
            if given.get(name) and tag != "a":
                self.loads.append(given[name])
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not self._open or self._open[-1] not in ("script", "style"):
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


def every_kind(folder: Path) -> list[str]:
    """Result files that every plot has data in."""
    points = [
        made_results.point(net, batch, 10.0 * batch) for net in ("alexnet", "vgg16") for batch in (1, 8)
    ]
    return [
        made_results.write(folder / "sweep.jsonl", *points, made_results.search("alexnet", 64)),
        made_results.write(folder / "server.jsonl", made_results.under_load("server", "alexnet", 30.0)),
        made_results.write(folder / "backends.jsonl", made_results.comparison("alexnet")),
        made_results.write(folder / "ops.json", made_results.ops()),
        made_results.write(folder / "flops.json", made_results.flops()),
        made_results.write(folder / "run.json", made_results.benchmark()),
    ]


def test_speed_ups_have_their_intervals_and_verdicts(tmp_path: Path) -> None:
    records = [made_results.comparison("vgg16", factor=2.0), made_results.comparison("alexnet", factor=0.5)]
    path = made_results.write(tmp_path / "b.jsonl", *records)
    found = all_plots()["speed_up"].chart(ReportData(load_all([path]), []))
    assert found is not None
    (panel,) = found.panels
    assert panel.line_at == 1.0
    (series,) = panel.series
    assert [mark.written_verdict for mark in series.marks] == ["SLOWER", "FASTER"]
    assert dict(series.marks[0].tips)["verdict"] == "SLOWER"
    assert [(mark.x, mark.low, mark.high) for mark in series.marks] == [(0.5, 0.49, 0.51), (2.0, 1.96, 2.04)]
    assert [row[-1] for row in found.table.rows] == ["SLOWER", "FASTER"]


def test_machines_are_named_with_their_cores_threads_and_days(tmp_path: Path) -> None:
    path = made_results.write(tmp_path / "b.jsonl", made_results.comparison("vgg16"))
    (line,) = machines(load_all([path]))
    assert line == "Testor 9000, 2 cores, 1 thread, torch 2.13.0; measured 2026-01-02"
    assert machines(load_all([made_results.write(tmp_path / "r.json", made_results.benchmark())])) == [
        "Testor 9000"
    ]


def test_nets_stand_in_the_order_of_their_size() -> None:
    nets = ("vgg16", "my own", "squeezenet1.1", "alexnet")
    found = by_net([Measurement("throughput", "images/s", 1.0, net, 1) for net in nets])
    assert list(found) == ["squeezenet1.1", "alexnet", "vgg16", "my own"]


def test_each_figure_has_a_verdict() -> None:
    one = Measurement("time", "ms", 10.0, samples=20, low=9.95, high=10.05)
    assert trust(one) == "stable" and trust(replace(one, low=9.0)) == "noisy"
    assert trust(replace(one, samples=5)) == "too few samples"
    assert trust(replace(one, samples=0, low=None, high=None)) == ""


def test_a_mark_by_one_process_keeps_what_that_process_said() -> None:
    one = Measurement("time", "ms", 10.0, samples=20, low=9.95, high=10.05, noise="throttled")
    assert trust(one) == "throttled"


def test_moments_of_one_day_are_numbered_by_their_commits(tmp_path: Path) -> None:
    files = []
    for commit in "ab":
        content = made_results.benchmark() | {"time": "2026-11-01T00:00:00+00:00"}
        content["environment"] = {**made_results.ENVIRONMENT, "commit": commit * 40}
        files.append(made_results.write(tmp_path / f"{commit}.json", content))
    chart = over_time.chart(load_all(files))
    assert chart is not None and chart.panels[0].x.tick_names == ("aaaaaaa", "bbbbbbb")


def head(tmp_path: Path, *documents: Any) -> Overview:
    paths = [made_results.write(tmp_path / f"{place}.json", one) for place, one in enumerate(documents)]
    return overview(ReportData(load_all(paths), []))


def test_the_head_has_the_best_of_each_net_and_what_is_noisy(tmp_path: Path) -> None:
    fast, slow = (made_results.benchmark(ms, batch=batch) for ms, batch in ((5.0, 4), (10.0, 2)))
    noisy = made_results.benchmark(20.0, net="vgg_a", batch=1, spread=0.6)
    found = head(tmp_path, fast, slow, noisy)
    assert found.lines == [
        "Measured: 2 nets (alexnet_owt, vgg_a); 1 device (Testor 9000); batch 1 to 4; time.",
        "5 of 15 figures noisy.",
    ]
    assert found.best is not None
    assert [(*row[:4], row[-1]) for row in found.best.rows] == [
        ("alexnet_owt", "inference", 200.0, 4, "stable"),
        ("alexnet_owt", "training", pytest.approx(200 / 3), 4, "stable"),
        ("vgg_a", "inference", 50.0, 1, "noisy"),
        ("vgg_a", "training", pytest.approx(50 / 3), 1, "noisy"),
    ]


def test_the_head_of_figures_that_are_stable_says_so(tmp_path: Path) -> None:
    assert head(tmp_path, made_results.benchmark()).lines[-1] == "Nothing is noisy."


def test_the_head_of_decided_comparisons_says_what_was_measured_and_no_more() -> None:
    one = Measurement(
        "speed-up", "times stock", 2.0, "alexnet", samples=20, low=1.9, high=2.1, verdict="FASTER"
    )
    file = ResultFile("b.jsonl", "points", (one,))
    assert overview(ReportData([file], [])).lines == ["Measured: 1 net (alexnet); speed-up."]


def test_the_head_of_layers_alone_has_no_best_net(tmp_path: Path) -> None:
    document = made_results.flops()
    assert head(tmp_path, document).best is None


@pytest.fixture
def needs_bokeh() -> None:
    pytest.importorskip("bokeh")


@pytest.mark.usefixtures("needs_bokeh")
def test_the_page_has_every_plot_and_loads_nothing(tmp_path: Path) -> None:
    out, csv = tmp_path / "report.html", tmp_path / "plots.csv"
    done = run_python(*COMMAND, *every_kind(tmp_path), "--out", str(out), "--csv", str(csv))
    assert done.returncode == 0 and str(out) in done.stderr
    content = out.read_text(encoding="utf-8")
    read = Page(content)
    assert set(all_plots()) <= set(read.ids) and "absent" not in read.ids
    assert len(read.ids) == len(set(read.ids))
    assert read.loads == ["data:,"] and "@import" not in content
    assert "The best figure of each net" in read.text and "Measured: " in read.text
    assert "default-src 'none'" in read.policy and "http" not in read.policy
    assert read.tags.count("table") >= len(all_plots())  # the numbers of every plot
    (figures,) = re.findall(r'<script type="application/json" id="figures">(.*?)</script>', content)
    assert set(re.findall(r'data-figure="([^"]+)"', content)) == set(json.loads(figures))
    assert csv.read_text().count("\n") == 1 + len(all_plots())


@pytest.mark.usefixtures("needs_bokeh")
def test_what_is_absent_is_named_with_the_command_that_makes_it(tmp_path: Path) -> None:
    out = tmp_path / "report.html"
    run = made_results.write(tmp_path / "run.json", made_results.benchmark())
    done = run_python(*COMMAND, run, "--out", str(out), "--plots", "history,roofline")
    read = Page(out.read_text(encoding="utf-8"))
    assert "history" in read.ids and "roofline" not in read.ids and "absent" in read.ids
    assert all_plots()["roofline"].COMMAND in read.text and all_plots()["roofline"].COMMAND in done.stdout


@pytest.mark.usefixtures("needs_bokeh")
@pytest.mark.slow
def test_pictures(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    folder, out = tmp_path / "deep" / "pictures", str(tmp_path / "report.html")
    plots = "throughput_batch,largest_batch,op_bars,roofline"
    done = run_python(*COMMAND, *every_kind(tmp_path), "--out", out, "--png", str(folder), "--plots", plots)
    assert done.returncode == 0
    assert {path.stem for path in folder.iterdir()} == set(plots.split(","))
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in folder.iterdir())


@pytest.mark.usefixtures("needs_bokeh")
def test_names_from_files_are_no_html() -> None:
    evil = "</script><script>alert(1)</script>"
    chart = Chart(evil, [], Table(evil, [Column(evil)], [[evil]], [evil]), [evil])
    read = Page(
        page_text(evil, [evil], [Section("x", evil, evil, chart), Section("y", evil, evil, None)], [])
    )
    assert read.tags.count("script") == 3 and read.text.count(evil) >= 6


@pytest.mark.usefixtures("needs_bokeh")
@pytest.mark.parametrize("evil", ["<!--<script>", "</script><script>alert(1)</script>"])
def test_names_in_charts_stay_data(evil: str) -> None:
    series = [Series(evil, [Mark(1.0, name=evil, tips=((evil, evil),))])]
    chart = Chart("", [Panel(evil, "bars", Axis(evil), Axis(evil), series)], Table("", [Column("x")], [[1]]))
    content = page_text("title", ["file"], [Section("x", "section", "command", chart)], [])
    (figures,) = re.findall(r'<script type="application/json" id="figures">(.*?)</script>', content)
    assert "<" not in figures and evil in str(json.loads(figures))
    assert Page(content).tags.count("script") == 3


def test_a_table_keeps_its_alignment_and_caption() -> None:
    table = table_html(Table("T", [Column("net"), Column("time", "ms")], [["<a>", 1.23456]], ["a note"]))
    assert "<caption>T</caption>" in table and '<th scope="col">net</th>' in table
    assert '<td class="number">1.235</td>' in table and "&lt;a&gt;" in table and "a note" in table


@pytest.mark.parametrize(
    ("missing", "arguments", "message"),
    [
        ("bokeh", ["x.json"], f"the page needs bokeh: {pip_install('report')}"),
        ("matplotlib", ["x.json", "--png", "p"], "option --png needs matplotlib: pip install"),
    ],
)
def test_without_its_packages_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, missing: str, arguments: list[str], message: str
) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == missing else found("json"))
    with pytest.raises(UserError, match=re.escape(message)):
        report.main(arguments, "report")


@pytest.mark.usefixtures("needs_bokeh")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "required: FILE"),
        (["absent.json"], "absent.json: No such file"),
        (
            ["{run}", "--plots", "pie"],
            "option --plots: unknown plot 'pie'; accepted: phases, ",
        ),
        (["{run}", "--plots", ""], "--plots: no name given; accepted: names separated by commas"),
        (["{run}", "--out", "{run}"], "is also the file of FILE; give another name"),
        (["{run}", "--out", "r.html", "--json", "r.html"], "'r.html' is also the file of option --json"),
        (["{run}", "--out", "absent/report.html"], "option --out: cannot write"),
        (["{run}", "--out", "{folder}/r.html", "--png", "{run}/x"], "option --png: cannot write"),
    ],
)
def test_bad_input_is_one_line_and_leaves_no_page(tmp_path: Path, arguments: list[str], message: str) -> None:
    run = made_results.write(tmp_path / "run.json", made_results.benchmark())
    out = tmp_path / "page"
    out.mkdir()
    given = [text.replace("{run}", run).replace("{folder}", str(out)) for text in arguments]
    done = run_python(*COMMAND, *given)
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1 and message in done.stderr
    assert list(out.iterdir()) == []


def test_help_has_examples_and_loads_nothing_heavy() -> None:
    done = run_python("-X", "importtime", *COMMAND, "--help")
    assert "examples:" in done.stdout and "bokeh" in done.stdout
    assert not re.search(r"\| +(torch|numpy|bokeh|matplotlib)", done.stderr)


@pytest.mark.usefixtures("needs_bokeh")
def test_over_time_a_regression_is_marked(tmp_path: Path) -> None:
    """The files are put in the order of their times; what is in one file alone is left out."""

    def moment(day: int, rate: float, revision: str) -> str:
        environment = {"cpu": {"model": "Testor 9000"}, "revision": revision}
        time = {"time": f"2026-11-{day:02}T00:00:00+00:00", "environment": environment}
        points = [made_results.point("alexnet", 2, rate) | time]
        if day == 3:
            points.append(made_results.point("alexnet", 8, rate) | time)
        return made_results.write(tmp_path / f"{day}.jsonl", *points)

    files = [moment(3, 8.0, "c" * 40), moment(1, 10.0, "a" * 40), moment(2, 10.01, "b" * 40)]
    out, csv = tmp_path / "trend.html", tmp_path / "plots.csv"
    done = run_python(*COMMAND, "--over-time", *files, "--out", str(out), "--csv", str(csv))
    assert done.returncode == 0, done.stderr
    text = Page(out.read_text(encoding="utf-8")).text
    assert "1 step SLOWER" in text
    assert "1: 2026-11-01, aaaaaaa; 2: 2026-11-02, bbbbbbb; 3: 2026-11-03, ccccccc" in text
    chart = over_time.chart(load_all(files))
    assert chart is not None
    (series,) = chart.panels[0].series
    assert [(mark.x, mark.y, mark.name) for mark in series.marks] == [
        (1.0, 10.0, ""), (2.0, 10.01, ""), (3.0, 8.0, "SLOWER 0.799x"),
    ]  # fmt: skip
    alone = run_python(*COMMAND, "--over-time", files[0], "--out", str(out))
    assert alone.returncode == 2 and "needs two files or more" in alone.stderr


def test_over_time_has_dates_labels_commits_and_steps(tmp_path: Path) -> None:
    files = []
    for day in range(1, 13):
        content = made_results.benchmark(10.0 if day < 7 else 12.0, batch=1)
        content |= {"time": f"2026-11-{day:02}T00:00:00+00:00", "label": f"build {day}"}
        content["environment"] = {**made_results.ENVIRONMENT, "commit": f"{day:040x}+", "revision": "f" * 40}
        files.append(made_results.write(tmp_path / f"{day}.json", content))
    chart = over_time.chart(load_all(files))
    assert chart is not None
    axis = chart.panels[0].x
    assert axis.ticks == (1.0, 3.0, 5.0, 7.0, 9.0, 11.0) and axis.tick_names[3] == "2026-11-07"
    tips = dict(chart.panels[0].series[0].marks[6].tips)
    assert tips["date or commit"] == "2026-11-07, build 7, 0000000+"
    (line,) = (note for note in chart.notes if note.startswith("a step: ") and "forward+backward" in note)
    assert "from 30 to 36 ms per sample at 2026-11-07, build 7" in line
