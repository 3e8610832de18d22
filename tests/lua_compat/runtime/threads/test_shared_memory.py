"""The package threads: tensors that several Lua states share."""

from pathlib import Path

from tests.helpers.commands import RESIDENT
from tests.lua_compat.runtime.threads.scripts import run_lua, th


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
        torch.eig(torch.eye(3)) -- loads PyTorch, which so much work would do at some time
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


def test_a_thread_sees_that_another_counts(tmp_path: Path) -> None:
    """Even in a compiled loop that does nothing but wait for it."""
    code, out, _ = th(
        tmp_path,
        """
        threads.Threads.serialization(SHARED)
        local tds = require 'tds'
        local counter, hash, vec = tds.AtomicCounter(), tds.Hash{ 0 }, tds.Vec()
        local pool = threads.Threads(2, function() require 'tds' end)
        pool:addjob(function()
           repeat until counter:get() ~= 0
           repeat until hash[1] ~= 0
           repeat until #hash ~= 1
           repeat until #vec ~= 0
           return counter:get()
        end, print)
        pool:addjob(function()
           for _, change in ipairs{
              function() counter:inc() end, function() hash[1] = 1 end, function() hash[2] = 0 end,
              function() vec:insert(1) end,
           } do
              require('sys').sleep(0.05)
              change()
           end
        end)
        pool:synchronize()
        """,
    )
    assert (code, out) == (0, "1\n")


def test_memory_that_was_sent_comes_back(tmp_path: Path) -> None:
    run_lua(
        tmp_path,
        RESIDENT
        + """
        local pool = threads.Threads(1)
        local text = ('x'):rep(20000)
        local function run(jobs)
            for i = 1, jobs do
                pool:addjob(function() return #text end, function(n) assert(n == 20000) end)
            end
            pool:synchronize()
        end
        run(4000) -- the two states' garbage, until they collect it
        local before = resident_mb()
        run(4000)
        local grown = resident_mb() - before
        assert(grown < 25, grown) -- together they are 80 MB
        pool:terminate()
        """,
    )


def test_addresses_that_a_script_has_stay_those_of_shared_tensors(tmp_path: Path) -> None:
    run_lua(
        tmp_path,
        """
        threads.Threads.serialization(SHARED)
        local pool = threads.Threads(1)
        local known, unknown = torch.DoubleTensor(4):fill(1), torch.DoubleTensor(4):fill(1)
        local part, address = unknown:narrow(1, 2, 2), known:data()
        pool:addjob(function() known:fill(5) unknown:fill(6) end)
        pool:synchronize()
        address[0] = 7
        assert(known[1] == 7 and known[2] == 5 and unknown[1] == 6 and part:sum() == 12)
        part:fill(9)
        pool:addjob(function() return unknown:sum() end, function(sum) assert(sum == 30) end)
        pool:synchronize()
        pool:terminate()
        """,
    )
