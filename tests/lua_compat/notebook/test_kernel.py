"""The kernel's messages: what a front end sends, and what comes back."""

import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.helpers.commands import default_ctrl_c
from tests.helpers.places import ROOT

SECONDS = 60


class Ran(NamedTuple):
    """What a cell led to."""

    status: str
    messages: list[tuple[str, dict[str, Any]]]

    def stream(self, name: str) -> str:
        return "".join(
            content["text"] for kind, content in self.messages if kind == "stream" and content["name"] == name
        )

    def contents(self, kind: str) -> list[dict[str, Any]]:
        return [content for found, content in self.messages if found == kind]

    @property
    def value(self) -> str | None:
        results = self.contents("execute_result")
        return results[0]["data"]["text/plain"] if results else None

    @property
    def error(self) -> dict[str, Any]:
        (content,) = self.contents("error")
        return content


class Front:
    """A front end on the kernel's own sockets."""

    def __init__(self, jupyter: Path, folder: Path) -> None:
        zmq = pytest.importorskip("zmq")
        from jupyter_client.connect import write_connection_file
        from jupyter_client.session import Session

        path, connection = write_connection_file(str(folder / "connection.json"), key=b"secret")
        description = json.loads((jupyter / "kernels" / "itorch" / "kernel.json").read_text())
        self.kernel = subprocess.Popen(
            [word.replace("{connection_file}", path) for word in description["argv"]],
            # it ends with the process of this number
            env={**os.environ, **description["env"], "JPY_PARENT_PID": str(os.getpid())},
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            preexec_fn=default_ctrl_c,
        )
        self._session = Session(key=connection["key"].encode())
        self._context = zmq.Context()
        self._shell, self._control, self._input = (self._context.socket(zmq.DEALER) for _ in range(3))
        self._shell.identity = self._control.identity = self._input.identity = b"front"
        self._output = self._context.socket(zmq.SUB)
        self._output.subscribe(b"")
        for socket, port in (
            (self._shell, connection["shell_port"]),
            (self._control, connection["control_port"]),
            (self._input, connection["stdin_port"]),
            (self._output, connection["iopub_port"]),
        ):
            socket.linger, socket.rcvtimeo = 0, 1000 * SECONDS
            socket.connect(f"tcp://127.0.0.1:{port}")
        self.ask("kernel_info_request")
        # the subscription may take a moment longer
        while not self._output.poll(100):
            self.ask("kernel_info_request")

    def _receive(self, socket: Any) -> Any:
        _, message = self._session.recv(socket, mode=0)
        return message

    def ask(self, kind: str, **content: Any) -> dict[str, Any]:
        """Sends a request; returns the content of its reply."""
        # Only there a kernel that shuts down sends its reply for certain.
        socket = self._control if kind == "shutdown_request" else self._shell
        request = self._session.send(socket, kind, content)
        reply = self._receive(socket)
        assert reply["parent_header"]["msg_id"] == request["header"]["msg_id"]
        answer: dict[str, Any] = reply["content"]
        return answer

    def next_output(self) -> Any:
        return self._receive(self._output)

    def run(self, code: str, interrupt_at: str | None = None, typed: Sequence[str] = ()) -> Ran:
        """Runs a cell; with ``interrupt_at``, interrupts it once it has printed that. ``typed``: the lines
        that are typed when it asks."""
        request = self._session.send(
            self._shell,
            "execute_request",
            {"code": code, "stop_on_error": False, "user_expressions": {}, "allow_stdin": bool(typed)},
        )
        for line in typed:
            assert self._receive(self._input)["msg_type"] == "input_request"
            self._session.send(self._input, "input_reply", {"value": line})
        messages = []
        while True:
            message = self.next_output()
            kind, content = message["msg_type"], message["content"]
            if message["parent_header"].get("msg_id") != request["header"]["msg_id"]:
                assert kind in ("status", "iopub_welcome"), content
                continue
            if kind == "status" and content["execution_state"] == "idle":
                break
            if kind not in ("status", "execute_input"):
                messages.append((kind, content))
            if interrupt_at and kind == "stream" and interrupt_at in content["text"]:
                self.kernel.send_signal(signal.SIGINT)
        return Ran(self._receive(self._shell)["content"]["status"], messages)

    def close(self) -> None:
        """Shuts the kernel down as a server does; it has to end by itself."""
        self.ask("shutdown_request", restart=False)
        self._context.destroy(linger=0)
        _, told = self.kernel.communicate(timeout=SECONDS)
        assert self.kernel.returncode == 0, told.decode()


