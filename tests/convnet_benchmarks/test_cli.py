"""The command ``convnet-benchmarks``: help, unknown commands, how failures end."""

import contextlib
import errno
import json
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import convnet_benchmarks
from convnet_benchmarks.cli import command_names, main
from convnet_benchmarks.errors import OutOfDeviceMemoryError, UserError, run_command
from lua_compat import t7
from tests.helpers.commands import run_python
from tests.helpers.places import ROOT

COMMAND = ("-m", "convnet_benchmarks")
SMALL = (
    "-iter",
    "1",
    "--net",
    "squeezenet1.1",
    "-x",
    "64",
    "-y",
    "64",
    "--threads",
    "1",
    "--backend",
    "stock",
)


@pytest.mark.parametrize("arguments", [(), ("--help",), ("-h",), ("help",)])
def test_help_lists_the_commands(arguments: tuple[str, ...]) -> None:
    done = run_python(*COMMAND, *arguments)
    assert done.returncode == 0
    assert all(name in done.stdout for name in command_names())


@pytest.mark.parametrize("name", command_names())
def test_every_command_explains_itself(name: str) -> None:
    done = run_python(*COMMAND, name, "--help")
    assert done.returncode == 0 and "usage: convnet-benchmarks " + name in done.stdout


def test_help_with_a_command_explains_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["help", "t7"])
    assert end.value.code == 0 and "usage: convnet-benchmarks t7 " in capsys.readouterr().out


def test_an_unknown_command_is_one_line_and_exit_2() -> None:
    done = run_python(*COMMAND, "bnechmark")
    assert done.returncode == 2
    accepted = ", ".join(command_names())
    meant = "unknown command 'bnechmark' (did you mean benchmark?)"
    assert done.stderr == f"convnet-benchmarks: {meant}; accepted: {accepted}\n"


@pytest.mark.parametrize(
    ("name", "meant"),
    [("rofline", "flops --parts roofline"), ("server", "sweep --scenario server"), ("plot", "report")],
)
def test_a_part_of_a_command_is_not_a_command(
    name: str, meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([name]) == 2
    assert f"unknown command '{name}' (did you mean {meant}?); accepted: " in capsys.readouterr().err


def raising(error: BaseException) -> Callable[[], int]:
    def command() -> int:
        raise error

    return command


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (UserError("option -x: no"), 2, "p: option -x: no\n"),
        (OutOfDeviceMemoryError("too much"), 3, "p: too much\n"),
        (KeyboardInterrupt(), 130, "p: interrupted\n"),
        (BrokenPipeError(), 0, ""),
        (
            OSError(errno.ENOSPC, "No space left on device"),
            2,
            "p: cannot write to standard output: No space left on device\n",
        ),
    ],
)
def test_failures_end_as_promised(
    capsys: pytest.CaptureFixture[str], error: Any, code: int, message: str
) -> None:
    assert run_command("p", raising(error)) == code
    assert capsys.readouterr().err == message


