"""Logs of the original scripts, and published ones, as values."""

import gzip
import re
from pathlib import Path
from typing import Any

import pytest

from convnet_benchmarks.legacy.log_text import log_text
from convnet_benchmarks.legacy.logs import PER_BATCH, PER_SAMPLE, parse_log, parse_model
from tests.helpers.places import DATA, GOLDEN

LOGS = GOLDEN / "logs"


def runs_of(path: Path) -> Any:
    return parse_log(path.read_text(encoding="utf-8"))


def test_benchmark_lines_options_and_model() -> None:
    (run,) = runs_of(LOGS / "benchmark_cpu_4d_b4.log")
    assert run.kind == "benchmark"
    assert run.unit == PER_SAMPLE
    assert list(run.times) == [
        ":dry-run():",
        "free :updateOutput():",
        ":updateOutput():",
        "free :updateGradInput():",
        "free :accGradParameters():",
        ":updateGradInput():",
        ":accGradParameters():",
        ":Forward:",
        ":Backward:",
        ":TOTAL:",
    ]
    assert run.times["free :updateGradInput():"] == 191.45113229752
    assert run.times[":updateGradInput():"] == 178.95275354385
    assert run.options == {"sync": "false", "iter": "2", "4d_tensor": "true", "batch_size": "4"}
    assert run.batch_size == 4
    assert len(run.model) == 23
    assert run.model[0].text == "nn.Sequential"
    assert (run.model[1].place, run.model[1].text) == ("1", "nn.SpatialConvolutionMM(3 -> 96, 7x7, 2,2)")
    assert (run.model[-1].place, run.model[-1].text) == ("22", "nn.LogSoftMax")


def test_criterion_in_its_phases() -> None:
    (run,) = runs_of(LOGS / "criterion_phases_cpu_4d_b4.log")
    assert (run.kind, run.unit) == ("criterion", PER_SAMPLE)
    assert list(run.times) == [
        ":dry-run():",
        ":Net Forward:",
        ":Criterion Forward:",
        ":Criterion Backward:",
        ":Net Backward:",
        ":TOTAL:",
    ]
    assert run.times[":Criterion Backward:"] == 241.57422780991


def test_criterion_in_seconds_becomes_milliseconds_of_the_whole_batch() -> None:
    (run,) = runs_of(LOGS / "criterion_cpu_4d_b4.log")
    assert (run.kind, run.unit) == ("criterion", PER_BATCH)
    assert run.times["feed moyen"] == pytest.approx(3748.0425834656)
    assert run.samples == {"t1": pytest.approx((3817.1689510345, 3678.8601875305))}
    assert run.times["t1"] == pytest.approx(sum(run.samples["t1"]) / 2)
    assert run.options["iter"] == "2"  # not the loop's own counter, which is printed after it


def test_soumith_nets_among_other_programs_lines() -> None:
    runs = runs_of(DATA / "soumith_imagenet_excerpt.log")
    assert {run.title for run in runs} == {"AlexNet 128x3x224x224"}
    assert [run.kernels for run in runs] == ["cudnn", "nn", "fbfft"]
    assert {run.batch_size for run in runs} == {128}
    assert {run.device for run in runs} == {"Graphics Device"}
    assert [run.times[":TOTAL:"] for run in runs] == [229.76, 339.72, 134.45]
    assert {run.unit for run in runs} == {PER_BATCH}


def test_soumith_layers_are_a_run_for_each_implementation() -> None:
    runs = runs_of(DATA / "soumith_layerwise_excerpt.log")
    assert len(runs) == 4
    assert runs[1].title == "input = 3x128x128 * ker = 3x96x11x11 (bs = 128, stride = 1)"
    assert (runs[1].kernels, runs[1].batch_size) == ("nn.SpatialConvolutionMM", 128)
    assert runs[2].times == {
        ":updateOutput():": 13.75,
        ":updateGradInput():": 100.08,
        ":accGradParameters():": 19.74,
        ":TOTAL:": 133.57,
    }


def test_lines_pasted_into_a_markdown_list() -> None:
    runs = runs_of(DATA / "readme_excerpt.md")
    assert [run.title for run in runs] == [
        "benchmark.lua",
        "benchmark.lua -cuda true -convMM true",
        "benchmark_criterion.lua -cuda true -4d_tensor true -batch_size 60 -cudnn true -sync true -iter 1",
    ]
    assert [run.batch_size for run in runs] == [1, 1, 60]
    assert [run.kind for run in runs] == ["benchmark", "benchmark", "criterion"]
    assert runs[1].times["free :updateOutput():"] == 0.59740543365479
    assert runs[2].times[":TOTAL:"] == 13.220194975535