@pytest.fixture(scope="module")
def front(jupyter: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Front]:
    opened = Front(jupyter, tmp_path_factory.mktemp("front"))
    yield opened
    opened.close()


def test_cells_share_one_state(front: Front) -> None:
    assert front.run("x = 20").messages == []
    assert front.run("x * 2 + 2").value == "42"
    assert front.run("_LAST").value == "42"


@pytest.mark.parametrize(
    ("cell", "value"),
    [
        ("x = 1;", None),
        ("'text'", "text"),
        ("'text';", None),
        ("nil", None),
        ("1, nil, 'b'", "1\nb"),
        ("= 3", "3"),
        ("y = 4\ny + 1", "5"),  # the expression in the last line
        ("local z = 6\n\nz -- a comment", "6"),
        ("{ a = 1 }", "{\n  a : 1\n}"),
        ("require 'sys'", None),  # a package is no value to look at
        ("torch.Tensor{ 1, 2 }", " 1\n 2\n[torch.DoubleTensor of size 2]"),
    ],
)
def test_the_value_of_a_cell(front: Front, cell: str, value: str | None) -> None:
    ran = front.run(cell)
    assert (ran.status, ran.value) == ("ok", value)


def test_modules_show_their_fields_as_with_env(front: Front) -> None:
    assert front.run("require 'nn'; return nn.Mul()").value == (
        "nn.Mul\n{\n  _type : torch.DoubleTensor\n  gradInput : DoubleTensor - empty\n"
        "  gradWeight : DoubleTensor - size: 1\n  output : DoubleTensor - empty\n"
        "  weight : DoubleTensor - size: 1\n}"
    )


def test_matrices_and_vectors_are_tables(front: Front) -> None:
    (shown,) = front.run("torch.Tensor{ { 1, 2.5 }, { 3, 0/0 } }").contents("execute_result")
    assert shown["data"]["text/html"] == (
        "<table><thead><tr><th></th><th>1</th><th>2</th></tr></thead><tbody>"
        "<tr><th>1</th><td>1</td><td>2.5000</td></tr><tr><th>2</th><td>3</td><td>nan</td></tr></tbody></table>"
        "<p>[torch.DoubleTensor of size 2x2]</p>"
    )
    (shown,) = front.run("torch.range(1, 100)").contents("execute_result")
    html = shown["data"]["text/html"]
    assert html.count("<tr>") == 21 and "<td>10</td>" in html and "<td>91</td>" in html
    assert "<td>11</td>" not in html and "&hellip;" in html
    assert shown["data"]["text/plain"].count("\n") == 100  # as th prints it


def test_of_further_dimensions_the_first_matrices_are_tables(front: Front) -> None:
    (shown,) = front.run("torch.range(1, 24):view(2, 3, 2, 2)").contents("execute_result")
    html = shown["data"]["text/html"]
    captions = re.findall("<caption>(.*?)</caption>", html)
    assert captions == ["(1,1,.,.)", "(2,1,.,.)", "(1,2,.,.)", "(2,2,.,.)"]  # as th prints them
    assert re.findall("<td>(.*?)</td>", html)[4:8] == ["13", "14", "15", "16"]
    assert html.endswith("&hellip;<p>[torch.DoubleTensor of size 2x3x2x2]</p>")