@pytest.mark.parametrize(
    ("closed", "code"),
    [("<&-", 2), (">&-", 1), ("2>&-", 0), ("<&- >&- 2>&-", 1)],
    ids=["in", "out", "err", "all"],
)
def test_streams_that_are_closed(tmp_path: Path, closed: str, code: int) -> None:
    """What is read is empty; what is written is lost, which is told; the result file has all of it."""
    words = (
        [*COMMAND, "t7", "-"] if closed == "<&-" else ["benchmark.py", *SMALL, "--json", str(tmp_path / "r")]
    )
    command = shlex.join([sys.executable, *words])
    done = subprocess.run(["sh", "-c", f"{command} {closed}"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    if code != 2:
        assert json.loads((tmp_path / "r").read_text())["status"] == "complete"
        lost = "benchmark.py: standard output is closed: what was printed is lost\n"
        assert done.stderr.endswith(lost) == (closed == ">&-")
    else:
        assert done.stderr.startswith("convnet-benchmarks t7: standard input: ")


def test_a_deleted_working_folder_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "gone").mkdir()
    command = shlex.join(["env", f"PYTHONPATH={ROOT}", sys.executable, *COMMAND, "flops", "--net", "alexnet"])
    shell = f"cd {shlex.quote(str(tmp_path / 'gone'))} && rmdir ../gone && {command}"
    done = subprocess.run(["sh", "-c", shell], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert "the working folder has been deleted" in done.stderr and done.stderr.count("\n") == 1


def test_nets_without_a_working_folder(tmp_path: Path) -> None:
    """An editable install adds an entry to Python's path that is relative."""
    gone = tmp_path / "gone"
    gone.mkdir()
    code = (
        f"import os, sys; os.chdir({str(gone)!r}); os.rmdir({str(gone)!r}); sys.path.append('x'); "
        "import convnet_benchmarks.nets, nets"
    )
    done = run_python("-c", code)
    assert done.returncode == 0, done.stderr


LOADED_WHILE_INTERRUPTED = """
import runpy, sys
class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == sys.argv[1]:
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupting())
started = sys.argv[2]
run = runpy.run_path if started.endswith(".py") else runpy.run_module
run(started, run_name="__main__")
"""


@pytest.mark.parametrize(
    ("started", "loaded", "program"),
    [
        ("benchmark.py", "convnet_benchmarks.commands.benchmark", "benchmark.py"),
        ("benchmark_criterion.py", "convnet_benchmarks.commands.criterion", "benchmark_criterion.py"),
        ("convnet_benchmarks", "convnet_benchmarks.cli", "convnet-benchmarks"),
        ("lua_compat", "lua_compat.cli.th", "th"),
    ],
)
def test_ctrl_c_while_a_command_is_being_loaded_is_one_line(started: str, loaded: str, program: str) -> None:
    done = run_python("-c", LOADED_WHILE_INTERRUPTED, loaded, started)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", f"{program}: interrupted\n")


def test_text_that_the_locale_cannot_write_is_escaped(tmp_path: Path) -> None:
    t7.save(str(tmp_path / "name.t7"), {"name": "Zürich"})
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = run_python(*COMMAND, "t7", str(tmp_path / "name.t7"), environment=plain)
    assert done.returncode == 0, done.stderr
    assert "rich" in done.stdout and done.stdout.isascii()


def test_what_a_file_holds_reaches_the_terminal_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    hostile = "a\x1b[2Jb\nc\x7f\ud800"
    assert run_command("p", raising(UserError(f"file: field {hostile} of Zürich"))) == 2
    assert capsys.readouterr().err == "p: file: field a\\x1b[2Jb\\nc\\x7f\\ud800 of Zürich\n"


@pytest.mark.parametrize("end", ["os._exit", "sys.exit"])
@pytest.mark.parametrize("processes", [1, 2])
def test_a_net_that_ends_the_program_is_reported(end: str, processes: int, tmp_path: Path) -> None:
    """Its own exit code, 3, would be taken for too little memory."""
    (tmp_path / "ends.py").write_text(
        "import os, sys\nfrom torch import nn\n\n"
        f"class Ends(nn.Linear):\n    def forward(self, x):\n        {end}(3)\n\n"
        "def net():\n    return Ends(4, 2)\n"
    )
    options = ["--input-size", "4", "--iter", "1", "--backend", "stock", "--processes", processes]
    result = run_python(ROOT / "benchmark.py", "--net", f"{tmp_path}/ends.py:net", *options)
    said = f"ended by {end}(3) in the code of the net" if processes == 1 else "ended with exit code 3"
    assert result.returncode == 2
    assert said in result.stderr and "Traceback" not in result.stderr


def test_a_defect_of_ours_is_not_hidden() -> None:
    with pytest.raises(ZeroDivisionError):
        run_command("p", raising(ZeroDivisionError()))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["flops", "--parts", "rofline"],
            "flops: option --parts: unknown part 'rofline' (did you mean roofline?)",
        ),
        (
            ["sweep", "--nets", "alexnet", "--batchsizes", "3"],
            "sweep: unknown option --batchsizes (did you mean --batch-sizes?)",
        ),
        (["sweep", "--nets", "alexnt"], "sweep: option --nets: unknown net 'alexnt' (did you mean alexnet"),
        (["sweep", "--nets", str(ROOT)], f"sweep: option --nets: '{ROOT}' is a folder; accepted: a name"),
        (
            ["sweep", "--nets", "benchmark.py"],
            "sweep: option --nets: 'benchmark.py' is a file; name a function",
        ),
        (
            ["ops", "--mode", "trainin"],
            "ops: option --mode: unknown value 'trainin' (did you mean training?)",
        ),
        (
            ["backends", "--nets", "alexnet", "--with", "tf32"],
            "backends: option --with: backend tf32 is for cuda, not for cpu",
        ),
        (
            ["sweep", "--nets", "qqq"],
            "option --nets: unknown net 'qqq'; accepted: a name of benchmark.py --list",
        ),
        (
            ["flops", "--slope-layer", "99"],
            "option --slope-layer: needs --parts slope or counters",
        ),
        (
            ["flops", "--parts", "slope", "--slope-layer", "99"],
            "--slope-layer: there is no layer '99'; accepted",
        ),
        (["benchmark", "--device", "3"], "benchmark: option --device 3: a GPU's number needs -cuda true"),
        (["benchmark", "-4d_tensor", "perhaps"], "option -4d_tensor: 'perhaps' is none of true, false, auto"),
        (["benchmark", "--backend", "autp"], "option --backend: unknown value 'autp' (did you mean auto?)"),
        (["criterion", "--net", "ssd_vgg16"], "option --net: ssd_vgg16 gives several tensors"),
    ],
)
def test_bad_input_is_one_line_that_helps(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1 and error.startswith("convnet-benchmarks ")


@pytest.mark.parametrize("program", [("--version",), ("sweep", "--version"), ("benchmark", "-version")])
def test_version(program: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    with contextlib.suppress(SystemExit):
        main(program)
    assert capsys.readouterr().out.startswith(
        f"convnet-benchmarks {convnet_benchmarks.__version__}, PyTorch "
    )


@pytest.mark.parametrize("name", command_names())
def test_every_help_has_examples(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with contextlib.suppress(SystemExit):
        main([name, "--help"])
    shown = capsys.readouterr().out.partition("examples:\n")[2]
    assert f"  convnet-benchmarks {name}" in shown