@pytest.mark.parametrize(
    "command",
    [
        "th benchmark.lua -cuda true",
        "$ th benchmark.lua -cuda true",
        "**th benchmark.lua -cuda true**",
        "### `th benchmark.lua -cuda true`",
        "> - _th benchmark.lua -cuda true_",
        "2) `th benchmark.lua -cuda true` on a K20m:",
        "| th benchmark.lua -cuda true | ms |",
    ],
)
def test_a_command_is_a_command_however_it_is_pasted(command: str) -> None:
    """The lines below it are not those of the run before."""
    text = f"th benchmark.lua\n:updateOutput(): 9\n\n{command}\nfree :updateOutput(): 1\n:updateOutput(): 2\n"
    first, second = parse_log(text)
    assert dict(first.times) == {":updateOutput():": 9.0}
    assert (second.title, second.options) == ("benchmark.lua -cuda true", {"cuda": "true"})
    assert dict(second.times) == {"free :updateOutput():": 1.0, ":updateOutput():": 2.0}


@pytest.mark.parametrize(
    "line",
    [":TOTAL:\t3.5", "* **:TOTAL:** 3.5", "| :TOTAL: | 3.5 |", "1. `:TOTAL: 3.5`", "> __:TOTAL:__ **3.5**"],
)
def test_a_line_is_a_line_however_it_is_pasted(line: str) -> None:
    (run,) = parse_log(line)
    assert dict(run.times) == {":TOTAL:": 3.5}


def test_runs_printed_one_after_the_other_without_a_title() -> None:
    text = ":updateOutput():\t1\n:TOTAL:\t3\n:updateOutput():\t2\n:TOTAL:\t5\n"
    assert [run.times[":TOTAL:"] for run in parse_log(text)] == [3, 5]


def test_batch_size_counts_only_for_four_dimensional_input_as_in_the_original() -> None:
    (run,) = parse_log("$ th benchmark.lua -batch_size 64\n:TOTAL:\t3\n")
    assert run.batch_size == 1


def test_without_its_command_a_logs_batch_size_is_not_known() -> None:
    (run,) = parse_log("t1 0.5 seconds\nfeed moyen 0.5 seconds\n")
    assert run.batch_size is None


def test_an_option_without_a_value_is_true() -> None:
    (run,) = parse_log("$ th benchmark.lua -cuda -batch_size 4 -cudnn\n:TOTAL:\t3\n")
    assert run.options == {"cuda": "true", "batch_size": "4", "cudnn": "true"}


@pytest.mark.parametrize(
    "command",
    [
        "OMP_NUM_THREADS=2 taskset -c 0-3 th benchmark.lua -4d_tensor true -batch_size 64",
        "numactl --membind=0 ~/torch/install/bin/th benchmark.lua -4d_tensor true -batch_size 64",
        "+ timeout 600 nice -n 5 luajit benchmark.lua -4d_tensor true -batch_size 64",
        "!th benchmark.lua -4d_tensor true -batch_size 64",
        "C:\\torch\\th.exe benchmark.lua -4d_tensor true -batch_size 64",
        "$ th benchmark.lua -4d_tensor true \\\n>   -batch_size 64",
    ],
)
def test_a_command_is_found_behind_what_starts_it(command: str) -> None:
    (run,) = parse_log(f"{command}\n:TOTAL:\t3\n")
    assert run.batch_size == 64


@pytest.mark.parametrize("prose", ["I like th benchmark.lua -batch_size 8.", "the time th script.lua took"])
def test_prose_is_no_command(prose: str) -> None:
    (run,) = parse_log(f"{prose}\n:TOTAL:\t3\n")
    assert run.command is None


def nested_models() -> dict[str, str]:
    """The printed containers among the golden facts, by their constructor."""
    blocks = (GOLDEN / "print.txt").read_text().split("## ")
    return dict(block.split("\n", 1) for block in blocks if "{\n" in block.split("\n", 1)[-1])


def test_nested_containers_keep_their_places() -> None:
    (text,) = (text for name, text in nested_models().items() if "nn.Concat(2)" in name)
    assert [(layer.place, layer.text) for layer in parse_model(text)] == [
        ("root", "nn.Sequential"),
        ("1", "nn.Concat"),
        ("1.1", "nn.Linear(2 -> 3)"),
        ("1.2", "nn.Sequential"),
        ("1.2.1", "nn.Linear(2 -> 4)"),
        ("1.2.2", "nn.ReLU"),
        ("2", "nn.Linear(7 -> 1)"),
    ]