def test_of_a_large_tensor_the_corner_is_shown(front: Front) -> None:
    text = front.run("torch.range(1, 10^6):view(1000, 1000)").value
    assert text is not None and len(text) < 5000
    assert text.endswith("the first 20x20 of [torch.DoubleTensor of size 1000x1000]")
    assert " 19020" in text and " 20020" not in text


def test_what_is_printed_comes_as_it_is_written(front: Front) -> None:
    ran = front.run(
        "print('one', 2) io.write('three') io.stderr:write('four\\n') os.execute('echo five; echo six >&2')"
    )
    assert ran.stream("stdout") == "one\t2\nthreefive\n"
    assert ran.stream("stderr") == "four\nsix\n"
    many = front.run("for i = 1, 20000 do print(i) end")
    assert many.stream("stdout") == "".join(f"{i}\n" for i in range(1, 20001))
    assert front.run("print('ä€')").stream("stdout") == "ä€\n"


def test_output_and_pictures_keep_their_order(front: Front) -> None:
    ran = front.run("io.write('before') itorch.html('<b>bold</b>') print('after')")
    shown = [content.get("text") or content["data"]["text/html"] for _, content in ran.messages]
    assert "".join(shown) == "before<b>bold</b>after\n"


def test_errors_name_the_line_of_the_cell(front: Front) -> None:
    front.run("function of_mine(x)\n   return x.y.z\nend")
    ran = front.run("local a = 1\nof_mine({})")
    error = ran.error
    assert ran.status == "error" and error["ename"] == "LuaError"
    assert error["evalue"].endswith(":2: attempt to index field 'y' (a nil value)")
    text = "\n".join(error["traceback"])
    assert "----> 2     return x.y.z" in text.replace("   return", "  return")
    assert "----> 2   of_mine({})" in text and "in main chunk" in text and "xpcall" not in text
    text = "\n".join(front.run("image = require 'image'\nimage.display()").error["traceback"])
    assert "In [" in text and "----> 2   image.display()" in text
    assert "----> 1   of_mine({})" in "\n".join(front.run("of_mine({})").error["traceback"])
    assert front.run("coroutine.wrap(function() error('inner') end)()").error["evalue"].endswith(":1: inner")
    assert front.run("a b").error["evalue"].endswith("'=' expected near 'b'")
    assert front.run("error({ 1 })").status == "error"
    failing = "setmetatable({}, { __tostring = function() error('no text') end })"
    assert front.run(failing).error["evalue"].endswith("no text")
    assert front.run("$ exit 3").status == "ok"


def test_errors_in_nets_and_endless_recursion_name_the_line_of_the_cell(front: Front) -> None:
    net = "require 'nn'\nlocal net = nn.Sequential():add(nn.Linear(2, 3))\nnet:forward(torch.ones(5))"
    for cell in (net, "local function again() return 1 + again() end\n\nagain()"):
        text = "\n".join(front.run(cell).error["traceback"])
        assert f"----> 3   {cell.splitlines()[2]}" in text and "boot.lua" not in text


def test_interrupts_leave_the_state(front: Front) -> None:
    front.run("kept = 'kept' small = torch.ones(2)")
    for loop in (
        "while true do end",
        "while true do pcall(error) end",
        "while true do torch.ones(10000):double() end",
        "pcall(function() while true do small:add(1) end end) print('caught')",
    ):
        ran = front.run(f"print('running') {loop}", interrupt_at="running")
        assert (ran.status, ran.error["ename"]) == ("error", "KeyboardInterrupt"), loop
        assert ran.stream("stdout") == "running\n"
        assert front.run("kept").value == "kept"


def test_os_exit_ends_the_cell_alone(front: Front) -> None:
    ran = front.run("print('last') os.exit(3)")
    assert (ran.error["ename"], ran.error["evalue"]) == ("SystemExit", "3")
    assert front.run("6 * 7").value == "42"


