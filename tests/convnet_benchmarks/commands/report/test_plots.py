"""The plots: what each makes of its data, and None without."""

import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from convnet_benchmarks.commands.report.bokeh import draw
from convnet_benchmarks.commands.report.chart import Chart
from convnet_benchmarks.commands.report.data import ReportData
from convnet_benchmarks.commands.report.plots import all_plots
from convnet_benchmarks.commands.report.style import styles
from convnet_benchmarks.history import Source, read_sources
from convnet_benchmarks.results.load import load
from tests.helpers import made_results
from tests.helpers.commands import run_python
from tests.helpers.places import GOLDEN

PLOTS = all_plots()


def data_of(tmp_path: Path, *documents: Any, sources: Sequence[Source] = ()) -> ReportData:
    files = []
    for number, document in enumerate(documents):
        records = document if isinstance(document, list) else [document]
        files.append(load(made_results.write(tmp_path / f"{number}.json", *records)))
    return ReportData(files, sources)


def marks(chart: Chart | None) -> list[tuple[Any, ...]]:
    """(panel, series, name, x, y) of everything drawn."""
    return [
        (panel.title, series.name, mark.name, mark.x, mark.y)
        for panel in chart.panels
        for series in panel.series
        for mark in series.marks
    ]


def two_machines() -> list[dict[str, Any]]:
    rates = {("alexnet", 1): 10.0, ("alexnet", 8): 30.0, ("vgg16", 8): 5.0}
    cpu = [made_results.point(net, batch, rate) for (net, batch), rate in rates.items()]
    gpu = [
        made_results.point(net, batch, 2 * rate, device="cuda", name="GPU")
        for (net, batch), rate in rates.items()
    ]
    return [*cpu, *gpu, made_results.search("alexnet", 64), made_results.search("vgg16", 7)]


@pytest.mark.parametrize("name", PLOTS)
def test_a_plot_says_what_it_needs(name: str) -> None:
    """Its command is one that there is, with options that it has."""
    plot = PLOTS[name]
    program, command, *rest = shlex.split(plot.COMMAND)
    help_text = run_python("-m", "convnet_benchmarks", command, "--help").stdout
    assert program == "convnet-benchmarks" and plot.TITLE and plot.ORDER
    options = [word for word in rest if word.startswith("--")]
    assert options and all(re.search(rf"{re.escape(option)}\b", help_text) for option in options)


@pytest.mark.parametrize("name", PLOTS)
def test_a_plot_without_data_is_absent(name: str, tmp_path: Path) -> None:
    # A memory figure of a kind that no plot is made of.
    document = {
        "schema": "convnet-benchmarks/1",
        "kind": "other",
        "tables": [{"title": "T", "rows": [{"x": "y", "z": 1.5}]}],
    }
    assert PLOTS[name].chart(data_of(tmp_path, document)) is None


def test_throughput_against_batch_size(tmp_path: Path) -> None:
    chart = PLOTS["throughput_batch"].chart(data_of(tmp_path, two_machines()))
    assert [panel.title for panel in chart.panels] == ["alexnet", "vgg16"]
    assert ("alexnet", "GPU", "", 8.0, 60.0) in marks(chart)
    panel = chart.panels[0]
    assert panel.x.ticks == (1.0, 8.0) and "images/s" in panel.y.label and not panel.y.log
    tips = dict(panel.series[0].marks[1].tips)
    assert tips["throughput"] == "30 images/s" and tips["batch"] == "8" and "to" in tips["95 % interval"]
    rows = [(row[0], row[1]) for row in chart.table.rows]  # nets by their size, batches rising in a curve
    assert rows == [("alexnet", 1), ("alexnet", 8)] * 2 + [("vgg16", 8)] * 2


def test_an_interval_is_on_the_chart(tmp_path: Path) -> None:
    pytest.importorskip("bokeh")
    record = made_results.point("alexnet", 4, 10.0)
    for factor, end in ((0.8, 12.5), (0.1, 20.0)):  # as far as twice the value
        record["pass_ms"]["low"] = 400.0 * factor
        (panel,) = PLOTS["throughput_batch"].chart(data_of(tmp_path, record)).panels
        found = draw(panel, styles([panel.series[0].name]))
        assert found.y_range.start == 0 and found.y_range.end == pytest.approx(1.05 * end)


