"""Points in processes of their own: what crashes, hangs or takes too much memory ends that process only."""

import contextlib
import json
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from convnet_benchmarks import child_process, environment
from convnet_benchmarks.errors import UserError
from convnet_benchmarks.points.measure import Outcome, record_of
from convnet_benchmarks.points.point import FAILED, OUT_OF_MEMORY, Point
from convnet_benchmarks.points.scenario import Scenario
from convnet_benchmarks.timing.loops import Settling
from convnet_benchmarks.workload.devices import CPU, device_type
from convnet_benchmarks.workload.memory import resident_bytes

# How often a worker's memory is looked at: rarely while it is timed, often while it is tried out.
_SECONDS_BETWEEN_LOOKS = 0.1
_SECONDS_BETWEEN_LOOKS_WHEN_TRYING = 0.005


class WorkerEndedError(Exception):
    """The worker ended before it answered. ``status`` is what that makes of its point."""

    def __init__(self, status: str, reason: str) -> None:
        super().__init__(reason)
        self.status = status


class PointWorker:
    """A process that runs points; see ``points/worker.py`` for what it can be asked.

    ``memory_budget``: bytes of resident memory, Python's and PyTorch's own included, beyond which it is
    ended. ``time_limit``: seconds for one answer. ``cores``: the only ones it uses.
    ``variables``: of the environment, on top of this process's.
    """

    def __init__(
        self,
        *,
        memory_budget: int | None = None,
        time_limit: float | None = None,
        cores: Sequence[int] | None = None,
        variables: Mapping[str, str] | None = None,
    ) -> None:
        self._memory_budget = memory_budget
        self._time_limit = time_limit
        self._kills_before = _out_of_memory_kills()
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115  (closed by close)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "convnet_benchmarks.points.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            env=child_process.environment(variables),
            text=True,
            encoding="utf-8",
        )
        try:
            self.ask("start", cores=None if cores is None else list(cores))
        except BaseException:
            self.close()
            raise

    @property
    def pid(self) -> int:
        return self._process.pid

    def measure(self, point: Point, settling: Settling) -> dict[str, Any]:
        return self.ask("measure", point=point.as_dict(), settling=asdict(settling))

    def measure_scenario(self, point: Point, scenario: Scenario) -> dict[str, Any]:
        return self.ask("measure_scenario", point=point.as_dict(), scenario=asdict(scenario))

    def try_point(self, point: Point) -> dict[str, Any]:
        return self.ask("try_point", _SECONDS_BETWEEN_LOOKS_WHEN_TRYING, point=point.as_dict())

    def ask(self, do: str, between_looks: float = _SECONDS_BETWEEN_LOOKS, **request: Any) -> dict[str, Any]:
        """Returns the worker's answer; raises WorkerEndedError when it ends, or is ended, without one."""
        assert self._process.stdin is not None and self._process.stdout is not None
        begin = time.monotonic()
        with contextlib.suppress(BrokenPipeError):  # it has ended: the empty answer below says so
            self._process.stdin.write(json.dumps({"do": do, **request}) + "\n")
            self._process.stdin.flush()
        while not select.select([self._process.stdout], [], [], between_looks)[0]:
            self._check_memory()
            if self._time_limit is not None and time.monotonic() - begin > self._time_limit:
                self.close()
                raise WorkerEndedError(FAILED, f"took longer than the time limit of {self._time_limit:g} s")
        line = self._process.stdout.readline()
        if not line.endswith("\n"):
            raise self._ended()
        answer: dict[str, Any] = json.loads(line)
        return answer

    def close(self) -> None:
        """Ends the process, whatever it is doing."""
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._stderr):
            with contextlib.suppress(BrokenPipeError):
                stream.close()  # type: ignore[union-attr]

    def __enter__(self) -> "PointWorker":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _check_memory(self) -> None:
        if self._memory_budget is None:
            return
        taken = resident_bytes(self._process.pid)
        if taken is not None and taken > self._memory_budget:
            self.close()
            budget = f"{self._memory_budget / 2**30:.3g} GiB"
            raise WorkerEndedError(OUT_OF_MEMORY, f"took more than the memory budget of {budget}")

    def _ended(self) -> WorkerEndedError:
        """Returns why the process ended by itself, from its exit code and the last line of its stderr."""
        code = self._process.wait()
        if code == -signal.SIGKILL and _out_of_memory_kills() > self._kills_before:
            return WorkerEndedError(OUT_OF_MEMORY, "killed by the system for lack of memory")
        if code < 0:
            how = f"killed by signal {signal.Signals(-code).name}"
        else:
            how = f"ended with exit code {code}"
        self._stderr.seek(0)
        lines = self._stderr.read().decode("utf-8", errors="replace").split("\n")
        last = next((line.strip() for line in reversed(lines) if line.strip()), "")
        return WorkerEndedError(FAILED, f"the measuring process {how}{': ' if last else ''}{last[:300]}")


def measure_apart(
    point: Point,
    settling: Settling | None = None,
    *,
    scenario: Scenario | None = None,
    memory_budget: int | None = None,
    time_limit: float | None = None,
    cores: Sequence[int] | None = None,
) -> dict[str, Any]:
    """Does ``points.measure.measure`` in a new process; see PointWorker for the other arguments.

    With a ``scenario`` it does ``points.under_load.measure_scenario`` instead.

    A process that crashes, is killed, or goes over a limit gives a point with its status and reason.
    """
    begin = time.perf_counter()
    try:
        with PointWorker(memory_budget=memory_budget, time_limit=time_limit, cores=cores) as worker:
            if scenario is not None:
                return worker.measure_scenario(point, scenario)
            return worker.measure(point, settling or Settling())
    except WorkerEndedError as ended:
        return record_of(point, Outcome(ended.status, str(ended), {}), begin)


def describe_device(device: str, option: str) -> dict[str, str]:
    """Returns ``environment.machine`` of a device, asked apart so that this process takes no memory of a GPU.

    Raises UserError, naming ``option``, for a device that is not there.
    """
    try:
        if device_type(device) == CPU:
            return environment.machine(device)
    except UserError as error:
        raise UserError(f"option {option}: {error}") from None
    with PointWorker() as worker:
        answer = worker.ask("describe", device=device)
    if "error" in answer:
        raise UserError(f"option {option}: {answer['error']}")
    found: dict[str, str] = answer["machine"]
    return found


def _out_of_memory_kills() -> int:
    """Returns how many processes Linux has killed for lack of memory; 0 if that is not counted."""
    try:
        lines = Path("/proc/vmstat").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) for line in lines if line.startswith("oom_kill "))