def test_what_is_read_is_typed_into_the_page(front: Front) -> None:
    ran = front.run("name, n = io.read('*l', '*n') return name .. '!', n + 1", typed=("jürgen", "41"))
    assert ran.value == "jürgen!\n42"
    assert front.run("io.read('*n', '*l')", typed=("12 and more",)).value == "12\n and more"
    assert front.run("io.stdin:read(2, '*a')", typed=("abc",)).value == "ab\nc"
    for lines in ("io.lines()", "io.stdin:lines()"):
        ran = front.run(
            f"for line in {lines} do print(line) if line == 'end' then break end end", typed=("a", "end")
        )
        assert ran.stream("stdout") == "a\nend\n"
    assert front.run("io.read()").value is None  # a front end that cannot ask
    assert front.run("io.read('*x')", typed=("x",)).error["evalue"].endswith("(invalid format)")


def test_names_and_files_are_completed(front: Front) -> None:
    def completed(code: str) -> dict[str, Any]:
        return front.ask("complete_request", code=code, cursor_pos=len(code))

    content = completed("local y = torch.randpe")
    assert (content["matches"], content["cursor_start"]) == (["torch.randperm"], 10)
    front.run("some_tensor = torch.ones(1)")
    assert "some_tensor:size" in completed("x = 1\nsome_tensor:siz")["matches"]
    assert "/usr/" in completed("io.open('/us")["matches"]


def test_names_are_explained(front: Front) -> None:
    def inspected(code: str, place: int) -> dict[str, Any]:
        return front.ask("inspect_request", code=code, cursor_pos=place, detail_level=0)

    content = inspected("x = torch.randn(3)", 12)
    assert content["found"] and content["data"]["text/plain"].startswith(
        "torch.randn ([res,] [generator,] sizes)"
    )
    assert not inspected("nothing_here(3)", 4)["found"]
    for cell in ("?torch.randn", "torch.randn?"):
        assert front.run(cell).stream("stdout").startswith("torch.randn (")
    assert front.run("itorch.help(torch.randn)").stream("stdout").startswith("torch.randn (")
    assert "itorch.image" in front.run("?").stream("stdout")


def test_incomplete_cells_are_told_apart(front: Front) -> None:
    for code, status in (("for i = 1, 2 do", "incomplete"), ("x = 1", "complete")):
        assert front.ask("is_complete_request", code=code)["status"] == status


def test_classes_can_be_defined_again(front: Front) -> None:
    cell = "local class = torch.class('my.Thing', 'nn.Module') function class:number() return {} end"
    front.run("require 'nn' my = {}")
    for number in (1, 2):
        assert front.run(cell.format(number)).status == "ok"
        assert front.run("my.Thing():number()").value == str(number)
    assert front.run("torch.isTypeOf(my.Thing(), 'nn.Module')").value == "true"
    assert "<class name>" in front.run("torch.class()").error["evalue"]


def test_progress_bars_are_drawn_seldom(front: Front) -> None:
    text = front.run("for bar = 1, 3 do for i = 1, 5000 do xlua.progress(i, 5000) end end").stream("stdout")
    assert text.count(" 5000/5000 ") == 3 and text.count("\r") < 30 and "\b" not in text
    *_, line = text.rstrip("\n").rpartition("\r")
    assert re.fullmatch(r" \[=+ 5000/5000 =+>\] +Tot: \w+ \| Step: \w+ *", line)


def test_shown_html_can_be_replaced(front: Front) -> None:
    (shown,) = front.run("place = itorch.html('old')").contents("display_data")
    (update,) = front.run("itorch.html('new', place);").contents("update_display_data")
    assert update["transient"] == shown["transient"]
    assert update["data"]["text/html"] == "new"


def test_what_a_child_prints_later_is_not_lost(front: Front) -> None:
    front.run("os.execute('(sleep 0.3; echo late) &')")
    while (message := front.next_output())["msg_type"] != "stream":
        pass
    assert message["content"]["text"] == "late\n"
