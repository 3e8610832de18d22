"""Runs a part's steps within the part's time, and keeps what each one gave.

Steps that time something run alone; others, where several follow each other, side by side.
"""

import itertools
import json
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from benchmarks.gpu import journal
from benchmarks.gpu.step import RESULT, Step

_FEWEST_SECONDS = 3.0  # with less time left no step is started
_TAIL = 1500  # characters of a step's output that its record keeps
_OUTCOMES = 40  # lines of how it went
_GRACE = 5.0  # seconds from the request to end to the kill
_LOOK = 0.02  # seconds from one look at what runs to the next
_MOST_BESIDE = 12


def run_part(part: str, steps: Sequence[Step], out: Path, seconds: float) -> bool:
    """Runs the steps that ``out`` does not hold yet; returns whether none failed or was cut off."""
    end = time.monotonic() + seconds
    out.mkdir(parents=True, exist_ok=True)
    path = journal.journal_file(out, part)
    done = (
        {record["step"] for record in journal.read(path) if record["status"] == journal.OK}
        if path.exists()
        else set()
    )
    number = itertools.count(1)
    for _, group in itertools.groupby(steps, key=lambda step: step.name if step.alone else ""):
        wanted = [step for step in group if step.name not in done]
        for step, record in _run_group(wanted, out / f"part{part}.log", end):
            journal.append(out, {"part": part, "step": step.name, "command": list(step.command), **record})
            (out / "summary.txt").write_text(journal.summary(out), encoding="utf-8")
            told = f"{record['status']}, {record['seconds']:.0f} s {record['reason']}".rstrip()
            print(f"[{part}: {next(number)} of {len(steps)}] {step.name}: {told}", flush=True)
    records = {record["step"]: record for record in journal.read(path)}
    return all(records[step.name]["status"] in (journal.OK, journal.SKIPPED) for step in steps)


def _run_group(steps: Sequence[Step], log: Path, end: float) -> Iterator[tuple[Step, dict[str, Any]]]:
    """Yields the steps as they end, with the record of how they did; ``end``: of the part's time."""
    cores = os.cpu_count() or 1
    beside = max(1, min(_MOST_BESIDE, cores, len(steps)))
    threads = {"OMP_NUM_THREADS": str(cores // beside)} if beside > 1 else {}
    waiting, running = list(steps), list[_Running]()
    try:
        while waiting or running:
            while waiting and len(running) < beside:
                step = waiting.pop(0)
                left = end - time.monotonic()
                reason = _why_not(step, left)
                if reason is not None:
                    yield step, reason
                else:
                    running.append(_Running(step, threads, min(step.seconds, left)))
            for one in [one for one in running if one.is_over()]:
                running.remove(one)
                yield one.step, one.record(log)
            time.sleep(_LOOK)
    finally:  # also when this process is told to end
        for one in running:
            one.end()


def _why_not(step: Step, left: float) -> dict[str, Any] | None:
    missing = [str(need) for need in step.needs if not need.exists()]
    if missing:
        return _record(journal.SKIPPED, f"no {missing[0]}")
    if left < _FEWEST_SECONDS:
        return _record(journal.NOT_STARTED, "the part's time was up; the same command goes on here")
    return None


class _Running:
    """A step under way, for at most ``seconds``. ``variables``: of the environment, beside its own."""

    def __init__(self, step: Step, variables: dict[str, str], seconds: float) -> None:
        self.step = step
        self._folder = tempfile.TemporaryDirectory()
        self._result = Path(self._folder.name) / "result.json"
        self._output = Path(self._folder.name) / "output"
        self._begin, self._seconds = time.monotonic(), seconds
        with self._output.open("wb") as output:
            self._process = subprocess.Popen(
                [word.replace(RESULT, str(self._result)) for word in step.command],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**os.environ, **variables, **step.variables},
                start_new_session=True,
            )

    def is_over(self) -> bool:
        """Returns whether the process has ended, or its time."""
        return self._process.poll() is not None or time.monotonic() - self._begin > self._seconds

    def record(self, log: Path) -> dict[str, Any]:
        """Returns how the step ended and its result; adds what it printed to the log."""
        took, code = time.monotonic() - self._begin, self._process.poll()
        self.end()
        said = self._output.read_text(encoding="utf-8", errors="replace").replace(f"{Path.cwd()}/", "")
        found = _read_result(self._result) if self._result.exists() else None
        self._folder.cleanup()
        with log.open("a", encoding="utf-8") as file:
            file.write(f"\n$ {' '.join(self.step.command)}\n{said}")
        if code is None:
            status, reason = journal.TIMED_OUT, f"ended after {took:.0f} s"
        else:
            # The last line that tells what is wrong is before the stack.
            told = said.partition("stack traceback:")[0].splitlines()
            lines = [line.strip() for line in told if line.strip() and not line[0].isspace()]
            status = journal.FAILED if code else journal.OK
            reason = f"exit code {code}: {lines[-1][:200] if lines else ''}" if code else ""
        kept = {"exit_code": code, "outcome": journal.outcome(said)[:_OUTCOMES], "output": said[-_TAIL:]}
        return {**_record(status, reason, took), **kept, "result": found}

    def end(self) -> None:
        """Ends the process and those it started; they are a group of their own."""
        for number, grace in ((signal.SIGINT, _GRACE), (signal.SIGKILL, None)):
            try:
                os.killpg(self._process.pid, number)
            except ProcessLookupError:
                break
            if self._process.poll() is None:
                try:
                    self._process.wait(grace)
                except subprocess.TimeoutExpired:
                    continue
        self._process.wait()


def _record(status: str, reason: str, seconds: float = 0.0) -> dict[str, Any]:
    now = datetime.now(timezone.utc).isoformat(timespec="seconds")
    return {"status": status, "reason": reason, "seconds": round(seconds, 2), "time": now}


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
