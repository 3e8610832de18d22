"""The package threads: pools of Lua states, what they share, and how th ends with them.

What the package's own test scripts show is shown here again, in other words; endings are seen as a person
sees them.
"""

import io
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from lua_compat import run
from lua_compat.runtime.errors import LuaError
from lua_compat.runtime.state import Runtime
from lua_compat.runtime.synchronization import Condition, Ending, Mutex, Queue, Stopped
from lua_compat.sandbox import run as run_in_sandbox
from tests.helpers import commands
from tests.helpers.commands import Program, run_python, run_th, started_th

HEAD = "local threads = require 'threads'\nlocal SHARED = 'threads.sharedserialize'\n"


def run_lua(tmp_path: Path, code: str, *args: str) -> None:
    """Runs Lua that asserts what it expects; no thread is left."""
    before = threading.active_count()
    commands.run_lua(tmp_path, HEAD + code, *args)
    assert threading.active_count() == before


def start(tmp_path: Path, code: str) -> Program:
    script = tmp_path / "script.lua"
    script.write_text(HEAD + code)
    return started_th(script, cwd=tmp_path)


def th(tmp_path: Path, code: str) -> tuple[int, str, str]:
    """Exit code, stdout and stderr."""
    with start(tmp_path, code) as program:
        done = program.finish()
    return done.returncode, done.stdout, done.stderr


# Pools


def test_jobs_run_in_states_of_their_own_and_their_results_come_back(tmp_path: Path) -> None:
    run_lua(
        tmp_path,
        """
        local text = 'an upvalue'
        a_global = 'of the main state'
        local pool, first = threads.Threads(3,
           function(id) kept = { id, text } return 'not the last' end,
           function(id) assert(id == __threadid) return id, kept[2], nil end)
        assert(#first == 3 and #first[1] == 2 and first[1][2] == text)
        assert(first[1][1] + first[2][1] + first[3][1] == 6)
        local seen, ended = {}, 0
        for i = 1, 10 do
           pool:addjob(function(a, b, ...)
              assert(a_global == nil and kept[1] == __threadid and text == 'an upvalue')
              assert(torch and paths and sys and xlua)
              text = 'changed here only'
              return __threadid, a, nil, b, select('#', ...)
           end, function(id, a, nothing, b, n)
              assert(a == i and nothing == nil and b == 'b' and n == 2)
              seen[id], ended = true, ended + 1
           end, i, 'b', nil, nil)
        end
        pool:synchronize()
        assert(ended == 10 and not pool:hasjob() and text == 'an upvalue')
        for id in pairs(seen) do assert(id >= 1 and id <= 3) end
        assert(pool:isrunning() and not pool:haserror() and pool:acceptsjob())
        pool:terminate()
        pool:terminate()
        assert(not pool:isrunning())
        local ok, problem = pcall(pool.addjob, pool, function() end)
        assert(not ok and problem:find('thread system is not running', 1, true))
        """,
    )


def test_the_package_called_as_a_class_and_wrong_arguments(tmp_path: Path) -> None:
    run_lua(
        tmp_path,
        """
        assert(threads.serialization() == 'threads.serialize')
        assert(threads.Threads.serialization() == threads.serialization())
        local pool = threads(1)
        assert(pool.N == 1 and require 'threads.threads' == threads.Threads)
        for _, wrong in ipairs{
           function() threads.Threads() end,
           function() threads.Threads(0) end,
           function() threads.serialization(3) end,
           function() pool:addjob('text') end,
           function() pool:addjob(function() end, 3) end,
           function() pool:specific(1) end,
           function() pool:dojob() end,
           function() pool:addjob(coroutine.create(print)) end,
           function() pool:addjob(function() end, nil, coroutine.create(print)) end,
           function() threads.Mutex(12) end,
           function() threads.Mutex(2 ^ 41) end,
           function() threads.Thread() end,
           function() threads.safe(1) end,
           function() threads.Mutex.lock(threads.Condition()) end,
           function() require 'threads.queue'(0) end,
        } do
           assert(not pcall(wrong))
        end
        pool:addjob(function() return 1 end, function(x) assert(x == 1) end)
        pool:terminate()
        """,
    )


