"""benchmark.py and benchmark_criterion.py as a person types them."""

import csv
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from unittest.mock import patch

import pytest
import torch

from convnet_benchmarks.nets.user_cache import user_cache
from tests.helpers.commands import Finished, run_python, started_python
from tests.helpers.gpu import sized
from tests.helpers.places import GOLDEN, ROOT

NUMBER = re.compile(r"\d+(\.\d+)?(e[+-]\d+)?$")
SMALL = ("--net", "squeezenet1.1", "-x", "64", "-y", "64", "--threads", "1")


def masked(text: str) -> list[str]:
    """The lines with the number after a tab, or before ' seconds', masked; the rest byte for byte."""
    lines = [re.sub(r"\t[-+.\de]+$", "\t#", line) for line in text.split("\n")]
    return [re.sub(r" [-+.\de]+ seconds$", " # seconds", line) for line in lines]


def recorded(name: str) -> list[str]:
    """A recorded log without its first line, the command that made it."""
    return masked((GOLDEN / "logs" / name).read_text().split("\n", 1)[1])


def one_line_failure(done: Finished, code: int = 2) -> str:
    assert done.returncode == code
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1 and "Traceback" not in done.stderr
    return done.stderr


def test_benchmark_prints_the_recorded_lines() -> None:
    done = run_python("benchmark.py", "-sync", "false", "-iter", "1")
    assert done.returncode == 0, done.stderr
    assert masked(done.stdout) == recorded("benchmark_cpu.log")


@pytest.mark.parametrize("command", ["benchmark", "criterion"])
def test_the_compiler_is_at_work_before_pytorch_is_loaded(command: str) -> None:
    loaded = f"import sys, convnet_benchmarks.commands.{command}; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", loaded], cwd=ROOT).returncode == 0


def test_a_first_run_goes_by_a_rule_and_later_ones_time_kernels_and_keep_the_times(tmp_path: Path) -> None:
    own_cache = {"XDG_CACHE_HOME": str(tmp_path)}
    run = ("benchmark.py", "-iter", "1", "-convMM", "true", *SMALL)
    assert run_python(*run).returncode == 0
    libraries = user_cache() / "compiled"
    with patch.dict(os.environ, own_cache):
        own_libraries = user_cache() / "compiled"
    if libraries.is_dir():  # not without a C compiler
        shutil.copytree(libraries, own_libraries)  # to make them takes longer than to time them
    by_rule = "chosen by a rule, without timing; later runs time more of them"
    for effort, times in (("quick", False), ("quick", True), ("thorough", True)):
        done = run_python(*run, "--tuning", effort, environment=own_cache)
        assert done.returncode == 0, done.stderr
        assert ("timing kernels, once per machine and shape: layer 1 of " in done.stderr) == times
        if (effort, times) != ("quick", True):  # which a busy machine leaves no time for all of them
            assert (by_rule in done.stderr) == (not times)
    again = run_python(*run, environment=own_cache)
    assert again.returncode == 0 and "timing kernels" not in again.stderr and "kernels: " not in again.stderr
    assert "not a number of seconds" in one_line_failure(run_python("benchmark.py", "--tuning-seconds", "no"))
    done = run_python("benchmark.py", "-iter", "1", *SMALL, "--seed", "2", "--tuning-seconds", "0")
    assert done.returncode == 0, done.stderr


def after_the_model(lines: list[str]) -> list[str]:
    return lines[lines.index("}") + 1 :]


BATCHED = ("-4d_tensor", "true", "-batch_size", "4", "--legacy-timing")


@pytest.mark.parametrize(
    ("script", "arguments", "name"),
    [
        ("benchmark.py", ("-sync", "false", "-iter", "1", *BATCHED), "benchmark_cpu_4d_b4.log"),
        ("benchmark_criterion.py", ("-iter", "1", *BATCHED), "criterion_phases_cpu_4d_b4.log"),
        ("benchmark_criterion.py", ("-iter", "2", "--pass-times"), "criterion_cpu.log"),
    ],
)
def test_another_net_prints_the_recorded_lines_after_its_model(
    script: str, arguments: tuple[str, ...], name: str
) -> None:
    done = run_python(script, *arguments, *SMALL)
    assert done.returncode == 0, done.stderr
    expected = after_the_model(recorded(name))
    assert after_the_model(masked(done.stdout)) == [line for line in expected if line != "torch.FloatTensor"]