def test_every_container_of_the_golden_prints_is_read() -> None:
    models = nested_models()
    assert len(models) >= 5
    for name, text in models.items():
        modules_added = name.count("add(")
        assert len(parse_model(text)) == modules_added + 1, name


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "no line of a convnet benchmark"),
        ("hello\n1 2 3\n", "no line of a convnet benchmark"),
        ((LOGS / "benchmark_help.log").read_text(), "no line of a convnet benchmark"),
        ("nn.Sequential {\n  (1): nn.ReLU\n", "ends before its last"),
    ],
)
def test_what_is_no_log_is_refused(text: Any, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        parse_log(text)


@pytest.mark.parametrize("batch", ["0", "9" * 400, "9" * 5000, "9007199254740993"])
def test_an_impossible_batch_size_is_none(batch: str) -> None:
    log = f"ModelType: AlexNet  Kernels: nn  Input shape: {batch}x3x224x224\nnn :updateOutput(): 12.5\n"
    (run,) = parse_log(log)
    assert run.batch_size is None


@pytest.mark.parametrize(
    ("numbers", "read"),
    [
        (["12,5"], [12.5]),
        (["0,123"], [0.123]),
        (["1,234", "5,5"], [1.234, 5.5]),
        (["1,234", "5.5"], [1234, 5.5]),
        (["1,234.5"], [1234.5]),
        (["1.234,5", "2.500"], [1234.5, 2500]),
        (["1.234"], [1.234]),
        (["1,5e-3"], [0.0015]),
        (["12,", "3"], [12, 3]),
    ],
)
def test_decimal_commas_are_read(numbers: list[str], read: list[float]) -> None:
    labels = [":updateOutput():", ":TOTAL:"]
    text = "".join(f"{label}\t{number}\n" for label, number in zip(labels, numbers, strict=False))
    (run,) = parse_log(text)
    assert list(run.times.values()) == pytest.approx(read)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (":TOTAL:\t1,234\n", "'1,234' may be 1.234 or 1234"),
        (":TOTAL:\t12'345\n", "'12'345' is not a number"),
        (":updateOutput():\t1,25\n:TOTAL:\t1.25\n", "decimal point, others a decimal comma"),
        ("feed moyen 1,234 seconds\n", "may be 1.234 or 1234"),
    ],
)
def test_a_number_that_may_be_two_is_refused(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        parse_log(text)


@pytest.mark.parametrize("true", ["true", "True", "TRUE"])
def test_a_true_of_python_is_true_in_a_log(true: str) -> None:
    command = f"$ th benchmark.lua -cuda {true} -4d_tensor {true} -batch_size 4"
    (run,) = parse_log(f"{command}\n:TOTAL:\t3\n")
    assert str(run.setup) == "benchmark, overfeat_accurate, cuda, mm, batch 4"
    assert run.batch_size == 4


def test_an_option_whose_value_is_not_understood_leaves_the_setup_open() -> None:
    (run,) = parse_log("$ th benchmark.lua -cuda perhaps\n:TOTAL:\t3\n")
    assert run.setup is None and run.batch_size is None


CPU_LOG = (LOGS / "benchmark_cpu_4d_b4.log").read_text()


def coloured(text: str) -> str:
    return "\x1b]0;me@box\x07" + "".join(f"\x1b[1;32m{line}\x1b[0m\x1b[K\r\n" for line in text.splitlines())


@pytest.mark.parametrize(
    "data",
    [
        CPU_LOG.encode("utf-16"),
        CPU_LOG.encode("utf-8-sig"),
        ("Rechner: Büro\n" + CPU_LOG).encode("latin-1"),
        CPU_LOG.replace("\n", "\r").encode(),
        gzip.compress(CPU_LOG.encode()),
        coloured(CPU_LOG).encode(),
        ("me@box:~/bench$ time " + CPU_LOG.removeprefix("$ ")).encode(),
        CPU_LOG.replace("-batch_size 4", "--batch_size='4' > log 2>&1").encode(),
    ],
    ids=["UTF-16", "mark of UTF-8", "Latin-1", "old Mac", "gzip", "colours", "prompt", "redirected"],
)
def test_a_log_is_read_whatever_it_went_through(data: bytes) -> None:
    """The command, too: without it the batch size is not known, and unlike runs are not told apart."""
    (read,), (plain,) = parse_log(log_text(data)), parse_log(CPU_LOG)
    assert (read.times, read.model, read.batch_size) == (plain.times, plain.model, 4)
    assert read.setup == plain.setup


def test_a_damaged_archive_is_refused() -> None:
    with pytest.raises(ValueError, match="damaged gzip file"):
        log_text(gzip.compress(CPU_LOG.encode())[:200])


@pytest.mark.parametrize(
    ("written", "read"),
    [("0.25 s", 250), ("0.25s", 250), ("250ms", 250), ("250 µs", 0.25), ("**250**", 250),
     ("250 (on a K20)", 250), ("250 ± 3", 250), ("250 cudnn/R3", 250)],
)  # fmt: skip
def test_a_number_may_have_a_unit_of_time(written: str, read: float) -> None:
    (run,) = parse_log(f":TOTAL:\t{written}\n")
    assert run.times == {":TOTAL:": pytest.approx(read)}


@pytest.mark.parametrize(
    "written", ["250 images/s", "250 ms/image", "250 fps", "2 min", "2m30", "50 %", "50%", "250x"]
)
def test_another_unit_is_refused(written: str) -> None:
    with pytest.raises(ValueError, match="accepted: ms, s, us"):
        parse_log(f":TOTAL:\t{written}\n")


@pytest.mark.parametrize("written", ["1 234.5", "12 345 678,9", "1\u2019234.5", "1\ufffd234.5"])
def test_a_number_in_groups_is_not_cut_off(written: str) -> None:
    with pytest.raises(ValueError, match="is not a number"):
        parse_log(f":TOTAL:\t{written}\n")


@pytest.mark.parametrize("end", [1, 2, 3])
def test_a_last_number_that_is_cut_short_is_missing(end: int) -> None:
    whole, _, number = CPU_LOG.rstrip().rpartition("\t")
    (run,) = parse_log(f"{whole}\t{number[:end]}")
    assert ":TOTAL:" not in run.times and ":Backward:" in run.times
    (whole_run,) = parse_log(f"{whole}\t{number[:end]}\n")
    assert whole_run.times[":TOTAL:"] == float(number[:end])


def test_a_prefix_of_each_line_makes_no_log_of_soumiths() -> None:
    """Those count milliseconds of a batch, these of a sample."""
    command, *lines = CPU_LOG.splitlines()
    assert parse_log("\n".join([command, *(f"[node1] {line}" for line in lines)])) == parse_log(CPU_LOG)


@pytest.mark.parametrize(
    "prefix",
    [
        "0: ",  # srun --label
        "gpu-node7: ",
        "bench_1  | ",  # docker-compose
        "2015-03-04 12:0{0:02d}:01 ",
        "2015-03-04T12:00:0{0}.5Z stdout F ",
        "Mar {0:2d} 12:00:00 gpu-node7 th[123]: ",  # syslog
        "[{0:7.3f}] ",
        "{0:6d}\t",  # cat -n
        "{0}:",  # grep -n
        "logs/titan.log-{0}-",
        "1 gpu-node7 ",
    ],
)
def test_what_stands_before_each_line_is_no_part_of_it(prefix: str) -> None:
    for path in sorted(LOGS.glob("*_4d_b4.log")):
        text = "th benchmark.lua -cuda true \\\n  -batch_size 4\n" + path.read_text(encoding="utf-8")
        lines = [prefix.format(number) + line for number, line in enumerate(text.splitlines(True), start=1)]
        assert parse_log("Attaching to bench_1\n" + "".join(lines)) == parse_log(text)


def test_a_bare_word_before_the_labels_of_soumiths_scripts_names_the_kernels() -> None:
    (run,) = parse_log("cudnn    :updateOutput():    12.5\ncudnn    :TOTAL():    12.5\n")
    assert run.unit == PER_BATCH
    (run,) = parse_log("node1 free :updateOutput():  0.5\nnode1 :updateOutput():  12.5\n")
    assert run.times == {"free :updateOutput():": 0.5, ":updateOutput():": 12.5} and run.unit == PER_SAMPLE
    (run,) = parse_log("node1 :updateOutput():\t12.5\n")  # with Lua's tab
    assert run.unit == PER_SAMPLE


@pytest.mark.parametrize(
    ("prefixes", "said"),
    [
        (("0: ", "1: ", "0: "), "begin with '0: ' and '1: ' in turns, as those of several processes do"),
        (("12:01 0: ", "12:02 1: ", "12:03 0: "), "begin with '12:01 0: ' and '12:02 1: ' in turns"),
        (("a| ", "b| ", "b| "), "different texts ('a| ', 'b| '); accepted: the same before every line"),
    ],
)
def test_prefixes_of_several_writers_are_refused(prefixes: tuple[str, ...], said: str) -> None:
    labels = (":dry-run():", ":updateOutput():", ":TOTAL:")
    lines = (f"{prefix}{label}\t12.5\n" for prefix, label in zip(prefixes, labels, strict=True))
    with pytest.raises(ValueError, match=re.escape(said)):
        parse_log("".join(lines))