def test_specific_jobs(tmp_path: Path) -> None:
    run_lua(
        tmp_path,
        """
        local pool = threads.Threads(3, function() done = 0 end)
        assert(pool:specific() == false)
        for round = 1, 2 do
           pool:specific(true)
           assert(pool:specific() and not pcall(pool.addjob, pool, function() end))
           assert(not pcall(pool.addjob, pool, 4, function() end) and not pcall(pool.acceptsjob, pool, 0))
           local order = {}
           for i = 1, 12 do
              local id = i % 3 + 1
              pool:addjob(id, function(i) done = done + 1 return __threadid, i end, function(at, i)
                 assert(at == id)
                 order[id] = order[id] or {}
                 table.insert(order[id], i)
              end, i)
           end
           pool:synchronize()
           for id = 1, 3 do -- of one thread in the order in which they were added
              assert(#order[id] == 4)
              for k = 2, 4 do assert(order[id][k] > order[id][k - 1]) end
              pool:addjob(id, function() return done end, function(n) assert(n == 4 * round) end)
           end
           pool:specific(false)
           local n = 0
           for i = 1, 7 do pool:addjob(function() return 1 end, function(one) n = n + one end) end
           pool:synchronize()
           assert(n == 7)
        end
        pool:specific(true)
        pool:terminate()
        """,
    )


def test_queues_hold_as_many_jobs_as_there_are_threads(tmp_path: Path) -> None:
    run_lua(
        tmp_path,
        """
        local gate = threads.Mutex()
        gate:lock()
        local pool = threads.Threads(2)
        local waits = threads.safe(function() return 1 end, gate)
        local added, done = 0, 0
        while pool:acceptsjob() do
           pool:addjob(waits, function() done = done + 1 end)
           added = added + 1
           if added <= 2 then sys.sleep(0.3) end -- a thread takes it
        end
        assert(added == 4 and done == 0 and pool:hasjob())
        gate:unlock()
        pool:addjob(waits, function() done = done + 1 end) -- waits until there is room
        pool:synchronize()
        assert(done == 5)
        pool:terminate()
        """,
    )


def test_asynchronous_use(tmp_path: Path) -> None:
    run_lua(
        tmp_path,
        """
        local pool = threads.Threads(4)
        local next_job, got, result = 0, {}, nil
        local function get()
           while next_job < 100 and pool:acceptsjob() do
              next_job = next_job + 1
              pool:addjob(function(i) return i end, function(i) result = i end, next_job)
           end
           if pool:hasjob() then
              pool:dojob()
              return result
           end
        end
        for i in get do
           assert(not got[i])
           got[i] = true
        end
        assert(next_job == 100 and #got == 100)
        pool:terminate()
        """,
    )


def test_results_come_in_the_order_of_completion(tmp_path: Path) -> None:
    run_lua(
        tmp_path,
        """
        local pool = threads.Threads(2)
        local order = {}
        pool:addjob(function() sys.sleep(0.6) return 'slow' end, function(x) order[#order + 1] = x end)
        pool:addjob(function() sys.sleep(0.1) return 'quick' end, function(x) order[#order + 1] = x end)
        pool:synchronize()
        assert(order[1] == 'quick' and order[2] == 'slow')
        pool:terminate()
        """,
    )


def test_five_hundred_jobs_several_pools_and_jobs_that_add_jobs(tmp_path: Path) -> None:
    run_lua(
        tmp_path,
        """
        local pools, sum = {}, 0
        for i = 1, 3 do pools[i] = threads.Threads(2) end
        for i = 1, 500 do
           local pool = pools[i % 3 + 1]
           pool:addjob(function(x) return 2 * x end, function(x)
              sum = sum + x
              if i % 100 == 0 then pool:addjob(function() return 1 end, function(x) sum = sum + x end) end
           end, i)
        end
        for _, pool in ipairs(pools) do pool:synchronize() end
        assert(sum == 500 * 501 + 5)
        -- a pool inside a job
        pools[1]:addjob(function()
           local inner, n = require 'threads'(2), 0
           for i = 1, 6 do inner:addjob(function() return __threadid end, function(id) n = n + 1 end) end
           inner:synchronize()
           return n
        end, function(n) assert(n == 6) end)
        for _, pool in ipairs(pools) do pool:terminate() end
        """,
    )


