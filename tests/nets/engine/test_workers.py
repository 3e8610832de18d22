"""The CPU engine's worker threads."""

import threading

import pytest
import torch

from nets.engine import workers
from nets.engine.workers import Workers


@pytest.mark.parametrize("count", [1, 2, 3, 5])
@pytest.mark.parametrize("things", [0, 1, 2, 7, 64])
def test_shares_are_even_and_cover_everything(count: int, things: int) -> None:
    shares = Workers(count).shares(things)
    assert [i for share in shares for i in range(share.start, share.stop)] == list(range(things))
    sizes = [share.stop - share.start for share in shares]
    assert len(shares) == min(count, things)
    assert not sizes or max(sizes) - min(sizes) <= 1


def test_each_job_has_a_thread_of_one_core_without_gradients() -> None:
    before = torch.get_num_threads()
    seen: dict[int, tuple[int, bool]] = {}
    together = threading.Barrier(3, timeout=60)  # all three run at the same time

    def job() -> None:
        together.wait()
        torch.randn(200, 200) @ torch.randn(200, 200)
        seen[threading.get_ident()] = (torch.get_num_threads(), torch.is_grad_enabled())

    Workers(3).run([job] * 3)
    assert list(seen.values()) == [(1, False)] * 3
    assert threading.get_ident() not in seen
    assert torch.get_num_threads() == before
    assert torch.is_grad_enabled()


def test_an_error_is_raised_when_all_jobs_are_done() -> None:
    started, finished = threading.Event(), threading.Event()

    def fail() -> None:
        started.wait(60)
        raise ValueError("no such luck")

    def work() -> None:
        started.set()
        torch.ones(1000, 1000).sum()
        finished.set()

    crew = Workers(2)
    with pytest.raises(ValueError, match="no such luck"):
        crew.run([fail, work])
    assert finished.is_set()
    crew.run([finished.clear])
    assert not finished.is_set()


def test_a_caller_with_one_thread_runs_the_jobs_itself() -> None:
    seen: list[int] = []
    torch.set_num_threads(1)  # conftest brings the threads back
    Workers(2).run([lambda: seen.append(threading.get_ident())] * 2)
    assert seen == [threading.get_ident()] * 2


def test_where_a_thread_cannot_be_limited_there_is_one_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "can_limit_threads", lambda: False)
    assert Workers(4).count == 1


def test_this_build_can_limit_a_thread() -> None:
    assert workers.can_limit_threads()