def test_memory_against_batch_size(tmp_path: Path) -> None:
    chart = PLOTS["memory_batch"].chart(data_of(tmp_path, two_machines()))
    assert ("vgg16", "Testor 9000", "", 8.0, 116.0) in marks(chart)


def test_values_far_apart_get_a_logarithmic_axis(tmp_path: Path) -> None:
    records = [made_results.point("alexnet", 1, 1.0), made_results.point("alexnet", 2, 1000.0)]
    (panel,) = PLOTS["throughput_batch"].chart(data_of(tmp_path, records)).panels
    assert panel.y.log


def test_the_largest_batch(tmp_path: Path) -> None:
    chart = PLOTS["largest_batch"].chart(data_of(tmp_path, two_machines()))
    assert [(name, x) for _, _, name, x, _ in marks(chart)] == [("alexnet", 64.0), ("vgg16", 7.0)]


def test_loads_have_a_panel_for_each_quantity(tmp_path: Path) -> None:
    loads = [
        made_results.under_load("server", "alexnet", 30.0),
        made_results.under_load("server", "vgg16", 3.0),
        made_results.under_load("server", "alexnet", 40.0, target=100.0),
        made_results.under_load("single-stream", "alexnet", 20.0),
    ]
    chart = PLOTS["under_load"].chart(data_of(tmp_path, loads))
    assert [(panel.title, panel.x.label) for panel in chart.panels] == [
        ("server", "highest rate within 50 ms [queries/s]"),
        ("server", "highest rate within 100 ms [queries/s]"),
        ("single stream", "latency p90 [ms]"),
    ]
    assert [x for *_, x, _ in marks(chart)] == [30.0, 3.0, 40.0, 20.0]
    assert chart.table.rows[0][-1] == "met"


def test_throughput_across_hardware_takes_the_best_batch(tmp_path: Path) -> None:
    chart = PLOTS["throughput_hardware"].chart(data_of(tmp_path, two_machines()))
    alexnet = [(series, x) for panel, series, _, x, _ in marks(chart) if panel == "alexnet"]
    assert sorted(alexnet) == [("GPU", 60.0), ("Testor 9000", 30.0)]


def test_accuracy_against_throughput_takes_published_accuracies(tmp_path: Path) -> None:
    nets = {"alexnet": 90.0, "vgg16": 5.0, "vgg19": 4.0, "unheard_of": 1.0}
    records = [made_results.point(net, 64, rate) for net, rate in nets.items()]
    chart = PLOTS["accuracy_throughput"].chart(data_of(tmp_path, records, sources=read_sources()))
    assert {(name, series, round(y, 3)) for _, series, name, _, y in marks(chart)} == {
        ("alexnet", "AlexNet", 56.312),
        ("vgg16", "VGG", 72.062),
        ("vgg19", "VGG", 73.469),
    }


def test_a_measured_accuracy_counts_more_than_a_published_one(tmp_path: Path) -> None:
    rows = [{"net": "alexnet", "top-1 accuracy [fraction]": 0.6}]
    study = {"schema": "convnet-benchmarks/1", "kind": "x", "tables": [{"title": "", "rows": rows}]}
    data = data_of(tmp_path, [made_results.point("alexnet", 8, 9.0)], study, sources=read_sources())
    ((_, _, _, _, top1),) = marks(PLOTS["accuracy_throughput"].chart(data))
    assert top1 == 60


def test_time_by_layer_keeps_the_order_of_the_net(tmp_path: Path) -> None:
    chart = PLOTS["op_bars"].chart(data_of(tmp_path, made_results.ops(layers=3)))
    assert [name for _, _, name, _, _ in marks(chart)] == ["layer0 ReLU", "layer1 Conv2d", "layer2 ReLU"]
    assert chart.panels[0].title == "recognize_digits, batch 8"


def test_many_layers_are_added_up_by_kind(tmp_path: Path) -> None:
    chart = PLOTS["op_bars"].chart(data_of(tmp_path, made_results.ops(layers=30, runs=1)))
    assert {name: x for _, _, name, x, _ in marks(chart)} == {
        "Conv2d": sum(range(2, 31, 2)),
        "ReLU": sum(range(1, 30, 2)),
    }
    assert chart.notes