def test_functions_with_shared_upvalues_classes_and_nested_tensors(tmp_path: Path) -> None:
    run_lua(
        tmp_path,
        """
        require 'nn'
        local count = 0
        local function up() count = count + 1 return count end
        local net = nn.Sequential():add(nn.Linear(3, 2)):add(nn.Tanh())
        local input = torch.randn(4, 3)
        local wanted = net:forward(input):clone()
        for _, name in ipairs{ 'threads.serialize', SHARED } do
           threads.Threads.serialization(name)
           local pool = threads.Threads(2, function() require 'nn' end, function() mine = net:clone() end)
           for i = 1, 4 do
              pool:addjob(function(data)
                 up()
                 assert(up() == count and count == 2)
                 assert(data.deep.list[2]:storage() ~= nil and data.deep.same == data.deep)
                 local out = mine:forward(input)
                 return { deep = { data.deep.list[1], text = 'x' }, out = out }, torch.type(net)
              end, function(result, kind)
                 assert(kind == 'nn.Sequential' and result.deep.text == 'x')
                 assert((result.out - wanted):abs():max() == 0)
                 assert(result.deep[1]:nElement() == 6 and result.deep[1]:sum() == 6 * i)
              end, (function()
                 local list = { torch.IntTensor(2, 3):fill(i), torch.ones(2):narrow(1, 2, 1) }
                 local data = { deep = { list = list } }
                 data.deep.same = data.deep
                 return data
              end)())
           end
           pool:terminate()
           assert(count == 0)
        end
        """,
    )


def test_an_endcallback_may_yield(tmp_path: Path) -> None:
    run_lua(
        tmp_path,
        """
        local pool = threads.Threads(1)
        local function results()
           for i = 1, 3 do pool:addjob(function() return i end, coroutine.yield) end
           pool:synchronize()
        end
        local expected = 1
        for r in coroutine.wrap(results) do
           assert(r == expected)
           expected = expected + 1
        end
        assert(expected == 4)
        assert(not pcall(function()
           for r in coroutine.wrap(results) do assert(r < 3) end -- the last
        end))
        pool:synchronize()
        pool:terminate()
        """,
    )


def test_states_find_modules_as_the_main_one_and_work_where_it_does(tmp_path: Path) -> None:
    (tmp_path / "beside.lua").write_text("return { name = 'beside' }")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "far.lua").write_text("return { name = 'far' }")
    code = """
        local here = paths.cwd()
        local pool = threads.Threads(1, function()
           assert(require('beside').name == 'beside' and require('far').name == 'far' and paths.cwd() == here)
           require 'cutorch'
           assert(torch.CudaTensor(3):fill(2):sum() == 6)
           return 'fine'
        end)
        pool:addjob(function() return torch.CudaTensor(2):fill(3) end, function(t)
           assert(torch.type(t) == 'torch.CudaTensor' and t:sum() == 6)
        end)
        pool:terminate()
        print('fine')
    """
    script = tmp_path / "script.lua"
    script.write_text(HEAD + "require 'cutorch'" + code)
    done = run_th("--cpu-as-cuda", script, environment={"LUA_PATH": f"{tmp_path}/elsewhere/?.lua;;"})
    assert (done.returncode, done.stdout) == (0, "fine\n"), done.stderr


def test_setnumthreads_holds_for_its_own_thread_only(tmp_path: Path) -> None:
    run_lua(
        tmp_path,
        """
        torch.setnumthreads(2)
        local before = torch.getnumthreads()
        local pool = threads.Threads(2)
        pool:specific(true)
        local function set_one() torch.setnumthreads(1) return torch.getnumthreads() end
        pool:addjob(1, set_one, function(n) assert(n == 1) end)
        pool:synchronize()
        assert(torch.getnumthreads() == before)
        pool:addjob(1, function() return torch.getnumthreads() end, function(n) assert(n == 1) end)
        pool:addjob(2, function() return torch.getnumthreads() end, function(n) assert(n == before) end)
        pool:terminate()
        local later, first = threads.Threads(1, function() return torch.getnumthreads() end)
        assert(first[1][1] == before)
        later:terminate()
        """,
    )


