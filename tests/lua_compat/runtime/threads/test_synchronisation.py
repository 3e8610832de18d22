"""The package threads: safe functions, mutexes, conditions, queues."""

import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from lua_compat.runtime.synchronization import Condition, Ending, Mutex, Queue, Stopped
from tests.lua_compat.runtime.threads.scripts import run_lua


def test_a_function_made_safe(tmp_path: Path) -> None:
    run_lua(
        tmp_path,
        """
        threads.Threads.serialization(SHARED)
        local count, large = torch.zeros(1), torch.zeros(100000)
        local add = threads.safe(function(n)
           local seen = count[1]
           large:add(1)
           count[1] = seen + n
           return seen, nil, n
        end)
        local pool = threads.Threads(4)
        local function check(seen, nothing, n) assert(nothing == nil and n == 1) end
        for i = 1, 200 do pool:addjob(add, check, 1) end
        pool:synchronize()
        assert(count[1] == 200 and large:min() == 200 and large:max() == 200)
        -- an error unlocks it
        local fails = threads.safe(function() error('inside') end)
        for i = 1, 2 do
           local ok, problem = pcall(fails)
           assert(not ok and problem:find('inside'))
        end
        pool:terminate()
        """,
    )


def test_mutexes_conditions_and_threads_by_number(tmp_path: Path) -> None:
    run_lua(
        tmp_path,
        """
        local mutex, condition = threads.Mutex(), threads.Condition()
        local queue = require 'threads.queue'(2, SHARED)
        assert(tostring(mutex):find('^threads.Mutex <%x+>$') and ('%x'):format(mutex:id()):len() > 8)
        local cell = torch.zeros(1)
        mutex:lock()
        local thread = threads.Thread(([[
           local threads = require 'threads'
           local mutex, condition = threads.Mutex(%d), threads.Condition(%d)
           local queue = require 'threads.queue'(%d)
           assert(queue.serialize == 'threads.sharedserialize' and queue.size == 2)
           mutex:lock()
           assert(queue:dojob() == 'done')
           queue:addjob(function(x) return 2 * x end, 21)
           condition:signal()
           mutex:unlock()
           mutex:free()
        ]]):format(mutex:id(), condition:id(), queue:id()))
        assert(queue.isempty == 1 and queue.isfull == 0)
        queue:addjob(function() cell[1] = 5 return 'done' end)
        condition:wait(mutex)
        mutex:unlock()
        thread:free()
        assert(cell[1] == 5 and queue:dojob() == 42 and queue.isempty == 1)
        queue:addjob(function() end)
        queue:addjob(function() end)
        assert(queue.isfull == 1)
        assert(not pcall(mutex.unlock, mutex))
        mutex:free()
        assert(not pcall(mutex.lock, mutex))
        condition:free()
        queue:free()
        threads.Thread('error("in a thread of its own")'):free()
        """,
    )


def test_waiters_get_a_mutex_in_order_and_a_signal_wakes_one() -> None:
    ending = Ending()
    mutex, condition, woken = Mutex(ending), Condition(ending), []

    def wait() -> None:
        mutex.lock()
        condition.wait(mutex)
        woken.append(threading.get_ident())
        mutex.unlock()

    waiting = [threading.Thread(target=wait) for _ in range(3)]
    for thread in waiting:
        thread.start()
    condition.signal()  # lost, or for one that waits already
    for count in range(1, 4):
        deadline = time.monotonic() + 20
        while len(woken) < count and time.monotonic() < deadline:
            condition.signal()
            time.sleep(0.01)
    for thread in waiting:
        thread.join(20)
    assert len(set(woken)) == 3


def test_the_end_wakes_whoever_waits() -> None:
    ending = Ending()
    queue, full, mutex = Queue(ending, 1), Queue(ending, 1), Mutex(ending)
    full.put(1)
    mutex.lock()
    stopped = []

    def attempt(wait: Callable[[], object]) -> None:
        try:
            wait()
        except Stopped:
            stopped.append(wait)

    waits = [queue.take, lambda: full.put(2), mutex.lock]
    waiting = [threading.Thread(target=attempt, args=(wait,)) for wait in waits]
    for thread in waiting:
        thread.start()
    time.sleep(0.1)
    ending.end(Stopped())
    for thread in waiting:
        thread.join(20)
    assert len(stopped) == 3
    with pytest.raises(Stopped):
        queue.take()
