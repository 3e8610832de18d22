"""The package threads: pools of Lua states, their jobs and their errors.

What the package's own test scripts show is shown here again, in other words.
"""

from pathlib import Path

from lua_compat.runtime.compiled_files import CompiledFiles
from lua_compat.runtime.crew import Crew
from lua_compat.runtime.state import Runtime
from tests.helpers.commands import run_th
from tests.lua_compat.runtime.threads.scripts import HEAD, run_lua


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
        threads.serialization('threads.sharedserialize')
        local pool = threads.Threads(2)
        threads.serialization('threads.serialize')
        local taken = torch.IntTensor(5):zero()
        local name = gate:id()
        local function waits(k)
           taken[k] = 1
           local mutex = require('threads').Mutex(name)
           mutex:lock()
           mutex:unlock()
        end
        local added, done = 0, 0
        while pool:acceptsjob() do
           added = added + 1
           pool:addjob(waits, function() done = done + 1 end, added)
           while added <= 2 and taken[added] == 0 do sys.sleep(0.01) end -- until a thread has taken it
        end
        assert(added == 4 and done == 0 and pool:hasjob())
        gate:unlock()
        pool:addjob(waits, function() done = done + 1 end, 5) -- waits until there is room
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
        local order, gate = {}, threads.Mutex()
        gate:lock()
        pool:addjob(threads.safe(function() return 'slow' end, gate), function(x) order[#order + 1] = x end)
        pool:addjob(function() return 'quick' end, function(x) order[#order + 1] = x end)
        pool:dojob()
        gate:unlock()
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
        -- A queue holds as many jobs as the pool has threads: with four, addjob waits for none.
        local pool, done = threads.Threads(4), 0
        for i = 1, 4 do
           pool:addjob(function() if i == 2 then error('two') end end, function() done = done + 1 end)
        end
        local ok = pcall(pool.synchronize, pool)
        assert(not ok)
        pool:terminate()
        assert(done == 3)
        """,
    )


class Compiled(CompiledFiles):
    """Notes what is kept."""

    def __init__(self) -> None:
        super().__init__("no library")
        self.kept: list[tuple[str, str]] = []

    def keep(self, path: str, code: str, text: str = "") -> None:
        self.kept.append((path, text))
        super().keep(path, code, text)


def test_a_thread_compiles_none_of_our_files_that_one_before_it_has_compiled() -> None:
    crew = Crew()
    crew.compiled = compiled = Compiled()
    runtime = Runtime(crew=crew)
    runtime.run_string("""
        local threads = require 'threads'
        local function job()
            require 'nn'
            return select(2, pcall(torch.add, 1, {})), torch.ones(2):sum()
        end
        local texts = {}
        for k = 1, 2 do
            local pool = threads.Threads(1)
            pool:addjob(job, function(text, sum)
                assert(sum == 2)
                texts[k] = text
            end)
            pool:terminate()
        end
        assert(#texts == 2 and texts[1] == texts[2], texts[2])
    """)
    assert runtime.finish() == 0
    crew.leave(0)
    assert len(compiled.kept) > 50 and len(set(compiled.kept)) == len(compiled.kept)
    assert any(path.endswith("/nn/init.lua") for path, _ in compiled.kept)
    assert any("torch.add" in text for _, text in compiled.kept)