def test_kernels_in_threads_record_no_gradients(tmp_path: Path) -> None:
    run_lua(
        tmp_path,
        """
        require 'nn'
        local pool = threads.Threads(2, function() require 'nn' end)
        for i = 1, 8 do
           pool:addjob(function()
              local layer = nn.SpatialConvolution(3, 8, 3, 3)
              local x = torch.randn(2, 3, 16, 16)
              local y = layer:forward(x)
              return y, layer:backward(x, y:clone():fill(1)), layer.weight, layer.bias, x
           end, function(y, dx, weight, bias, x)
              local same = nn.SpatialConvolution(3, 8, 3, 3)
              same.weight:copy(weight)
              same.bias:copy(bias)
              assert((same:forward(x) - y):abs():max() < 1e-10)
              assert((same:backward(x, y:clone():fill(1)) - dx):abs():max() < 1e-10)
           end)
        end
        pool:terminate()
        """,
    )


# Errors


def test_errors_name_the_thread_and_carry_a_traceback(tmp_path: Path) -> None:
    run_lua(
        tmp_path,
        """
        local pool = threads.Threads(1)
        pool:addjob(function()
           function of_evil() return {} + 1 end
           of_evil()
        end)
        local ok, problem = pcall(pool.synchronize, pool)
        assert(not ok and problem:find('^%[thread 1 callback%] .*script.lua:%d+: attempt to perform'))
        assert(problem:find("in function 'of_evil'", 1, true))
        pool:addjob(function() return 10 end, function(x) error('ten ' .. x) end)
        ok, problem = pcall(pool.synchronize, pool)
        assert(not ok and problem:find('^%[thread 1 endcallback%] .*lua:%d+: ten 10\\nstack traceback'))
        -- what cannot go there or come back
        for _, job in ipairs{
           function() return coroutine.create(print) end,
           function() error({}) end,
           function() error() end,
           function() torch.ones(2):resize(-1, 5):add(torch.ones(7)) end,
           function() require 'no such package' end,
        } do
           pool:addjob(job, function() error('not reached') end)
           ok, problem = pcall(pool.synchronize, pool)
           assert(not ok and problem:find('^%[thread 1 callback%]'), problem)
        end
        require 'nn'
        local net = nn.Linear(1, 1)
        pool:addjob(function() return net end)
        ok, problem = pcall(pool.synchronize, pool)
        assert(not ok and problem:find('unknown Torch class <nn.Linear>', 1, true))
        -- and it goes on
        local n = 0
        pool:addjob(function() return 10 end, function(x) n = n + x end)
        pool:synchronize()
        assert(n == 10)
        pool:addjob(function() error('last') end)
        ok, problem = pcall(pool.terminate, pool)
        assert(not ok and problem:find('last') and not pool:isrunning())
        ok, problem = pcall(threads.Threads, 2, function(id) if id == 2 then error('at the start') end end)
        assert(not ok and problem:find('^%[thread 2 callback%] .*at the start'))
        """,
    )


def test_the_other_end_callbacks_of_a_failed_pool_still_come(tmp_path: Path) -> None:
    run_lua(
        tmp_path,
        """
        local pool, done = threads.Threads(2), 0
        for i = 1, 4 do
           pool:addjob(function() if i == 2 then error('two') end end, function() done = done + 1 end)
        end
        local ok = pcall(pool.synchronize, pool)
        assert(not ok)
        pool:terminate()
        assert(done == 3)
        """,
    )


# Shared memory