@pytest.mark.slow
def test_batched_benchmark_prints_the_recorded_lines() -> None:
    arguments = ("-sync", "false", "-iter", "1", "-4d_tensor", "true", "-batch_size", "4", "--legacy-timing")
    done = run_python("benchmark.py", *arguments)
    assert done.returncode == 0, done.stderr
    assert masked(done.stdout) == recorded("benchmark_cpu_4d_b4.log")


@pytest.mark.slow
def test_criterion_prints_the_recorded_lines() -> None:
    arguments = ("-iter", "1", "-4d_tensor", "true", "-batch_size", "4", "--legacy-timing")
    done = run_python("benchmark_criterion.py", *arguments)
    assert done.returncode == 0, done.stderr
    expected = recorded("criterion_phases_cpu_4d_b4.log")
    expected.remove("torch.FloatTensor")
    assert masked(done.stdout) == expected


@pytest.mark.slow
def test_criterion_pass_times_print_the_recorded_lines() -> None:
    done = run_python("benchmark_criterion.py", "-iter", "2", "--pass-times")
    assert done.returncode == 0, done.stderr
    assert masked(done.stdout) == recorded("criterion_cpu.log")


def test_lines_add_up_and_the_result_files_hold_them(tmp_path: Path) -> None:
    files = ("--json", str(tmp_path / "r.json"), "--csv", str(tmp_path / "r.csv"))
    done = run_python("benchmark.py", "-iter", "3", "-batch_size", "2", "-convMM", "true", *SMALL, *files)
    assert done.returncode == 0, done.stderr
    lines = [line.split("\t") for line in done.stdout.splitlines() if "\t" in line]
    printed = {label: float(number) for label, number in lines}
    total = printed[":updateOutput():"] + printed[":updateGradInput():"] + printed[":accGradParameters():"]
    assert printed[":TOTAL:"] == pytest.approx(total, rel=1e-12)
    assert printed[":Backward:"] == pytest.approx(total - printed[":Forward:"], rel=1e-12)

    result = json.loads((tmp_path / "r.json").read_text())
    assert (result["schema"], result["kind"], result["status"]) == (
        "convnet-benchmarks/1",
        "benchmark",
        "complete",
    )
    assert result["net"]["input_shape"] == [2, 3, 64, 64]
    assert result["model"] in done.stdout
    for label, ms in result["lines"].items():
        assert f"{label}\t{ms:.14g}" in done.stdout
    for loop in result["phases"].values():
        assert len(loop["samples_ms"]) == loop["passes"] == 3
        assert sum(loop["samples_ms"]) == pytest.approx(loop["seconds"] * 1e3, rel=0.05)
    assert result["phases"][":updateOutput():"]["seconds"] * 1e3 / 3 / 2 == pytest.approx(
        printed[":updateOutput():"]
    )
    assert result["environment"]["torch"]["threads"] == 1
    convolutions = [
        layer for layer in result["backend"]["engine"]["layers"] if layer["kind"].startswith("Conv")
    ]
    assert len(convolutions) == 26
    algorithms = {name for layer in convolutions for name in layer["algorithms"].values()}
    assert algorithms and all(name.startswith("mm") for name in algorithms)
    rows = list(csv.DictReader((tmp_path / "r.csv").read_text().splitlines()))
    assert [row["label"] for row in rows] == list(result["lines"])
    assert all(float(row["ms_per_sample"]) == result["lines"][row["label"]] for row in rows)


