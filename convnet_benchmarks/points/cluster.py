"""The workers of a Dask scheduler: a study's measurements on other machines, one at a time on each.

Dask knows which workers are free, and gives a lost worker's work to another. Functions are sent by name: a
worker must have the same version of this package.
"""

import contextlib
import logging
import queue
import re
import sys
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from convnet_benchmarks.errors import UserError
from convnet_benchmarks.nets.version import VERSION
from convnet_benchmarks.points.process import describe_device
from lua_compat.optional_packages import pip_install

if TYPE_CHECKING:
    from distributed import Client, Future

OPTION = "--scheduler"
_ADDRESS = re.compile(r"(tcp|tls)://([^\s:\[\]]+|\[[0-9a-fA-F:]+\]):\d{1,5}")
_SECONDS_TO_CONNECT = 10.0
_SECONDS_BETWEEN_LOOKS = 5.0  # at whether the scheduler and a worker are still there

Machine = dict[str, str]
Kind = tuple[tuple[str, str], ...]  # a Machine, as a key


class Cluster:
    """The workers of the Dask scheduler at ``address`` (tcp://HOST:PORT), which run one thread each.

    Raises UserError if no scheduler answers, it has no workers, or one of them takes several points at
    a time or has another version of this package.
    """

    def __init__(self, address: str) -> None:
        self._client = _connected(address)
        # The workers by device and kind of machine, as far as machines() was asked.
        self._of_kind: dict[str, dict[Kind, list[str]]] = {}
        try:
            self._check()
        except BaseException:
            self._client.close()
            raise

    def close(self) -> None:
        """Leaves the scheduler; work that has begun ends on its worker, and its result is lost."""
        self._client.close()

    def __enter__(self) -> "Cluster":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def machines(self, device: str) -> list[Machine]:
        """Returns what ``environment.machine`` says of ``device`` on the workers, each kind of machine once.

        Raises UserError, naming the worker, where one does not have it.
        """
        for worker, answer in self._ask(_describe, device).items():
            if isinstance(answer, str):
                raise UserError(f"option {OPTION}: worker {worker}: {answer}")
            workers = self._of_kind.setdefault(device, {}).setdefault(tuple(answer.items()), [])
            workers.append(worker)
        return [dict(kind) for kind in self._of_kind[device]]

    def run(self, function: Callable[..., Any], jobs: "Sequence[Job]") -> "Calls":
        """Calls ``function`` with each job's arguments, in their order as far as the workers allow."""
        return Calls(self._client, function, jobs, self._places(jobs))

    def _places(self, jobs: "Sequence[Job]") -> list[list[str] | None]:
        """Returns the workers that each job should have: those of one kind of machine for a group.

        None if all are of one kind. The next group goes to the kind with the fewest jobs for a worker.
        """
        taken: Counter[Kind] = Counter()
        kind_of: dict[Hashable, Kind] = {}
        for job in jobs:
            kinds = self._of_kind[job.device]
            if job.group not in kind_of:
                kind_of[job.group] = min(kinds, key=lambda kind: taken[kind] / len(kinds[kind]))
            taken[kind_of[job.group]] += 1
        several = {device for device, kinds in self._of_kind.items() if len(kinds) > 1}
        return [
            self._of_kind[job.device][kind_of[job.group]] if job.device in several else None for job in jobs
        ]

    def _check(self) -> None:
        threads = self._client.nthreads()
        if not threads:
            raise UserError(f"option {OPTION}: the scheduler has no workers; start some: dask worker ADDRESS")
        for worker, count in threads.items():
            if count != 1:
                raise _several_at_a_time(worker, count)
        answers = {f"worker {name}": version for name, version in self._ask(_version).items()}
        try:  # the scheduler looks into what it passes on
            answers["the scheduler"] = self._client.run_on_scheduler(_version)
        except Exception as error:
            raise _wrong("the scheduler", error) from None
        for place, answer in answers.items():
            if answer != VERSION:
                raise UserError(
                    f"option {OPTION}: {place} has convnet-benchmarks {answer}; accepted: {VERSION}"
                )

    def _ask(self, function: Callable[..., Any], *arguments: Any) -> dict[str, Any]:
        """Returns the answer of every worker."""
        answers: dict[str, Any] = self._client.run(function, *arguments, on_error="return")
        for worker, answer in answers.items():
            if isinstance(answer, Exception):
                raise _wrong(f"worker {worker}", answer)
        return answers


@dataclass(frozen=True)
class Job:
    """One call: its arguments, the device it is about, and what it shares one kind of machine with."""

    arguments: tuple[Any, ...]
    device: str
    group: Hashable