def test_tensors_are_shared_and_stay_where_they_are(tmp_path: Path) -> None:
    run_lua(
        tmp_path,
        """
        threads.Threads.serialization(SHARED)
        local kinds = { 'Byte', 'Char', 'Short', 'Int', 'Long', 'Float', 'Double', 'Half' }
        local many, stores = {}, {}
        for i, kind in ipairs(kinds) do
           many[i] = torch[kind .. 'Tensor'](4, 3):fill(1)
           stores[i] = torch[kind .. 'Storage'](500):fill(1)
        end
        local part = torch.FloatTensor(torch.FloatStorage(stores[6], 101, 50))
        local pool = threads.Threads(2)
        for i = 1, #kinds do
           pool:addjob(function()
              many[i]:select(2, 2):fill(5)
              stores[i]:fill(7)
              collectgarbage()
              collectgarbage()
              return many[i], many[i]:t()
           end, function(t, transposed)
              assert(t:storage():size() == 12 and transposed:storage()[2] == 5)
              assert(t:isSetTo(t) and t[{ 3, 2 }] == 5 and t[{ 3, 1 }] == 1)
              transposed:fill(9)
           end)
        end
        pool:synchronize()
        for i = 1, #kinds do
           assert(many[i][{ 1, 1 }] == 9 and many[i][{ 4, 3 }] == 9 and stores[i][500] == 7)
        end
        -- a storage on a part of another
        pool:addjob(function() part[1] = 3 return part end, function(t)
           assert(t:size(1) == 50 and part[1] == 3 and stores[6][101] == 3 and t[2] == 7)
           part[2] = 4
           assert(t[2] == 4)
           torch.sort(t, torch.LongTensor(), torch.FloatTensor{ 2, 1 }) -- a kernel makes it smaller
           assert(t:size(1) == 2 and t[1] == 1 and part[1] == 1 and part[2] == 2 and t:storage()[1] == 1)
        end)
        pool:terminate()
        -- what torch.serialize writes is a copy
        local text = torch.serialize(many)
        many[1]:fill(0)
        assert(torch.deserialize(text)[1][{ 1, 1 }] == 9)
        """,
    )


def test_a_shared_storage_cannot_grow_in_any_state(tmp_path: Path) -> None:
    run_lua(
        tmp_path,
        """
        threads.Threads.serialization(SHARED)
        for _, n in ipairs{ 10, 1000 } do
           local x, fresh = torch.FloatTensor(n):fill(1), torch.FloatTensor(2 * n):fill(2)
           local pool = threads.Threads(1, function() kept = x end)
           local attempts = {
              function(t) t:resize(4000) end,
              function(t) t:storage():resize(4000) end,
              function(t) torch.cat(t, torch.FloatTensor(2000), torch.FloatTensor(2000)) end,
              function(t) torch.sort(t, torch.LongTensor(), torch.FloatTensor(4000)) end,
              function(t) t:set(t:storage(), 1, 4000) end,
           }
           for i, attempt in ipairs(attempts) do
              if pcall(attempt, x) then error('attempt ' .. i) end
              assert(x:storage():size() == n, i)
              x:resize(n)
              pool:addjob(function()
                 local ok, problem = pcall(attempt, kept)
                 kept:resize(n)
                 return ok, problem
              end, function(ok, problem) assert(not ok and problem:find('not resizable'), problem) end)
              pool:synchronize()
           end
           x:fill(3)
           pool:addjob(function() return kept:sum() end, function(sum) assert(sum == 3 * n) end)
           pool:synchronize()
           -- smaller, and as large again, is as ever; so is another storage
           x:resize(2):fill(4):resize(n)
           x:set(fresh)
           x:resize(5000)
           pool:addjob(function() return kept:sum() end, function(sum) assert(sum == 3 * n + 2) end) -- 2 * 4
           pool:terminate()
        end
        """,
    )