def test_roofline(tmp_path: Path) -> None:
    chart = PLOTS["roofline"].chart(data_of(tmp_path, made_results.flops()))
    (panel,) = chart.panels
    assert {(series, x, y) for _, series, _, x, y in marks(chart)} == {
        ("Conv2d", 100.0, 20.0),
        ("ReLU", 0.125, 0.1),
    }
    (roof,) = panel.guides
    assert roof.points[1] == (10.0, 100.0)  # where bandwidth times intensity reaches the peak
    assert all(y == pytest.approx(min(100.0, 10.0 * x)) for x, y in roof.points)
    assert len(chart.table.rows) == 3


def test_history_shows_the_same_nets_only(tmp_path: Path) -> None:
    data = data_of(tmp_path, made_results.benchmark(10.0), sources=read_sources())
    chart = PLOTS["history"].chart(data)
    assert [panel.title for panel in chart.panels] == ["alexnet_owt, inference", "alexnet_owt, training"]
    training = chart.panels[1]
    new, old = training.series
    assert new.name == "in the files given" and new.marks[0].x == pytest.approx(1e3 / 30)
    assert any(mark.x == pytest.approx(128e3 / 80.96) for mark in old.marks)


def test_a_published_log_is_shown_once(tmp_path: Path) -> None:
    log = tmp_path / "titan.log"
    lines = {":Forward:": 69.23, ":Backward:": 160.53, ":TOTAL:": 229.76}
    log.write_text(
        "Running on device: Graphics Device\t\n"
        "ModelType: AlexNet\tKernels: cudnn\tInput shape: 128x3x224x224\t\n"
        + "".join(f"{'cudnn':<40}{name}{value:>11}\t\n" for name, value in lines.items())
    )
    sources = read_sources()
    chart = PLOTS["history"].chart(ReportData([load(str(log))], sources))
    training = [panel for panel in chart.panels if panel.title == "alexnet_owt, training"]
    rates = [(s.name, m.x, dict(m.tips)) for s in training[0].series for m in s.marks]
    ((name, _, tips),) = [one for one in rates if one[1] == pytest.approx(128e3 / 229.76)]
    assert name == "in the files given" and "soumith/convnet-benchmarks" in tips["from"]
    published = [one for source in sources for one in source.measurements]
    passes = [one for one in published if one.phase in ("training", "forward+backward")]
    assert len(rates) == sum(one.net == "alexnet_owt" for one in passes)


def test_phases_have_torch7s_log_beside_them(tmp_path: Path) -> None:
    log = load(str(GOLDEN / "logs" / "benchmark_cpu.log"))
    run = made_results.benchmark(100.0, net="overfeat_accurate", batch=1, spread=0.6)
    files = [load(made_results.write(tmp_path / "run.json", run)), log]
    (panel,) = PLOTS["phases"].chart(ReportData(files, [])).panels
    assert (
        panel.title == "overfeat_accurate"
        and panel.kind == "bars"
        and panel.x.label == "time [ms per sample]"
    )
    found = {series.name: [(mark.name.split(", ")[-1], round(mark.x, 2)) for mark in series.marks]
             for series in panel.series}  # fmt: skip
    assert found == {
        "updateOutput": [("run.json", 100.0), ("benchmark_cpu.log", 182.38)],
        "updateGradInput": [("run.json", 100.0), ("benchmark_cpu.log", 172.59)],
        "accGradParameters": [("run.json", 100.0), ("benchmark_cpu.log", 117.41)],
    }
    noisy, old = panel.series[0].marks
    assert noisy.doubtful and noisy.written_verdict == "noisy" and not old.doubtful


def test_doubtful_marks_are_hollow_and_explained(tmp_path: Path) -> None:
    pytest.importorskip("bokeh")
    record = made_results.point("alexnet", 2, 10.0)
    record["pass_ms"] |= {"low": 100.0, "high": 300.0}
    chart = PLOTS["throughput_batch"].chart(
        data_of(tmp_path, [made_results.point("alexnet", 1, 9.0), record])
    )
    assert chart.key == "Hollow marks: noisy."
    figure = draw(chart.panels[0], styles(chart.series_names))
    sure, doubtful = next(
        one.data_source.data["inside"] for one in figure.renderers if "inside" in one.data_source.data
    )
    assert sure == 1 and doubtful < 0.5


def test_history_without_a_net_in_common_shows_what_was_published(tmp_path: Path) -> None:
    chart = PLOTS["history"].chart(data_of(tmp_path, made_results.ops(net="mine"), sources=read_sources()))
    assert chart.notes and {series for _, series, *_ in marks(chart)} == {"published"}
