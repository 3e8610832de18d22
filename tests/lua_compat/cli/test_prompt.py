"""th's prompt: its Lua side on its own, and the whole in a terminal."""

import contextlib
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from lua_compat.runtime.state import Runtime
from tests.helpers.commands import default_ctrl_c, run_th
from tests.helpers.places import ROOT


@pytest.fixture(scope="module")
def runtime() -> Runtime:
    opened = Runtime()
    opened.open_prompt(colored=False)
    return opened


def shown(runtime: Runtime, capfd: pytest.CaptureFixture[str], text: str) -> str:
    assert runtime.evaluate(text) is None
    captured = capfd.readouterr()
    return captured.out + captured.err


def test_every_function_of_torch_and_class_of_nn_is_explained(
    runtime: Runtime, capfd: pytest.CaptureFixture[str]
) -> None:
    listed = shown(
        runtime,
        capfd,
        "require 'nn' for k, v in pairs(torch) do "
        "if type(v) == 'function' and not k:match('^_') then print('torch.' .. k) end end "
        "for k in pairs(nn) do if torch.getmetatable('nn.' .. k) then print('nn.' .. k) end end",
    )
    names = listed.split()
    assert len(names) > 390
    for name in names:
        assert_explained(runtime, capfd, name)


def assert_explained(runtime: Runtime, capfd: pytest.CaptureFixture[str], name: str) -> None:
    heading, sentence, *_ = shown(runtime, capfd, f"? {name}").splitlines()
    assert heading.startswith(name.rpartition(".")[0]) and "(" in heading and "..." not in heading, name
    assert sentence.startswith("  ") and sentence.endswith("."), name


def test_every_method_is_explained(runtime: Runtime, capfd: pytest.CaptureFixture[str]) -> None:
    listed = shown(
        runtime,
        capfd,
        "require 'nn' for _, package in ipairs{'torch', 'nn'} do for class in pairs(_G[package]) do "
        "local name = package .. '.' .. class "
        "for method, f in pairs(torch.getmetatable(name) or {}) do "
        "if type(f) == 'function' and not method:match('^_') and _G[package][class][method] then "
        "print(name .. '.' .. method) end end end end",
    )
    names = listed.split()
    assert len(names) > 2000
    # Methods that classes inherit are explained once; of the tensors one type will do.
    others = re.compile(r"torch\.(Byte|Char|Half|Int|Long|Short|Double)(Tensor|Storage)\.")
    for name in (name for name in names if not others.match(name)):
        assert_explained(runtime, capfd, name)


@pytest.mark.parametrize(
    ("before", "name", "heading"),
    [
        ("t = torch.ones(2)", "t:narrow", "t:narrow (dimension, first, size)"),
        ("t = torch.ones(2)", "t.add", "t.add ([res,] x, [value,] y)"),
        ("net = nn.Sequential()", "net:add", "net:add (module)"),
        ("net = nn.Sequential()", "net:backward", "net:backward (input, gradOutput, scale)"),
        ("m = nn.MSECriterion()", "m.forward", "m.forward (input, target)"),
    ],
)
def test_methods_of_objects_are_explained(
    runtime: Runtime, capfd: pytest.CaptureFixture[str], before: str, name: str, heading: str
) -> None:
    shown(runtime, capfd, f"require 'nn'; {before};")
    assert shown(runtime, capfd, f"? {name}").splitlines()[0] == heading


def test_help_on_nn_loads_it(capfd: pytest.CaptureFixture[str]) -> None:
    fresh = Runtime()
    fresh.open_prompt(colored=False)
    text = shown(fresh, capfd, "? nn.Identity")
    assert text.startswith("nn is loaded now (require 'nn')\nnn.Identity(): a class\n")
    assert shown(fresh, capfd, "torch.type(nn.Identity())") == "nn.Identity\n"


@pytest.mark.parametrize(
    ("name", "heading"),
    [
        ("torch.randn", "torch.randn ([res,] [generator,] sizes)"),
        ("nn.Linear", "nn.Linear(inputSize, outputSize, [bias]): a class"),
    ],
)
def test_help_shows_the_arguments(
    runtime: Runtime, capfd: pytest.CaptureFixture[str], name: str, heading: str
) -> None:
    shown(runtime, capfd, "require 'nn';")
    assert shown(runtime, capfd, f"? {name}").splitlines()[0] == heading


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 + 1", "2\n"),
        ("= 'a'", "a\n"),
        ("y = 3", ""),
        ("5;", ""),
        ("nil", ""),
        ("1, nil, 'b'", "1\nb\n"),
        ("{1, k = {}}", "{\n  1 : 1\n  k : {}\n}\n"),
        ("error('no')", "no\n"),
        ("x y", "stdin:1: '=' expected near 'y'\n"),
        ("$ echo hello", "hello\n"),
        ("? nothing.at.all", "no help: there is nothing called nothing.at.all\n"),
    ],
)
def test_a_line_shows(runtime: Runtime, capfd: pytest.CaptureFixture[str], text: str, expected: str) -> None:
    assert shown(runtime, capfd, text) == expected