def test_shared_memory_lives_as_long_as_someone_has_it(tmp_path: Path) -> None:
    run_lua(
        tmp_path,
        """
        threads.Threads.serialization(SHARED)
        for _, n in ipairs{ 5, 30, 200, 100000 } do
           local pool = threads.Threads(1)
           -- made there, used here when its state is gone
           local held = {}
           for i = 1, 20 do
              pool:addjob(function() return torch.IntTensor(n):fill(i) end, function(t) held[i] = t end)
           end
           pool:synchronize()
           pool:addjob(function() collectgarbage() for i = 1, 50 do torch.IntTensor(n):fill(-1) end end)
           pool:terminate()
           collectgarbage()
           for i = 1, 50 do torch.IntTensor(n):fill(-2) end
           for i = 1, 20 do assert(held[i]:min() == i and held[i]:max() == i) end
           -- made here, used there when it is gone here
           local other = threads.Threads(1)
           do
              local mine = torch.IntTensor(n):fill(7)
              other:addjob(function() kept = mine end)
              other:synchronize()
           end
           collectgarbage()
           collectgarbage()
           for i = 1, 50 do torch.IntTensor(n):fill(-3) end
           other:addjob(function() return kept:sum() end, function(sum) assert(sum == 7 * n) end)
           other:terminate()
        end
        """,
    )


def test_serializations_by_hand_and_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "counted.lua").write_text(
        "local plain = require 'threads.serialize'\n"
        "return { save = function(x) saved = (saved or 0) + 1 return plain.save(x) end, load = plain.load }"
    )
    run_lua(
        tmp_path,
        """
        local plain, shared = require 'threads.serialize', require(SHARED)
        local x = torch.ones(300)
        local copy, same = plain.load(plain.save{ x }), shared.load(shared.save{ x, x:narrow(1, 2, 2) })
        x:fill(2)
        assert(copy[1]:sum() == 300 and same[1]:sum() == 600 and same[2]:sum() == 4)
        local bytes = shared.save(x)
        assert(torch.type(bytes) == 'torch.CharStorage')
        shared.load(bytes)
        local ok, problem = pcall(shared.load, bytes)
        assert(not ok and problem:find('once'))
        assert(shared.load(shared.save(torch.Tensor())):nDimension() == 0)
        threads.Threads.serialization('counted')
        local pool = threads.Threads(1)
        pool:addjob(function() return saved end, function(n) assert(n >= 1) end)
        pool:terminate()
        assert(saved >= 2)
        """,
    )


def test_batches_do_not_pile_up(tmp_path: Path) -> None:
    """Lua's collector does not see the memory of tensors: both states count what they hold of it."""
    run_lua(
        tmp_path,
        """
        threads.Threads.serialization(SHARED)
        local function resident()
           local file = io.open('/proc/self/statm')
           local pages = file:read('*a'):match('^%d+ (%d+)')
           file:close()
           return pages * 4096 / 2 ^ 20
        end
        local pool = threads.Threads(2)
        local function batches(n)
           for i = 1, n do
              local function batch() return torch.FloatTensor(2 ^ 21):fill(1) end
              pool:addjob(batch, function(t) assert(t[1] == 1) end)
           end
           pool:synchronize()
        end
        batches(100)
        local before = resident()
        batches(200) -- 1600 MB
        assert(resident() < before + 400, resident() - before)
        pool:terminate()
        """,
    )


# Locks, conditions, queues, threads


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


def test_a_mutex_goes_round_and_a_signal_wakes_one() -> None:
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


# Ends


def test_pools_that_are_left_finish_their_jobs_at_the_end(tmp_path: Path) -> None:
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


def test_the_error_of_a_pool_that_is_left_is_told(tmp_path: Path) -> None:
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
    before = threading.active_count()
    script = tmp_path / "script.lua"
    script.write_text(
        HEAD + "pool = threads.Threads(2) pool:addjob(function() sys.sleep(0.2) end) error('early')"
    )
    with pytest.raises(LuaError, match="early"):
        run(script)
    assert threading.active_count() == before
    script.write_text(
        HEAD + "pool = threads.Threads(2) pool:addjob(function() os.exit(5) end) pool:synchronize()"
    )
    assert run(script) == 5
    assert threading.active_count() == before


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
    outcome = run_in_sandbox(script, stdout=io.BytesIO(), stderr=io.BytesIO())
    assert outcome.exit_code == 1
    assert "threads is not available in the sandbox" in outcome.message