def test_switches_choose_kernels_and_class_names(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    arguments = ("-iter", "1", "-convMM", "false", "-batch_size", "2", *SMALL, "--json", str(path))
    done = run_python("benchmark.py", *arguments)
    assert done.returncode == 0, done.stderr
    assert "nn.SpatialConvolution(3 -> 64" in done.stdout and "ConvolutionMM" not in done.stdout
    result = json.loads(path.read_text())
    assert result["backend"]["name"] == "direct"
    assert "backend direct" in done.stderr
    choosing = result["first_pass"]["choosing_seconds"]
    assert choosing > 0 and ("choosing kernels took" in done.stderr) == (choosing >= 0.5)


def test_a_forced_backend_shows_what_runs_each_layer(tmp_path: Path) -> None:
    done = run_python("benchmark.py", *SMALL, "-batch_size", "2", "-iter", "1", "--backend", "winograd")
    assert done.returncode == 0, done.stderr
    assert "nn.SpatialConvolution(3 -> 64" in done.stdout  # not a faster algorithm under MM's name
    assert re.search(r"Conv2d.*winograd", done.stderr)


def test_a_missing_compiler_is_reported() -> None:
    said = "no compiled code: no C compiler found (tried no-such-compiler); with it the engine is faster"
    for backend in (("-convMM", "true"), ("--backend", "winograd")):
        arguments = ("benchmark.py", *SMALL, "-batch_size", "2", "-iter", "1", *backend)
        done = run_python(*arguments, environment={"CC": "no-such-compiler"})
        assert done.returncode == 0, done.stderr
        assert said.partition(";")[0] in done.stderr
        assert (said in done.stderr) == (
            "--backend" not in backend
        )  # below the table that shows what ran each layer


def test_stock_is_pytorchs_autograd(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    done = run_python("benchmark.py", "-iter", "1", *SMALL, "--backend", "stock", "--json", str(path))
    assert done.returncode == 0, done.stderr
    result = json.loads(path.read_text())
    backend, first = result["backend"], result["first_pass"]
    assert backend["engine"] is None and sum(backend["convolutions"].values()) == 26
    assert first["seconds"] * 1e3 == pytest.approx(result["lines"][":dry-run():"])  # of one sample
    assert first["longer_than_the_next"] < first["seconds"] and first["choosing_seconds"] == 0


def test_a_format_that_the_engine_lacks_runs_on_autograd_and_is_reported() -> None:
    # a small net: PyTorch convolves float16 on a CPU slowly
    arguments = ("-iter", "1", "--net", "recognize_digits", "--dtype", "float16", "-convMM", "true")
    done = run_python("benchmark.py", *arguments)
    assert done.returncode == 0, done.stderr
    assert "note: the CPU engine cannot run this net: " in done.stderr
    assert "; PyTorch's autograd runs it instead" in done.stderr
    assert "option --backend mm: " in one_line_failure(
        run_python("benchmark.py", *arguments, "--backend", "mm")
    )


def test_one_sample_where_4d_tensor_is_false() -> None:
    done = run_python("benchmark.py", "-iter", "1", "-batch_size", "8", "-4d_tensor", "false", *SMALL)
    assert done.returncode == 0
    assert "-4d_tensor false: one sample" in done.stderr and "-batch_size 8 is ignored" in done.stderr


@pytest.mark.parametrize("script", ["benchmark.py", "benchmark_criterion.py"])
def test_legacy_timing_and_auto_run(script: str) -> None:
    done = run_python(script, "-iter", "1", "--legacy-timing", *SMALL)
    assert done.returncode == 0, done.stderr
    assert ":TOTAL:\t" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["-cuda", "maybe"], "option -cuda"),
        (["-batch_size", "0"], "option -batch_size"),
        (["-batch_size", "x"], "option -batch_size"),
        (["--nett", "alexnet_owt"], "did you mean --net?"),
        (["--net", "lenet"], "unknown net 'lenet' (did you mean alexnet or "),
        (["-cudnn", "true"], "option -cudnn true needs -cuda true"),
        (["-ccn2", "true"], "option -ccn2 true needs -cuda true"),
        (["-z", "4"], "option -z: overfeat_accurate takes 3 input planes, not 4"),
        (
            ["-x", "1000000000", "-y", "1000000000"],
            "it has too many elements; the net's own size is 3x221x221",
        ),
        (["-x", "10"], "layer (3) nn.SpatialMaxPooling(3x3, 3,3) gets 96x2x108; the smallest -x is 221"),
        (["-y", "200"], "layer (16) nn.SpatialConvolutionMM(1024 -> 4096, 5x5)"),
        (["--json", "/nowhere/r.json"], "option --json: cannot write '/nowhere/r.json': No such file"),
        (["--csv", "/"], "option --csv: cannot write '/': not the name of a file"),
        (["-iter", "auto", "--legacy-timing"], "option -iter"),
        (["--processes", "0"], "option --processes: '0' is not a whole number from 1 up"),
        (["--cold-cache", "--legacy-timing"], "option --cold-cache: --legacy-timing times many passes"),
    ],
)
def test_bad_input_is_one_line_and_exit_2(arguments: list[str], expected: str) -> None:
    assert expected in one_line_failure(run_python("benchmark.py", *arguments))


