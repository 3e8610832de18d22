"""Hashes, vectors and counters of package tds that several Lua states share."""

from pathlib import Path

from tests.helpers.commands import RESIDENT
from tests.lua_compat.runtime.threads.scripts import run_lua

# Draws keys and values of every kind, and compares them.
DRAWS = """
local tds, R = require 'tds', math.random
local S = require(SHARED)
local tensors = {
   torch.ones(3), torch.Tensor(), torch.range(1, 5):narrow(1, 2, 2), torch.FloatTensor(2, 3):fill(1):t(),
}
local function text() return (string.char(R(97, 122))):rep(R(5) == 1 and R(3000) or R(0, 40)) .. R(50) end
local keys = {
   function() return R(30) end, text, function() return R() < 0.5 end, function() return 3 * R() end,
   function() return tensors[R(#tensors)] end,
}
local values = {
   function() end, text, function() return R() < 0.5 end, R, function() return tensors[R(#tensors)] end,
   function() return tds.Vec(1, nil, text()) end, function() return tds.Hash{ a = R(5) } end,
}
local function key() return keys[R(#keys)]() end
local function value() return values[R(#values)]() end
local function same(a, b)
   if a == b then return true end
   if torch.type(a) ~= torch.type(b) then return false end
   if torch.isTensor(a) then return a:nElement() == b:nElement() and (a:nElement() == 0 or a:eq(b):all()) end
   if type(a) ~= 'userdata' or #a ~= #b then return false end
   for k, x in pairs(a) do
      if not same(x, b[k]) then return false end
   end
   return true
end
"""


def test_a_shared_hash_is_as_one_that_is_not(tmp_path: Path) -> None:
    run_lua(
        tmp_path,
        DRAWS
        + """
        for round = 1, 4 do
           local plain, hash = tds.Hash(), tds.Hash()
           for _ = 1, R(0, 60) do
              local k, x = key(), value()
              plain[k], hash[k] = x, x
           end
           local both = { S.load(S.save(hash)), hash }
           for step = 1, 600 do
              local one, k = both[R(2)], key()
              if R(3) == 1 then
                 assert(same(plain[k], one[k]))
              else
                 local x = value()
                 plain[k], one[k] = x, x
              end
              if step % 150 == 0 then
                 assert(same(plain, one))
                 for k in pairs(plain) do
                    if R(2) == 1 then plain[k], one[k] = nil, nil end
                 end
                 collectgarbage()
              end
           end
        end
        """,
    )


def test_a_shared_vector_is_as_one_that_is_not(tmp_path: Path) -> None:
    run_lua(
        tmp_path,
        DRAWS
        + """
        local plain, vec = tds.Vec('a', nil, 3), tds.Vec('a', nil, 3)
        local again = S.load(S.save(vec))
        local function both(f) f(plain) f(R(2) == 1 and vec or again) end
        local draws = {
           function(x) both(function(v) v:insert(x) end) end,
           function(x) local k = R(#plain + 1) both(function(v) v:insert(k, x) end) end,
           function() local k = R(#plain + 1) both(function(v) v:remove(k) end) end,
           function() local n = R(0, 30) both(function(v) v:resize(n) end) end,
           function(x) local k = R(40) both(function(v) v[k] = x end) end,
           function()
              for k = 1, #plain do local x = R(50) both(function(v) v[k] = x end) end
              both(function(v) v:sort(function(a, b) return a < b end) end)
              assert(plain:concat(' ') == vec:concat(' '))
           end,
        }
        for _ = 1, 500 do
           draws[R(#draws)](value())
           assert(#vec == #plain and same(plain, vec))
        end
        """,
    )


def test_threads_change_one_hash_at_the_same_time(tmp_path: Path) -> None:
    run_lua(
        tmp_path,
        """
        threads.Threads.serialization(SHARED)
        local tds = require 'tds'
        local hash = tds.Hash{ list = tds.Vec(0), sum = torch.zeros(2) }
        local vec, counter = tds.Vec(), tds.AtomicCounter()
        local pool = threads.Threads(4, function() require 'tds' end)
        for k = 1, 4 do
           pool:addjob(function()
              for i = 1, 800 do
                 local mine = 'of ' .. k .. ', ' .. i
                 hash[mine] = ('v'):rep(i % 50) .. i
                 hash.common = ('x'):rep(i % 100)
                 local common = hash.common
                 assert(common == ('x'):rep(#common))
                 if i % 3 == 0 then hash[mine] = nil end
                 if i % 50 == 0 then
                    hash.fresh = torch.ones(i % 4 + 1)
                    local fresh = hash.fresh
                    assert(not fresh or fresh:sum() == fresh:size(1))
                    hash.list = require('tds').Vec(i)
                    local list = hash.list
                    assert(not list or list[1] % 50 == 0)
                 end
                 vec[4 * (i - 1) + k] = i
                 counter:inc()
                 if i % 400 == 0 then
                    for key, value in pairs(hash) do assert(key ~= nil and value ~= nil) end
                 end
              end
              hash.sum[k % 2 + 1] = 5
           end)
        end
        pool:synchronize()
        pool:terminate()
        assert(#hash == 4 * 534 + 4 and #vec == 3200 and counter:get() == 3200 and hash.sum:sum() == 10)
        for k = 1, 4 do
           for i = 1, 800 do
              local expected = i % 3 ~= 0 and ('v'):rep(i % 50) .. i or nil
              assert(hash['of ' .. k .. ', ' .. i] == expected and vec[4 * (i - 1) + k] == i)
           end
        end
        """,
    )


