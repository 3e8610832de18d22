"""Attempts to get out of the sandbox, or beside a tensor's memory.

Each ends in an error that names what is wrong, or changes nothing but the script's own. They share a process.

An attempt gives true where it succeeded. ``try`` reports that, or the error.
"""

from pathlib import Path

import pytest

from tests.lua_compat.sandbox.test_sandbox import sandboxed

# Tries to take a storage back when the collector has found it dead: where a userdata has a finaliser, weak
# values are gone then, weak keys are not. Gives whether memory is handed out again under a tensor made of it.
RESURRECTED = """
local keys, values = setmetatable({}, { __mode = 'k' }), setmetatable({}, { __mode = 'v' })
local function make()
   local storage = torch.DoubleStorage(COUNT):fill(7)
   keys[storage], values[1] = true, storage
end
make()
local tensor
for i = 1, 1e6 do
   collectgarbage('step', 0)
   if not values[1] then
      local storage = next(keys)
      tensor = storage and torch.DoubleTensor(storage)
      break
   end
end
for i = 1, 3 do collectgarbage() end
local others = {}
for i = 1, 1000 do others[i] = torch.DoubleStorage(COUNT <= 100 and COUNT or 5000):fill(9) end
return tensor and tensor:sum() ~= 7 * COUNT
"""