def test_a_batch_that_cannot_fit_is_one_line_and_exit_3() -> None:
    message = one_line_failure(run_python("benchmark.py", "-batch_size", "10000000"), code=3)
    assert re.search(r"the largest batch to try is \d+", message)


@pytest.mark.skipif("__import__('torch').cuda.is_available()", reason="this machine has CUDA")
@pytest.mark.parametrize("script", ["benchmark.py", "benchmark_criterion.py"])
def test_cuda_without_cuda_is_one_line_and_exit_2(script: str) -> None:
    message = one_line_failure(run_python(script, "--cuda", "--cudnn", "--batch-size", "64"))
    assert "option -cuda true" in message and "accepted here: -cuda false" in message


def test_a_full_disk_is_one_line_and_leaves_nothing_half_written() -> None:
    done = run_python("benchmark.py", "-iter", "1", *SMALL, "--json", "/dev/full")
    assert done.returncode == 2
    assert "cannot write '/dev/full': No space left on device" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_full_stdout_is_one_line() -> None:
    with open("/dev/full", "w") as full:
        command = [sys.executable, "benchmark.py", "-iter", "1", *SMALL]
        done = subprocess.run(command, cwd=ROOT, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2
    assert "cannot write to standard output: No space left on device" in done.stderr
    assert "Traceback" not in done.stderr


def test_ctrl_c_keeps_the_results_so_far(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    with started_python("benchmark.py", "-iter", "300", *SMALL, "--json", path) as program:
        for line in program.stdout:
            if line.startswith("free :updateOutput()"):
                break
        time.sleep(0.2)
        program.send_signal(signal.SIGINT)
        done = program.finish()
    assert done.returncode == 130
    assert "Traceback" not in done.stderr and done.stderr.rstrip().endswith("interrupted")
    result = json.loads(path.read_text())
    assert result["status"] == "interrupted"
    assert "free :updateOutput():" in result["lines"] and ":TOTAL:" not in result["lines"]
    assert list(tmp_path.iterdir()) == [path]


def test_the_legacy_lines_are_all_there_is_on_stdout() -> None:
    done = run_python("benchmark.py", "-iter", "1", *SMALL)
    tail = done.stdout.split("\n}\n", 1)[1].splitlines()
    assert all(line == "" or NUMBER.search(line.split("\t")[1]) for line in tail)


def test_list_nets() -> None:
    done = run_python("benchmark.py", "--list-nets")
    assert done.returncode == 0
    assert re.search(r"^overfeat_accurate +144,656,488  3x221x221 +arXiv", done.stdout, re.MULTILINE)


def test_help_is_quick_because_nothing_heavy_is_imported() -> None:
    code = (
        "import sys, runpy\nsys.argv = ['benchmark.py', '--help']\n"
        "try: runpy.run_path('benchmark.py', run_name='__main__')\n"
        "except SystemExit: print([m for m in ('torch', 'numpy', 'h5py', 'lupa') if m in sys.modules])"
    )
    done = run_python("-c", code)
    assert done.stdout.rstrip().endswith("[]")


@pytest.mark.gpu
def test_the_modern_command_line_on_a_gpu() -> None:
    size = sized(("64", "-iter", "3"), ("1", "-iter", "1"))
    memory = {"FAKE_GPU_MIB": "4096"}  # of a fake GPU
    done = run_python(
        "benchmark.py", "--cuda", "--cudnn", "--batch-size", *size, fresh=True, environment=memory
    )
    assert done.returncode == 0, done.stderr
    assert "cudnn.SpatialConvolution(3 -> 96, 7x7, 2,2)" in done.stdout
    assert "Cudnn" in done.stderr


@pytest.mark.gpu
def test_the_largest_batch_to_try_runs() -> None:
    """Of the GPU's memory 3 GiB are left to it: drawing the input for all of it would take minutes."""
    free, _ = torch.cuda.mem_get_info()
    taken = torch.empty(max(0, free - 3 * 2**30), dtype=torch.uint8, device="cuda")
    arguments: tuple[str, ...] = (
        "benchmark.py",
        "--cuda",
        "--cudnn",
        "-iter",
        "1",
        "--net",
        sized("vgg_a", "squeezenet1.1"),
    )
    arguments += sized((), ("-x", "64", "-y", "64"))
    refused = run_python(*arguments, "--batch-size", str(10**5))
    assert refused.returncode == 3, refused.stderr
    largest = re.findall(r"the largest batch to try is (\d+)", refused.stderr)[0]
    ran = run_python(*arguments, "--batch-size", largest)
    assert ran.returncode == 0, ran.stderr
    del taken


@pytest.mark.gpu
def test_too_large_a_batch_on_a_gpu_is_one_line_and_exit_3() -> None:
    net = sized("alexnet_owt", "squeezenet1.1")
    done = run_python("benchmark.py", "--cuda", "--batch-size", "100000", "-iter", "1", "--net", net)
    assert done.returncode == 3
    assert re.search(r"the largest batch to try is \d+", done.stderr.splitlines()[-1])


OLD_COMMAND_LINES = """\
benchmark.py
benchmark.py -cuda true -convMM true
benchmark.py -cuda true -convMM false
benchmark.py -cuda true -convMM false -cudnn true
benchmark.py -cuda true -4d_tensor true -batch_size 64 -cudnn true
benchmark.py -cuda true -4d_tensor true -batch_size 128 -cudnn true
benchmark_criterion.py -cuda true -4d_tensor true -batch_size 60 -cudnn true -sync true -iter 1
benchmark_criterion.py -cuda true -4d_tensor true -batch_size 60 -cudnn false -sync true -iter 1
benchmark_criterion.py -cuda true -4d_tensor true -batch_size 1 -cudnn true -sync true -iter 60
benchmark_criterion.py -cuda true -4d_tensor true -batch_size 1 -cudnn false -sync true -iter 60
benchmark_criterion.py -cuda true -4d_tensor false -batch_size 1 -cudnn true -sync true -iter 60
benchmark_criterion.py -cuda true -4d_tensor false -batch_size 1 -cudnn false -sync true -iter 60
benchmark_criterion.py -cuda false -4d_tensor false -batch_size 1 -cudnn false -sync true -iter 60
benchmark_criterion.py -cuda false -4d_tensor true -batch_size 60 -cudnn false -sync true -iter 1
""".splitlines()


@pytest.mark.slow
@pytest.mark.parametrize("line", OLD_COMMAND_LINES)
def test_the_command_lines_of_2015_run_unchanged(line: str) -> None:
    """The lines that the original's README shows, with `th x.lua` as `python x.py`."""
    import torch

    done = run_python(*line.split())
    if "-cuda true" in line and not torch.cuda.is_available():
        assert "option -cuda true" in one_line_failure(done)
        return
    assert done.returncode == 0, done.stderr
    labels = [part.split("\t")[0] for part in done.stdout.splitlines() if "\t" in part]
    assert labels[0] == ":dry-run():" and labels[-1] == ":TOTAL:"