class Calls:
    """The calls that a cluster works on; iterating gives the index of each that ended, and its result."""

    def __init__(
        self,
        client: "Client",
        function: Callable[..., Any],
        jobs: Sequence[Job],
        places: Sequence[list[str] | None],
    ) -> None:
        self._client = client
        self._ended: queue.SimpleQueue[int] = queue.SimpleQueue()
        self._futures: dict[int, Future[Any]] = {}
        for index, (job, workers) in enumerate(zip(jobs, places, strict=True)):
            self._futures[index] = future = client.submit(
                _alone,
                function,
                job.arguments,
                pure=False,
                priority=-index,
                workers=workers,
                allow_other_workers=workers is not None,  # when all of that kind are lost
            )
            future.add_done_callback(lambda _, index=index: self._ended.put(index))

    def drop(self, index: int) -> bool:
        """Takes back a call that has not ended; returns whether it was one."""
        future = self._futures.get(index)
        if future is None or future.done():
            return False
        del self._futures[index]
        future.cancel()
        return True

    def __iter__(self) -> Iterator[tuple[int, Any]]:
        """Raises what a call raised; a call whose workers were lost has WorkersLost as its result."""
        told = False
        try:
            while self._futures:
                try:
                    index = self._ended.get(timeout=_SECONDS_BETWEEN_LOOKS)
                except queue.Empty:
                    told = self._look(told)
                    continue
                future = self._futures.pop(index, None)
                if future is not None:
                    yield index, self._result(future)
        finally:
            for future in self._futures.values():
                future.cancel()

    def _look(self, told: bool) -> bool:
        """Says once, on stderr, that no worker is left; raises UserError where the scheduler is gone."""
        if self._client.status not in ("running", "connecting"):
            raise _scheduler_lost()
        with contextlib.suppress(OSError, TimeoutError):
            if not self._client.nthreads():
                if not told:
                    print("no worker is left: waiting for one, or for Ctrl-C", file=sys.stderr)
                return True
        return False

    def _result(self, future: "Future[Any]") -> Any:
        if future.status == "finished":
            return future.result()
        if future.status == "cancelled":
            raise _scheduler_lost()
        error = future.exception()
        if type(error).__name__ == "KilledWorker":
            return WorkersLost(f"{error.allowed_failures + 1} workers were lost while they measured it")
        raise error


@contextlib.contextmanager
def open_cluster(address: str | None) -> Iterator[Cluster | None]:
    """Yields the cluster at ``address``; None if none is asked for."""
    if address is None:
        yield None
        return
    with Cluster(address) as cluster:
        yield cluster


class WorkersLost:
    """Stands for the result of a call each of whose workers ended."""

    def __init__(self, reason: str) -> None:
        self.reason = reason


def _connected(address: str) -> "Client":
    try:
        from distributed import Client
    except ImportError:
        raise UserError(f"option {OPTION}: needs Dask's distributed: {pip_install('cluster')}") from None
    if not _ADDRESS.fullmatch(address):
        raise UserError(
            f"option {OPTION}: '{address}' is not an address; accepted: what dask scheduler prints, such as "
            "tcp://HOST:8786"
        )
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # each failure is told in a line of ours
    try:
        return Client(address, timeout=_SECONDS_TO_CONNECT, set_as_default=False)
    except OSError:
        raise UserError(f"option {OPTION}: no Dask scheduler answers at {address}") from None


def _wrong(place: str, error: Exception) -> UserError:
    """Returns what to tell of an ``error`` that a worker or the scheduler answered with."""
    without = "No module named 'convnet_benchmarks'" in str(error)
    reason = f"convnet-benchmarks {VERSION} must be installed there" if without else str(error)
    return UserError(f"option {OPTION}: {place}: {reason}")


def _several_at_a_time(worker: str, count: int) -> UserError:
    return UserError(
        f"option {OPTION}: worker {worker} would measure {count} points at a time; start it with --nthreads 1"
    )


def _scheduler_lost() -> UserError:
    return UserError(f"option {OPTION}: the scheduler is gone; the same command continues with another one")


# What runs on a worker.


def _version() -> str:
    return VERSION


def _describe(device: str) -> Machine | str:
    try:
        return describe_device(device, "--devices")
    except UserError as error:
        return str(error)


def _alone(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """Calls ``function`` where nothing else is measured: also on a worker that came after the first look."""
    from distributed import get_worker

    worker = get_worker()
    if worker.state.nthreads != 1:
        raise _several_at_a_time(worker.address, worker.state.nthreads)
    return function(*arguments)