# name: (Lua that returns whether it got anywhere, part of the error; empty: it returns false)
ATTEMPTS: dict[str, tuple[str, str]] = {
    # library functions of one's own, called by our code
    "string.format builds adaptors": (
        "local real, seen = string.format, false\n"
        "string.format = function(...) seen = true return real(...) end\n"
        "nn.SpatialDilatedConvolution(1, 1, 1, 1):forward(torch.ones(1, 4, 4))\n"
        "nn.SpatialCrossMapLRN(5):forward(torch.ones(1, 4, 4))\n"
        "string.format = real return seen",
        "",
    ),
    "math.floor sizes views": (
        "local real = math.floor math.floor = function() return 1e6 end\n"
        "local t = torch.ones(4):unfold(1, 2, 1) math.floor = real return t:size(1) ~= 3",
        "",
    ),
    "table.concat": (
        "local real, seen = table.concat, false table.concat = function(...) seen = true return "
        "real(...) end\n"
        "torch.lerp(torch.ones(2), torch.ones(2), 0.3) tostring(torch.ones(2, 2, 2)) table.concat = real "
        "return seen",
        "",
    ),
    "global functions": (
        "local mine = { 'type', 'pairs', 'tonumber', 'select', 'unpack', 'rawget', 'setmetatable', "
        "'loadstring' }\n"
        "local old, seen = {}, false\n"
        "for _, n in ipairs(mine) do old[n] = _G[n] end\n"
        "for n, f in pairs(old) do _G[n] = function(...) seen = true return f(...) end end\n"
        "local t = torch.ones(2, 2):narrow(1, 1, 1) t:geometric(0.5)\n"
        "for n, f in old.pairs(old) do _G[n] = f end return seen",
        "",
    ),
    "methods of strings": (
        "getmetatable('').__index = function() return function() error('mine was called') end end\n"
        "tostring(torch.ones(2)) torch.class('AttemptWithStrings')\n"
        "getmetatable('').__index = string return ('x'):rep(2) ~= 'xx'",
        "",
    ),
    "string library by its method table": (
        "getmetatable('').__index.rep = 1 return ('x'):rep(2) ~= 'xx'",
        "",
    ),
    "operators of strings": ("getmetatable('').__tostring = 1", "__tostring of strings"),
    "arithmetic of strings": ("getmetatable('').__mul = function() return 1 end", "__mul of strings"),
    "calls of strings": ("getmetatable('').__call = function() return 1 end", "__call of strings"),
    "torch.serialize": (
        "local real = torch.serialize torch.serialize = function() return 'mine' end\n"
        "local text = torch.serialize(1) torch.serialize = real return text ~= 'mine'",
        "",
    ),
    "torch.class over a library": (
        "torch.class('ipairs2') torch.class('string.rep') return ('x'):rep(2) ~= 'xx'",
        "",
    ),
    "package.loaded": (
        "package.loaded['torch.core.memory'] = {} return require('torch.tensor.tensor').new ~= nil",
        "torch.tensor.tensor",
    ),
    # metatables and finalisers
    "a finaliser by rawset": (
        "local done = false rawset(getmetatable(torch.Timer()), '__gc', function() done = true end)\n"
        "torch.Timer() collectgarbage() collectgarbage() return done",
        "",
    ),
    "a finaliser by assignment": ("getmetatable(torch.ones(1)).__gc = print", "__gc"),
    "a finaliser of the constructor": ("torch.FloatTensor.__gc = print", "__gc"),
    "a destructor": ("torch.newmetatable('torch.Timer', nil, nil, print)", "destructor"),
    "a class over a tensor": ("torch.class('torch.DoubleTensor')", "already"),
    "the parent's metatable": (
        "local _, parent = torch.class('AttemptAtParent', 'torch.DoubleTensor')\n"
        "return rawget(parent, '__index') ~= nil or parent.__gc ~= nil",
        "",
    ),
    "the field __metatable": (
        "return torch.ones(1).__metatable ~= nil or torch.Timer.__metatable ~= nil",
        "",
    ),
    "the field __index": (
        "return torch.ones(1).__index ~= nil or getmetatable(torch.ones(1)).__index ~= nil",
        "",
    ),
    "an inherited field": (
        "local class = torch.class('AttemptAtField', 'torch.Timer') class.__metatable = nil\n"
        "local object = setmetatable({}, class) return object.__metatable ~= nil or object.__gc ~= nil",
        "",
    ),
    "the metatable of files": ("return (getmetatable(io.stdout) or io.stdout.__index) and true or false", ""),
    "newproxy": ("newproxy(true)", "newproxy"),
    "a constructor by name": (
        "torch.getconstructortable('torch.DiskFile')('/etc/passwd', 'r')",
        "torch.DiskFile",
    ),
    "a constructor as new": ("torch.getmetatable('torch.PipeFile').new('ls', 'r')", "torch.PipeFile"),
    "a dead storage from the keys of a weak table": (RESURRECTED.replace("COUNT", "1000000"), ""),
    "a small dead storage from the keys of a weak table": (
        RESURRECTED.replace("COUNT", "100").replace(
            "return tensor:sum() ~= 7 * 100",
            "pcall(function() tensor:resize(1e6):fill(8) tensor:add(1) end)\n"
            "for i = 1, 1000 do if others[i]:size() ~= 100 or others[i][100] ~= 9 then return true end end",
        ),
        "",
    ),
    "a dead generator from the keys of a weak table": (
        "local keys, values = setmetatable({}, { __mode = 'k' }), setmetatable({}, { __mode = 'v' })\n"
        "local function make() local g = torch.Generator() keys[g], values[1] = true, g end make()\n"
        "for i = 1, 1e6 do collectgarbage('step', 0) if not values[1] then break end end\n"
        "local dead = next(keys) collectgarbage() collectgarbage() torch.ones(1e5):sum()\n"
        "return dead and torch.random(dead)",
        "",
    ),
    "a C type by its text": ("torch.metatype('AttemptAtType', {}, 'struct { int x; }')", "a C type"),
    "a tensor's metatable on a table": (
        "return torch.setmetatable({}, 'torch.DoubleTensor')[1]",
        "attempt to index",
    ),
    # environments, functions, coroutines, errors
    "getfenv of a function of ours": ("getfenv(torch.ones)", "getfenv"),
    "torch.getenv of a function": ("torch.getenv(nn.Linear.forward)", "torch.getenv"),
    "loaded code in our globals": (
        "loadstring('leaked_global = 1')() return xlua.clear == nil or leaked_global ~= 1",
        "",
    ),
    "pieces of bytecode": (
        "return load(coroutine.wrap(function() coroutine.yield('\\27LJ') end)) ~= nil",
        "",
    ),
    "serialised functions of ours": ("return torch.serialize(torch.ones) ~= nil", "Unwritable"),
    "serialised closures": ("torch.serialize({ f = function() return 1 end })", "Unwritable"),
    "a deserialised function": (
        "return (pcall(torch.deserialize('\\8\\0\\0\\0\\1\\0\\0\\0\\5\\0\\0\\0\\27LJ\\2\\0\\0\\0\\0\\0')))",
        "",
    ),
    "storages of a session": (
        "local file, got = torch.MemoryFile(), false\n"
        "torch.setenv(file, { written = {}, count = 0, read = {}, names = {}, upvalue_ids = {}, "
        "upvalue_count = 0,\n"
        "   storages = { write = function(_, record) got = record end } })\n"
        "file:writeObject(torch.ones(3)) return got and true or false",
        "",
    ),
    "errors of Python": (
        "local _, e = pcall(torch.inverse, torch.zeros(2, 2)) return type(e) ~= 'string' and type(e) ~= "
        "'nil'",
        "",
    ),
    "errors in coroutines": (
        "local t = coroutine.create(function() torch.ones(2, 3):geev() end)\n"
        "local _, e = coroutine.resume(t) return type(e) == 'userdata'",
        "",
    ),
    "errors out of a wrapped coroutine": (
        "local _, e = pcall(coroutine.wrap(function() torch.inverse(torch.ones(2, 3)) end))\n"
        "return type(e) ~= 'string'",
        "",
    ),
    "errors out of a library's callback": (
        "local _, e = pcall(string.gsub, 'x', 'x', function() torch.inverse(torch.ones(2, 3)) end)\n"
        "local _, f = pcall(table.sort, { 1, 2 }, function() torch.inverse(torch.ones(2, 3)) end)\n"
        "return type(e) ~= 'string' or type(f) ~= 'string'",
        "",
    ),
    "errors handled as they come": (
        "local seen xpcall(function() torch.inverse(torch.ones(2, 3)) end, function(e) seen = e end)\n"
        "return type(seen) ~= 'string'",
        "",
    ),
    "a callback that leaves in the middle": (
        "local t = torch.ones(100) local walk = coroutine.wrap(function()\n"
        "   t:apply(function() coroutine.yield() return 2 end) return 'done' end)\n"
        "for k = 1, 50 do walk() end t:set() collectgarbage() collectgarbage() torch.ones(100):fill(5)\n"
        "local last repeat last = walk() until last return last ~= 'done' or t:dim() ~= 0",
        "",
    ),
    "a module within itself": (
        "local m = nn.Sequential() m:add(m) m:forward(torch.ones(1))",
        "stack overflow",
    ),
    "tables nested without end": (
        "local t = {} for i = 1, 1e5 do t = { t } end return torch.serialize(t)",
        "stack overflow",
    ),
    "changed bytes of a module": (
        "local text = torch.serialize(nn.Sequential():add(nn.Linear(2, 2)):add(nn.Tanh()))\n"
        "for k = 1, 300 do\n"
        "   local at = (k * 7919) % #text + 1\n"
        "   local changed = text:sub(1, at - 1) .. string.char(k * 31 % 256) .. text:sub(at + 1)\n"
        "   local ok, m = pcall(torch.deserialize, changed)\n"
        "   if ok and type(m) == 'table' then pcall(function() m:forward(torch.ones(3, 2)) end) end\n"
        "end",
        "",
    ),
    # sizes, strides, offsets
    "64-bit literals as an offset": (
        "return torch.DoubleTensor(torch.DoubleStorage(4), 1ULL - 3ULL, 4)[1]",
        "number expected",
    ),
    "64-bit literals as an index": ("return torch.ones(4)[-1ULL]", ""),
    "64-bit literals as sizes": ("return torch.DoubleTensor(4LL, -1ULL)", "expecting number"),
    "words as sizes": ("return torch.DoubleTensor(3):resize('1e1', '0x2'):nElement() ~= 20", ""),
    "sizes whose product is too much": ("torch.DoubleTensor(2^27, 2^27)", "2^53"),
    "an expansion beyond memory": (
        "torch.ones(1):expand(2^26, 2^26):clone()",
        "",
    ),
    "many dimensions": (
        "local sizes = torch.LongStorage(1000):fill(1) local t = torch.rand(sizes)\n"
        "pcall(t.sum, t, 1000) pcall(t.add, t, t) pcall(t.permute, t) pcall(t.clone, t)\n"
        "return t:expand(sizes):nElement() ~= 1",
        "",
    ),
    "NaN as an offset": (
        "return torch.DoubleStorage(torch.DoubleStorage(4), 0/0, 1e6)[5000]",
        "whole number",
    ),
    "NaN as a size": ("return torch.ones(4):narrow(1, 1, 0/0)", "whole number"),
    "infinity as a dimension": ("return torch.ones(4, 4):transpose(1, 1/0)", "whole number"),
    "half a dimension": ("return torch.ones(1, 1000):permute(1.5, 1)[{ 999, 1 }]", "permutation"),
    "a negative window": ("torch.ones(4):unfold(1, -50, 1)", "out of range"),
    "half a size": ("return torch.ones(3):view(1.5, 2)", ""),
    "a stride beyond everything": (
        "return torch.Tensor(torch.LongStorage{ 3, 3 }, torch.LongStorage{ 2^62, 2^62 })[{ 3, 3 }]",
        "stride",
    ),
    "more elements than there are": ("return torch.DoubleTensor(2^32, 2^32)[{ 2^31, 1 }]", "2^53"),
    "a failed resize leaves a size": (
        "local t = torch.DoubleTensor(torch.DoubleStorage(torch.DoubleStorage(4), 1, 2))\n"
        "pcall(t.resize, t, 1e6) return t:nElement() ~= 2",
        "",
    ),
    "an offset that is a table": (
        "local fake = setmetatable({}, { __sub = function() return 1000 end })\n"
        "return torch.DoubleStorage(torch.DoubleStorage(4), fake)[1]",
        "number expected",
    ),
    "a file that is a table": (
        "local hostile = setmetatable({}, { __sub = function(a) return a end, __add = function(a) return "
        "a end,\n"
        "   __lt = function() return false end, __le = function() return true end })\n"
        "local file = { readInt = function() return 1 end, readObject = function() return "
        "torch.DoubleStorage(4) end }\n"
        "function file:readLong(n) return n and torch.LongStorage{ 2 } or hostile end\n"
        "local t = torch.DoubleTensor() t:read(file) return t[1]",
        "compare",
    ),
    "an index that changes the tensor": (
        "local t = torch.ones(1000, 1000)\n"
        "local spec = setmetatable({}, { __index = function(_, k)\n"
        "   if k == 1 then t:set(torch.DoubleStorage(4):fill(7), 1, 4) return 1 end\n"
        "   return k == 2 and 900 or nil end })\n"
        "return t[spec] ~= 7",
        "",
    ),
    "a callback that takes the memory away": (
        "local t = torch.ones(4000) local n = 0\n"
        "t:apply(function() if n == 0 then t:set() collectgarbage() collectgarbage() end n = n + 1 "
        "return 2 end)\n"
        "return n ~= 4000",
        "",
    ),
    "a file that is written into itself": (
        "local f = torch.MemoryFile() for i = 1, 12 do f:writeChar(f:storage()) end return "
        "f:storage():size() > 1e6",
        "",
    ),
    "a string of NaN bytes": (
        "return torch.MemoryFile():readChar(0/0)",
        "whole number",
    ),
    "a view that a kernel moves": (
        "local s = torch.DoubleStorage(4):fill(3) local v = torch.DoubleStorage(s, 1, 2)\n"
        "local m = nn.SpatialMaxPooling(2, 2) m.output = torch.DoubleTensor(v)\n"
        "m:forward(torch.rand(1, 400, 400)) collectgarbage() collectgarbage()\n"
        "return s:size() ~= 4 or s[1] < 0 or s[1] > 1",
        "",
    ),
    "a state in another tensor": ("torch.getRNGState(torch.DoubleStorage(4))", "expected"),
    # nn's modules with fields of one's own
    "indices of pooling": (
        "local m = nn.SpatialMaxPooling(2, 2) local y = m:forward(torch.rand(1, 4, 4))\n"
        "m.indices:fill(-1e6) m:backward(torch.rand(1, 4, 4), y)",
        "index of a maximum",
    ),
    "random samples of pooling": (
        "local m = nn.SpatialFractionalMaxPooling(2, 2, 2, 2):fixPoolingRegions() "
        "m:forward(torch.rand(1, 8, 8))\n"
        "m.randomSamples:fill(1e15) m:forward(torch.rand(1, 8, 8))",
        "random samples",
    ),
    "a gradient of other sizes": (
        "local m = nn.SoftMax() m:forward(torch.rand(2, 3)) m:backward(torch.rand(2, 3), torch.rand(1))",
        "shapes do not match",
    ),
    "statistics of other sizes": (
        "local m = nn.BatchNormalization(3) m:forward(torch.rand(4, 3)) m.save_mean:resize(1)\n"
        "m:backward(torch.rand(4, 3), torch.rand(4, 3))",
        "3 numbers expected",
    ),
    "a kernel that resizes and then fails": (
        "local m, kept = nn.SoftMin(), torch.DoubleTensor(2)\n"
        "m.gradInput, m.output = kept, torch.ones(50, 100)\n"
        "local done = pcall(m.updateGradInput, m, nil, torch.HalfTensor(50, 100))\n"
        "return done or kept:fill(1):sum() ~= 5000 or not kept:isSameSizeAs(m.output)",
        "",
    ),
    "a result that is one of what is put together": (
        "local r, b = torch.ByteTensor(), torch.ByteTensor(1, 3):fill(7) r:cat(b, r)\n"
        "return r:nElement() ~= 3 or r:sum() ~= 21",
        "",
    ),
    "an expansion of another type's elements": (
        "torch.DoubleTensor(1):expand(torch.ByteTensor(1, 5), 5, 5)",
        "torch.ByteTensor expected",
    ),
    "a reflection of more than there is": (
        "local m, x = nn.SpatialReflectionPadding(2), torch.rand(2, 3, 3) local y = m:forward(x)\n"
        "m.pad_b, m.pad_t = 4, 0 m:backward(x, y)",
        "reflection padding: 4",
    ),
    "a border's gradient for fewer planes": (
        "local m, x = nn.SpatialReflectionPadding(1), torch.rand(2, 3, 3) m:forward(x)\n"
        "m:updateGradInput(x, torch.rand(1, 5, 5))",
        "Need gradOutput of dimension 3 and gradOutput.size[0] == 2",
    ),
    "a tensor in place of a kernel's number": (
        "local m, x = nn.SoftPlus(), torch.ones(3) m.beta = torch.HalfTensor(3) m:updateGradInput(x, x)",
        "cannot convert 'void *' to 'double'",
    ),
    "a kernel that finds no memory for its result": (
        "local m = nn.SpatialConvolutionMM(1, 2, 4, 4, 1, 1, 1) m.padW = 2^32 + 1\n"
        "pcall(m.forward, m, torch.rand(5, 1, 2, 3)) local first = m.output:nElement()\n"
        "m.output:fill(1) m.padW = 1 m:forward(torch.rand(5, 1, 4, 4)) local size = m.output:size()\n"
        "m.padW = 2^32 + 1 pcall(m.forward, m, torch.rand(5, 1, 4, 4)) m.output:fill(1)\n"
        "return first ~= 0 or tostring(m.output:size()) ~= tostring(size)",
        "",
    ),
    "an index of a lookup": (
        "nn.LookupTable(3, 2):accGradParameters(torch.LongTensor{ 1, 2^40 }, torch.ones(2, 2))",
        "index",
    ),
    "a dimension of zero": ("torch.ones(3):index(0, torch.LongTensor{ 1 })", "out of bounds"),
    "a layer's number with metamethods": (
        "local m, x = nn.TemporalMaxPooling(2, 1), torch.randn(6, 4) local y = m:forward(x)\n"
        "local function some() return -100 end\n"
        "m.dW = setmetatable({}, { __mul = some, __mod = some, __add = some }) m:backward(x, y)",
        "cannot convert 'table' to 'int'",
    ),
    "a layer's number of 64 bits": (
        "local m, x = nn.TemporalMaxPooling(2, 1), torch.randn(5, 4) local y = m:forward(x)\n"
        "m.dW = 0xAAAAAAAAAAAAAAABULL m:backward(x, y)",
        "cannot convert 'cdata' to 'int'",
    ),
    "a layer's number that calls back": (
        "local m, x = nn.SpatialCrossMapLRN(3), torch.rand(3, 6, 6)\n"
        "m.k = setmetatable({}, { __add = function() collectgarbage() return 1 end }) m:forward(x)",
        "number expected, got table",
    ),
    "noise that is smaller than the input": (
        "local m, x, real = nn.RReLU(), torch.ones(100), torch.ones(1)\n"
        "m.noise = { resizeAs = function() return real end } m:forward(x)",
        "noise of the type and sizes",
    ),
    "an address by torch.pointer": ("return torch.pointer({}) > 2 ^ 20", ""),
    "an address of a file": ("return tostring(io.stdout):find('0x')", ""),
    "an address of a table": ("return tonumber(tostring({}):match('0x(%x+)'), 16) > 2 ^ 20", ""),
    "an address of a function": (
        "return tonumber(tostring(function() end):match('0x(%x+)'), 16) > 2 ^ 20",
        "",
    ),
    "an address of a thread": (
        "local text = ('%s'):format(coroutine.create(print))\n"
        "return tonumber(text:match('0x(%x+)'), 16) > 2 ^ 20",
        "",
    ),
    "an address by %p": ("return tonumber(('%-20p'):format({}):match('0x(%x+)'), 16) > 2 ^ 20", ""),
    "an address of a string": ("return tonumber(('%p'):format('text'):match('0x(%x+)'), 16) > 2 ^ 20", ""),
    "addresses in a traceback": (
        "local _, text = xpcall(function() table.sort({ 3, 2, 1 }, function() error() end) end,"
        " function() return debug.traceback() .. debug.traceback(coroutine.create(print)) end)\n"
        "return text:find('0x%x%x')",
        "",
    ),
    "gsub within its callbacks": (
        "local function again() return (('a'):gsub('a', again)) end again()",
        "C stack overflow",
    ),
    "gsub within its callbacks and coroutines": (
        "local function within() return (('a'):gsub('a', again)) end\n"
        "function again() return coroutine.wrap(within)() end again()",
        "C stack overflow",
    ),
    "a sort within its comparisons": (
        "local function again() table.sort({ 1, 2 }, again) end again()",
        "stack overflow",
    ),
    "a kernel of functions": ("nn.SpatialMaxPooling(print, {}):forward(torch.rand(1, 4, 4))", ""),
    # Lua itself
    "an oversized pattern": ("return (('a'):rep(3e5)):find(('a?'):rep(3e5) .. 'b')", "pattern too complex"),
    "an oversized format": ("return ('%99999d'):format(1)", "invalid"),
    "debug.setmetatable": ("debug.setmetatable(1, {})", "debug.setmetatable"),
    "a hostile __tostring": (
        "print(setmetatable({}, { __tostring = function() error('inside') end }))",
        "inside",
    ),
    "a hostile __len": (
        "local t = setmetatable({ 1, 2 }, { __len = function() return 1e6 end }) return "
        "torch.Tensor(t):nElement() > 2",
        "",
    ),
}

