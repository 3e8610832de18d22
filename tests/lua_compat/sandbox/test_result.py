"""What the sandbox sends back: whatever it is, the parent gives one Outcome; and how its process ends."""

import json
import os
import random
import signal
import struct
import subprocess
import sys
import time
from io import BytesIO
from pathlib import Path
from typing import Any

import psutil
import pytest

from lua_compat import t7
from lua_compat.sandbox import STOPPED, Limits, Outcome
from lua_compat.sandbox.result import read_outcome
from lua_compat.sandbox.worker import _sources_beside
from tests.helpers.places import ROOT
from tests.helpers.sandbox import SANDBOX

OPENING = b'{"layers": ["names"]}\n'


def outcome_of(values: bytes, header: Any = None) -> Outcome:
    header = {"exit_code": 0, "message": "", "out_of_memory": False} if header is None else header
    line = header if isinstance(header, bytes) else json.dumps(header).encode()
    return read_outcome(OPENING + line + b"\n" + values, 0, Limits())


def serialized(values: Any) -> bytes:
    buffer = BytesIO()
    t7.save(buffer, values)
    return buffer.getvalue()


def test_values_come_back() -> None:
    assert outcome_of(serialized(t7.LuaTable({"n": 3, 1: "one", 3: True}))).values == ("one", None, True)
    assert outcome_of(b"") == Outcome(0, layers=("names",))


@pytest.mark.parametrize("count", [1e9, -1, 0.5, float("nan"), float("inf"), "2", True, None])
def test_an_invalid_number_of_values(count: Any) -> None:
    outcome = outcome_of(serialized(t7.LuaTable({"n": count, 1: 1} if count is not None else {1: 1})))
    assert (outcome.exit_code, outcome.values) == ((0, (1,)) if count is True else (STOPPED, ()))


DEEP = b"".join(struct.pack("<iii id", 3, number, 1, 1, 1.0) for number in range(1, 200_000))

# As text, so that what is tested shows in a test's name.
BAD_HEADERS: list[Any] = [
    b"{", b"[" * 100_000, b"\xff\xfe", b"1e999", b"NaN", b'"text"', b"[]", b"{}", b"null", b"x" * (2 << 20),
    {"exit_code": "0", "message": "", "out_of_memory": False},
    {"exit_code": 10**400, "message": "", "out_of_memory": False},
    {"exit_code": True, "message": "", "out_of_memory": False},
    {"exit_code": 0, "message": [], "out_of_memory": False},
    {"exit_code": 0, "message": "", "out_of_memory": 1},
]  # fmt: skip


@pytest.mark.parametrize("header", BAD_HEADERS, ids=range(len(BAD_HEADERS)))
def test_an_invalid_header(header: Any) -> None:
    outcome = outcome_of(b"", header)
    assert outcome.exit_code == STOPPED and outcome.message.startswith("stopped: ")
    assert "\n" not in outcome.message


@pytest.mark.parametrize("values", [b"123", b"{}", b"\x00" * 4, DEEP, serialized("text"), serialized(5)])
def test_values_that_cannot_be(values: bytes) -> None:
    outcome = outcome_of(values)
    assert outcome.exit_code == STOPPED and outcome.message.startswith("stopped: ") and not outcome.values


def test_half_a_character_in_a_message_can_be_printed() -> None:
    header = b'{"exit_code": 1, "message": "\\ud800", "out_of_memory": false}'
    assert outcome_of(b"", header).message.encode() == b"?"


def test_damaged_values_are_an_outcome() -> None:
    whole = serialized(t7.LuaTable({"n": 2, 1: t7.LuaTable({"a": 1, "b": "text"}), 2: "another"}))
    draws = random.Random(1)
    for _ in range(3000):
        damaged = bytearray(whole)
        for _ in range(draws.randint(1, 4)):
            damaged[draws.randrange(len(damaged))] = draws.choice(
                [0, 1, 3, 4, 127, 128, 255, draws.randrange(256)]
            )
        outcome = outcome_of(bytes(damaged[: draws.randint(1, len(damaged))]))
        assert outcome.exit_code in (0, STOPPED)


