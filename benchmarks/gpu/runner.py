"""Runs a part's steps one after the other, within the part's time, and keeps what each one gave."""

import json
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from benchmarks.gpu import journal
from benchmarks.gpu.step import RESULT, Step

_FEWEST_SECONDS = 3.0  # with less time left no step is started
_TAIL = 1500  # characters of a step's output that its record keeps
_GRACE = 5.0  # seconds from the request to end to the kill


def run_part(part: int, steps: Sequence[Step], out: Path, seconds: float) -> bool:
    """Runs the steps that ``out`` does not hold yet; returns whether none failed or was cut off."""
    begin = time.monotonic()
    out.mkdir(parents=True, exist_ok=True)
    path = journal.journal_file(out, part)
    done = (
        {record["step"] for record in journal.read(path) if record["status"] == journal.OK}
        if (path.exists())
        else set()
    )
    for number, step in enumerate(steps, 1):
        if step.name in done:
            continue
        print(f"[{part}: {number}/{len(steps)}] {step.name}", flush=True)
        left = seconds - (time.monotonic() - begin)
        record = _run(step, out / f"part{part}.log", left)
        journal.append(out, {"part": part, "step": step.name, "command": list(step.command), **record})
        (out / "summary.txt").write_text(journal.summary(out), encoding="utf-8")
        print(f"    {record['status']}, {record['seconds']:.0f} s {record['reason']}".rstrip(), flush=True)
    records = {record["step"]: record for record in journal.read(path)}
    return all(records[step.name]["status"] in (journal.OK, journal.SKIPPED) for step in steps)


def _run(step: Step, log: Path, left: float) -> dict[str, Any]:
    """Returns the record of a step: how it ended, and its result."""
    missing = [str(need) for need in step.needs if not need.exists()]
    if missing:
        return _record(journal.SKIPPED, f"no {missing[0]}")
    if left < _FEWEST_SECONDS:
        return _record(journal.NOT_STARTED, "the part's time was up; the same command goes on here")
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as folder, log.open("a+b") as output:
        result = Path(folder) / "result.json"
        command = [word.replace(RESULT, str(result)) for word in step.command]
        output.write(f"\n$ {' '.join(step.command)}\n".encode())
        output.flush()
        start = output.tell()
        code = _call(command, step.variables, output, min(step.seconds, left))
        took = time.monotonic() - begin
        output.seek(start)
        said = output.read().decode("utf-8", errors="replace")
        found = _read_result(result) if result.exists() else None
    if code is None:
        status, reason = journal.TIMED_OUT, f"ended after {took:.0f} s"
    else:
        # The last line that tells what is wrong is before the stack.
        told = said.partition("stack traceback:")[0].splitlines()
        lines = [line.strip() for line in told if line.strip() and not line[0].isspace()]
        status = journal.FAILED if code else journal.OK
        reason = f"exit code {code}: {lines[-1][:200] if lines else ''}" if code else ""
    return {**_record(status, reason, took), "exit_code": code, "output": said[-_TAIL:], "result": found}


def _record(status: str, reason: str, seconds: float = 0.0) -> dict[str, Any]:
    now = datetime.now(timezone.utc).isoformat(timespec="seconds")
    return {"status": status, "reason": reason, "seconds": round(seconds, 2), "time": now}


def _call(command: list[str], variables: dict[str, str], output: Any, seconds: float) -> int | None:
    """Returns the exit code of ``command``; None where it took longer than ``seconds`` and was ended."""
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
        env={**os.environ, **variables},
        start_new_session=True,
    )
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        return None
    finally:  # also when this process is told to end
        _end(process)


def _end(process: "subprocess.Popen[bytes]") -> None:
    """Ends the process and those it started; they are a group of their own."""
    for number, grace in ((signal.SIGINT, _GRACE), (signal.SIGKILL, None)):
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            break
        if process.poll() is None:
            try:
                process.wait(grace)
            except subprocess.TimeoutExpired:
                continue
    process.wait()


def _read_result(path: Path) -> Any:
    """Returns the JSON of a file, or its lines' (a file of points); text that is neither."""
    text = path.read_text(encoding="utf-8", errors="replace")
    try:
        return json.loads(text)
    except ValueError:
        pass
    try:
        return [json.loads(line) for line in text.splitlines() if line]
    except ValueError:
        return text[-_TAIL:]
