"""The package threads: how th, a script and Python end with threads, as a person sees it."""

import io
import signal
import threading
import time
from pathlib import Path

import pytest

from lua_compat import run
from lua_compat.runtime.errors import LuaError
from lua_compat.runtime.state import Runtime
from lua_compat.sandbox import run as run_in_sandbox
from tests.helpers.commands import run_python
from tests.lua_compat.runtime.threads.scripts import HEAD, run_lua, start, th


def test_abandoned_pools_finish_their_jobs_at_the_end(tmp_path: Path) -> None:
    code = """
        for p = 1, 2 do
           local pool = threads.Threads(2)
           for i = 1, 5 do
              pool:addjob(function() sys.sleep(0.05) return p * 10 + i end, print)
           end
        end
        threads.Thread('while true do end')
        print('the end of the script')
    """
    exit_code, stdout, stderr = th(tmp_path, code)
    assert exit_code == 0, stderr
    before, _, after = stdout.partition("the end of the script")
    numbers = sorted(map(int, before.split() + after.split()))
    assert numbers == [10 * p + i for p in (1, 2) for i in range(1, 6)]
    assert len(after.split()) > 0


def test_the_error_of_an_abandoned_pool_is_reported(tmp_path: Path) -> None:
    code = "threads.Threads(1):addjob(function() sys.sleep(0.1) end, function() error('at last') end)"
    exit_code, _, stderr = th(tmp_path, code)
    assert exit_code == 0
    assert "[thread 1 endcallback]" in stderr and "at last" in stderr


def test_pools_that_nothing_refers_to_give_their_threads_back(tmp_path: Path) -> None:
    run_lua(
        tmp_path,
        """
        local alive = require('th.python').functions.threads_alive
        local done = 0
        for i = 1, 12 do
           local pool = threads.Threads(4)
           pool:addjob(function() return 1 end, function(one) done = done + one end)
        end
        assert(alive() <= 24, alive())
        assert(done >= 6)
        """,
    )


BUSY = "local pool = threads.Threads(2) for i = 1, 2 do pool:addjob(function() while true do end end) end "


@pytest.mark.parametrize(
    "wait",
    [
        "pool:synchronize()",
        "pcall(pool.synchronize, pool)",
        "while true do end",
        "sys.sleep(100)",
        "local m = threads.Mutex() m:lock() m:lock()",
        "local m = threads.Mutex() m:lock() threads.Condition():wait(m)",
        "error('not yet')",
        "threads.Thread('while true do end'):free()",
        "os.exit(3)",
    ],
)
def test_ctrl_c_errors_and_exits_end_busy_threads(wait: str, tmp_path: Path) -> None:
    with start(tmp_path, BUSY + f"print('started') io.flush() {wait}") as program:
        assert program.stdout.readline() == "started\n"
        if "error" in wait or "exit" in wait:
            expected, message = (1, "script.lua:3: not yet") if "error" in wait else (3, "")
        else:
            time.sleep(0.3)
            program.send_signal(signal.SIGINT)
            expected, message = 130, "interrupted"
        done = program.finish(30)
    assert (done.returncode, message in done.stderr) == (expected, True), done.stderr


@pytest.mark.parametrize("main", ["pool:synchronize()", "while true do end", "print(1)"])
def test_exit_in_a_thread_ends_th(main: str, tmp_path: Path) -> None:
    code = """
        local pool = threads.Threads(2)
        pool:addjob(function() sys.sleep(0.3) io.write('bye') os.exit(7) end)
    """
    exit_code, stdout, stderr = th(tmp_path, code + main)
    assert exit_code == 7, stderr
    assert stdout.endswith("bye")


def test_what_was_written_before_an_abrupt_end_is_there(tmp_path: Path) -> None:
    written = tmp_path / "written"
    code = (
        BUSY + f"kept = io.open('{written}', 'w') kept:write('all of it') io.write('and this') error('ends')"
    )
    exit_code, stdout, stderr = th(tmp_path, code)
    assert (exit_code, stdout, written.read_text()) == (1, "and this", "all of it"), stderr


def test_from_python_threads_end_with_the_script(tmp_path: Path) -> None:
    before = set(threading.enumerate())
    script = tmp_path / "script.lua"
    script.write_text(
        HEAD + "pool = threads.Threads(2) pool:addjob(function() sys.sleep(0.2) end) error('early')"
    )
    with pytest.raises(LuaError, match="early"):
        run(script)
    assert set(threading.enumerate()) <= before
    script.write_text(
        HEAD + "pool = threads.Threads(2) pool:addjob(function() os.exit(5) end) pool:synchronize()"
    )
    assert run(script) == 5
    assert set(threading.enumerate()) <= before


def test_a_state_that_nobody_finishes_does_not_keep_python(tmp_path: Path) -> None:
    code = """
from lua_compat.runtime.state import Runtime
state = Runtime()
state.run_string("pool = require 'threads'(2)")
print("done")
"""
    done = run_python("-c", code, timeout=60)
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr


def test_the_states_of_threads_are_freed(tmp_path: Path) -> None:
    import gc

    def states() -> int:
        return sum(type(thing) is Runtime for thing in gc.get_objects())

    gc.collect()
    before = states()
    run_lua(tmp_path, "threads.Threads(4):terminate() threads.Threads(2):terminate()")
    assert states() == before


def test_the_sandbox_refuses_it_by_name(tmp_path: Path) -> None:
    script = tmp_path / "script.lua"
    script.write_text("require 'threads'")
    outcome = run_in_sandbox(script, stdout=io.BytesIO(), stderr=io.BytesIO(), weaker=True)
    assert outcome.exit_code == 1
    assert "threads is not available in the sandbox" in outcome.message