def test_results_are_kept(runtime: Runtime, capfd: pytest.CaptureFixture[str]) -> None:
    shown(runtime, capfd, "'first'")
    shown(runtime, capfd, "7")
    assert shown(runtime, capfd, "_RESULTS[#_RESULTS - 1], _LAST") == "first\n7\n"


def test_tables_of_tensors_and_circles_are_printed(
    runtime: Runtime, capfd: pytest.CaptureFixture[str]
) -> None:
    shown(runtime, capfd, "t = { torch.FloatTensor(2, 3), 'text' }; t.t = t")
    expected = '{\n  1 : FloatTensor - size: 2x3\n  2 : "text"\n  t : {...}\n}\n'
    assert shown(runtime, capfd, "t") == expected


def test_help_has_the_comment_and_the_parameters(
    runtime: Runtime, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    source = tmp_path / "twice.lua"
    source.write_text("-- Gives twice x.\nfunction twice(x, ...) return 2 * x end\n")
    shown(runtime, capfd, f"dofile '{source}'")
    text = shown(runtime, capfd, "? twice")
    assert "function(x, ...)" in text and "Gives twice x." in text and "twice.lua:2" in text
    assert "methods:" in shown(runtime, capfd, "? torch.FloatTensor")
    assert "Ctrl" in shown(runtime, capfd, "?") or "^C" in shown(runtime, capfd, "?")


def test_who_shows_what_was_made_here(runtime: Runtime, capfd: pytest.CaptureFixture[str]) -> None:
    shown(runtime, capfd, "mine = torch.ones(2)")
    text = shown(runtime, capfd, "who()")
    assert re.search(r"^mine +torch.DoubleTensor of size 2$", text, re.MULTILINE)
    assert "torch " not in text


@pytest.mark.parametrize(
    ("text", "whole"),
    [("for i = 1, 2 do", False), ("for i = 1, 2 do end", True), ("x = = 1", True), ("{", False)],
)
def test_more_lines_are_asked_for_where_needed(runtime: Runtime, text: str, whole: bool) -> None:
    assert runtime.is_whole(text) is whole


def test_names_are_completed(runtime: Runtime, capfd: pytest.CaptureFixture[str]) -> None:
    shown(runtime, capfd, "some_tensor = torch.ones(1)")
    assert "torch.randn" in runtime.complete("torch.ran")
    assert "some_tensor:size" in runtime.complete("some_tensor:siz")
    assert runtime.complete("some_ten") == ["some_tensor"]
    assert "while" in runtime.complete("whi")
    assert runtime.complete("nothing.at.all") == []


def test_os_exit_leaves_with_its_code(runtime: Runtime) -> None:
    assert runtime.evaluate("os.exit(9)") == 9
    assert runtime.evaluate("os.exit()") == 0


def test_globals_are_watched() -> None:
    for option, code, out in (("-g", 0, "after\n"), ("-gg", 1, "")):
        result = run_th(option, "-e", "fresh = 1 print('after')")
        assert (result.returncode, result.stdout) == (code, out)
        assert "created global variable: fresh" in result.stderr


def test_a_script_comes_from_a_pipe() -> None:
    result = run_th(stdin="print(6 * 7)")
    assert (result.returncode, result.stdout) == (0, "42\n")


def test_lines_from_a_pipe_are_run_without_a_prompt() -> None:
    typed = "x + 1\nfor i = 1, 2 do\nprint(i)\nend\nerror('oops')\nx;\nos.exit(x)\nprint('after')\n"
    result = run_th("-e", "x = 5", "-i", stdin=typed)
    assert (result.returncode, result.stdout, result.stderr) == (5, "6\n1\n2\n", "oops\n")


class Terminal:
    """th in a pseudo-terminal."""

    def __init__(self, state: Path) -> None:
        variables = {"XDG_STATE_HOME": str(state), "PROMPT_TOOLKIT_NO_CPR": "1", "TERM": "xterm"}
        self.child, self.descriptor = pty.fork()
        if self.child == 0:
            default_ctrl_c()
            os.chdir(ROOT)
            os.environ.pop("TREPL_HISTORY", None)
            os.execve(sys.executable, [sys.executable, "-m", "lua_compat"], {**os.environ, **variables})
        self.seen = ""

    def type(self, keys: str) -> None:
        os.write(self.descriptor, keys.encode())

    def wait_for(self, text: str, seconds: float = 60) -> str:
        """Reads until ``text`` is on the screen (colours aside); what came with it."""
        deadline = time.monotonic() + seconds
        while text not in self.seen:
            ready, _, _ = select.select([self.descriptor], [], [], max(0, deadline - time.monotonic()))
            assert ready, f"no {text!r} in {self.seen!r}"
            data = os.read(self.descriptor, 65536).decode(errors="replace")
            self.seen += re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", data)
        before, _, self.seen = self.seen.partition(text)
        return before

    def exit_code(self) -> int:
        """Once the prompt has gone: reading what it leaves ends in an error then."""
        with contextlib.suppress(OSError):
            self.wait_for("what is never printed")
        return os.waitstatus_to_exitcode(os.waitpid(self.child, 0)[1])

    def close(self) -> None:
        with contextlib.suppress(ProcessLookupError, ChildProcessError):
            os.kill(self.child, signal.SIGKILL)
            os.waitpid(self.child, 0)
        os.close(self.descriptor)


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    opened = Terminal(tmp_path)
    yield opened
    opened.close()


def test_prompt_in_a_terminal(terminal: Terminal, tmp_path: Path) -> None:
    steps = (
        ("th>", "torch.randpe\t"),
        ("rm", "(20):size(1)\r"),  # what TAB adds to the word
        ("20\r\n", ""),
        ("th>", "for i = 1, 2 do\r"),
        ("..>", "print('turn ' .. i) end\r"),
        ("turn 2\r\n", ""),
        ("th>", "error('an error of ours')\r"),
        ("an error of ours\r\n", ""),
        ("th>", "print('running') while true do torch.ones(10000):double() end\r"),
        ("running\r\n", "\x03"),
        ("interrupted\r\n", ""),
        ("th>", "print('endless') while true do end\r"),
        ("endless\r\n", "\x03"),
        ("interrupted\r\n", ""),
        ("th>", "small = torch.ones(2); print('few') while true do pcall(small.add, small, 1) end\r"),
        ("few\r\n", "\x03"),
        ("interrupted\r\n", ""),
        ("th>", "40 + 2\r"),
        ("42\r\n", ""),
        ("th>", "half a line"),
        ("half a line", "\x03"),  # drops what is typed
        ("th>", "\x1b[A .. ' again'\r"),  # the last line that was run
        ("42 again\r\n", ""),
        ("th>", "\x04"),
    )
    for awaited, keys in steps:
        terminal.wait_for(awaited)
        time.sleep(0.1)  # the prompt is shown a moment before the keys are its own
        terminal.type(keys)
    assert terminal.exit_code() == 0
    assert "+40 + 2" in (tmp_path / "convnet-benchmarks" / "th_history").read_text()


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")
def test_prompt_in_tmux(tmp_path: Path) -> None:

    def tmux(*words: str) -> str:
        command = ["tmux", "-S", str(tmp_path / "socket"), *words]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    def wait_for(text: str) -> None:
        for _ in range(300):
            if text in tmux("capture-pane", "-p", "-t", "th"):
                return
            time.sleep(0.1)
        pytest.fail(f"no {text!r} in:\n{tmux('capture-pane', '-p', '-t', 'th')}")

    tmux("new-session", "-d", "-s", "th", "-x", "100", "-y", "40", "-c", str(ROOT), "bash --norc")
    try:
        command = f"XDG_STATE_HOME={tmp_path} PS1='$ ' {sys.executable} -m lua_compat; echo left with $?"
        tmux("send-keys", "-t", "th", command, "Enter")
        wait_for("th>")
        for keys, text in (
            (["6 * 7", "Enter"], "42"),
            (["Up", "Up", "C-c"], "th> "),
            (["torch.randp", "Tab"], "torch.randperm"),
            (["(20):size(1)", "Enter"], "\n20\n"),
            (["nothing.here", "Enter"], "attempt to index global 'nothing'"),
            (["unfinished", "C-c"], "th> unfinished\nth>"),
            (["C-d"], "left with 0"),
        ):
            time.sleep(0.1)  # the prompt is shown a moment before the keys are its own
            tmux("send-keys", "-t", "th", *keys)
            wait_for(text)
    finally:
        tmux("kill-server")