# Attempts that may end in an error or in nothing.
EITHER = {
    "a dead generator from the keys of a weak table",
    "64-bit literals as an index",
    "an expansion beyond memory",
    "many dimensions",
    "a deserialised function",
    "half a size",
    "an index that changes the tensor",
    "a kernel of functions",
}


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    tries = "\n".join(f"try({name!r}, function() {code} end)" for name, (code, _) in ATTEMPTS.items())
    script = f"""
        local say, pcall, tostring = print, pcall, tostring
        local answers = {{}}
        local function try(name, f)
           local ok, result = pcall(f)
           result = not ok and 'error: ' .. tostring(result) or result and 'DONE ' .. tostring(result)
           answers[name] = result or ''
        end
        {tries}
        return answers
    """
    outcome, _ = sandboxed(Path(tmp_path_factory.mktemp("attempts")), script)
    assert (outcome.exit_code, outcome.message) == (0, "")
    (found,) = outcome.values
    return {name: found[name] for name in ATTEMPTS}


@pytest.mark.parametrize("name", ATTEMPTS)
def test_attempt(name: str, answers: dict[str, str]) -> None:
    named = ATTEMPTS[name][1]
    if name in EITHER:
        assert not answers[name].startswith("DONE")
    elif named:
        assert answers[name].startswith("error: ") and named in answers[name]
    else:
        assert answers[name] == ""