@pytest.mark.parametrize("status", [-9, -11, -64, 3, 0])
def test_no_result(status: int) -> None:
    for answer in (b"", OPENING, OPENING + b"{", b"junk", b"junk\n", b"{}\n", b"[1]\n", b'{"layers": 1}\n'):
        assert read_outcome(answer, status, Limits()).exit_code == STOPPED


def test_files_beside_the_script_but_no_links_out_of_its_folder(tmp_path: Path) -> None:
    folder, outside = tmp_path / "folder", tmp_path / "outside"
    for place in (folder / "package", outside):
        place.mkdir(parents=True)
    (outside / "secret.lua").write_text("return 'secret'")
    (folder / "own.lua").write_text("return 1")
    (folder / "package" / "init.lua").write_text("return 2")
    (folder / "again.lua").symlink_to("own.lua")
    (folder / "leak.lua").symlink_to(outside / "secret.lua")
    (folder / "folder_leak").symlink_to(outside)
    (folder / "gone.lua").symlink_to("nothing")
    (folder / "circle.lua").symlink_to("circle.lua")
    (folder / "device.lua").symlink_to("/dev/zero")
    os.mkfifo(folder / "pipe.lua")
    assert _sources_beside(folder / "script.lua") == {
        "own": "return 1", "package": "return 2", "again": "return 1"
    }  # fmt: skip


@pytest.mark.parametrize(("name", "value"), [("memory_mb", "512"), ("seconds", 0), ("output_mb", -1)])
def test_limits_are_numbers_above_0(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"limits: {name} is {value!r}; accepted: a number above 0"):
        Limits(**{name: value})


def _state(pid: int) -> str:
    """Returns the letter of a process's state; empty if there is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return ""


@pytest.mark.parametrize("times", [1, pytest.param(20, marks=pytest.mark.slow)])
def test_the_process_ends_with_its_parent(tmp_path: Path, times: int) -> None:
    script = tmp_path / "script.lua"
    script.write_text("print('started') io.flush() while true do end")
    command = [sys.executable, "-m", "lua_compat", SANDBOX, str(script)]
    for _ in range(times):
        _end_parents(command)


def _hear_hangups() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup has made programs deaf to it


def _end_parents(command: list[str]) -> None:
    parents = {
        ending: subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=ROOT,
            preexec_fn=_hear_hangups,
        )
        for ending in (signal.SIGTERM, signal.SIGHUP, signal.SIGKILL)
    }
    for ending, parent in parents.items():
        assert parent.stdout is not None
        with parent.stdout as printed:
            assert printed.readline() == b"started\n"
            (child,) = psutil.Process(parent.pid).children()
            parent.send_signal(ending)
            parent.wait()
        deadline = time.monotonic() + 30
        while _state(child.pid) not in ("", "Z"):
            assert time.monotonic() < deadline, f"after {ending.name} the script still runs"
            time.sleep(0.05)


def test_a_reader_that_blocks_does_not_stop_the_clock(tmp_path: Path) -> None:
    script = tmp_path / "script.lua"
    script.write_text("while true do print(('x'):rep(1000)) end")
    command = [sys.executable, "-m", "lua_compat", SANDBOX, "--time", "1", str(script)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT) as parent:
        assert parent.stdout is not None and parent.stderr is not None
        assert parent.stdout.read(1) == b"x"  # it has begun, and nobody reads on
        (child,) = Path(f"/proc/{parent.pid}/task/{parent.pid}/children").read_text().split()
        deadline = time.monotonic() + 30
        while _state(int(child)) not in ("", "Z"):
            assert time.monotonic() < deadline, "the script still runs"
            time.sleep(0.05)
        parent.stdout.read()
        assert b"longer than 1 s" in parent.stderr.read()