def test_threads_find_the_memory_that_others_have_added(tmp_path: Path) -> None:
    run_lua(
        tmp_path,
        """
        threads.Threads.serialization(SHARED)
        local tds = require 'tds'
        local hash, texts = tds.Hash(), {}
        local pool = threads.Threads(3, function() require 'tds' end)
        for i = 1, 90 do
           texts[i] = ('x'):rep(i % 7 == 0 and 300 * i or i)
           if i % 5 == 0 then pool:synchronize() end -- the key before is there
           pool:addjob(function()
              hash[i] = ('x'):rep(i % 7 == 0 and 300 * i or i)
              hash['of ' .. i] = i
              if i > 1 and i % 5 == 0 then hash[i - 1] = nil end
           end)
        end
        pool:synchronize()
        for i = 1, 90 do assert(hash['of ' .. i] == i and hash[i] == (i % 5 ~= 4 and texts[i] or nil)) end
        pool:terminate()
        """,
    )


def test_objects_go_to_and_fro_and_hold_what_they_contain(tmp_path: Path) -> None:
    run_lua(
        tmp_path,
        """
        threads.Threads.serialization(SHARED)
        local tds = require 'tds'
        local hash = tds.Hash{ [1] = true, inner = tds.Vec('x', torch.ones(3)), t = torch.range(1, 4) }
        hash[hash.t], hash[hash.inner] = 'of a tensor', 'of a vector'
        local pool = threads.Threads(1, function() require 'tds' end)
        pool:addjob(function()
           local tds = require 'tds'
           assert(#hash == 5 and hash[1] and hash.none == nil and hash[hash.inner] == 'of a vector')
           assert(hash[hash.t] == 'of a tensor' and hash.t:sum() == 10 and hash.inner[2]:sum() == 3)
           hash.inner[2]:fill(2)
           hash.t:fill(7)
           hash.deep = tds.Vec{ 1, { x = tds.Vec('deep', torch.ones(2)) } }
           hash[1] = nil
           return hash, hash.inner
        end, function(again, inner)
           assert(#hash == 5 and #again == 5 and inner == hash.inner or #inner == 2)
           again.only = 5
           inner[3] = 'third'
        end)
        pool:terminate()
        collectgarbage()
        assert(hash.only == 5 and hash[1] == nil and hash.t:sum() == 28 and hash[hash.t] == 'of a tensor')
        assert(#hash.inner == 3 and hash.inner[3] == 'third' and hash.inner[2]:sum() == 6)
        local deep = hash.deep
        hash.deep = nil
        collectgarbage()
        assert(deep[2].x[1] == 'deep' and deep[2].x[2]:sum() == 2 and hash.deep == nil)
        """,
    )


def test_memory_of_shared_objects_comes_back(tmp_path: Path) -> None:
    run_lua(
        tmp_path,
        RESIDENT
        + """
        threads.Threads.serialization(SHARED)
        local tds = require 'tds'
        local hash = tds.Hash()
        local pool = threads.Threads(1, function() require 'tds' end)
        local text = ('x'):rep(1000)
        local function run(jobs)
           for i = 1, jobs do
              local sent = tds.Hash{ batch = torch.FloatTensor(400000):fill(i) }
              for k = 1, 20 do sent[k] = text .. k end
              pool:addjob(function()
                 for k = 1, 20 do hash[k] = sent[k] .. i end
                 hash.sent = sent
              end)
           end
           pool:synchronize()
        end
        run(50)
        local before = resident_mb()
        run(80) -- 128 MB of batches
        assert(resident_mb() < before + 50, resident_mb() - before)
        pool:terminate()
        """,
    )


def test_messages_that_are_changed_are_refused(tmp_path: Path) -> None:
    """What is borrowed is known by a number, which stands at the end; the size of a storage before it."""
    run_lua(
        tmp_path,
        """
        local tds, S = require 'tds', require(SHARED)
        for _, make in ipairs{
           function() return tds.Hash{ a = 'x' } end, tds.AtomicCounter,
           function() return torch.LongStorage(3):fill(1) end,
        } do
           local n = S.save(make()):size() - 1 -- without the last, a zero
           for place = n - 15, n do
              local bytes = S.save(make())
              bytes[place] = (bytes[place] + 129) % 256 - 128 -- a larger number: nothing has it yet
              assert(not pcall(S.load, bytes), place)
           end
           local bytes = S.save(make())
           S.load(bytes)
           assert(select(2, pcall(S.load, bytes)):find 'once')
        end
        """,
    )


def test_a_failure_leaves_a_hash_as_it_was(tmp_path: Path) -> None:
    run_lua(
        tmp_path,
        """
        local tds, S = require 'tds', require(SHARED)
        local hash = S.load(S.save(tds.Hash{ a = 1 }))
        for _, f in ipairs{
           function() hash.b = {} end, function() hash[print] = 1 end, function() hash[0 / 0] = 1 end,
           function() hash[nil] = 1 end,
        } do assert(not pcall(f)) end
        assert(#hash == 1 and hash.a == 1 and hash[0 / 0] == nil and hash.b == nil)
        hash[-0.0] = 'zero'
        assert(hash[0] == 'zero' and #hash == 2)
        """,
    )
