-- Tensors of few elements, computed here: a call of Python and the views made for it cost as much as thousands of
-- additions. A tensor may lie in memory in any way that three loops can follow.
local math = require('th.own').math
local ffi = require 'ffi'
local memory = require 'torch.memory'
local apart = require 'torch.apart'
local compiled = require 'torch.compiled'
local signs = require 'torch.signs'
local truncation = require 'torch.truncation'
local types = require 'torch.types'
local vectors = require 'torch.vectors'
local library = require 'torch.library'

local count, is_contiguous, same_size = memory.count, memory.is_contiguous, memory.same_size
local may_overlap, first_element = apart.may_overlap, memory.first_element

ffi.cdef 'double fmod(double, double)'
local fmod = ffi.C.fmod -- LuaJIT does not compile its own

local few = {}

-- As many elements cost about as much in Python as here.
few.LIMIT = 2048

-- Functions such as exp cost Lua ten times as much as an addition; PyTorch has them for several elements at once.
few.LIMIT_OF_FUNCTIONS = 128

-- Whether n elements are few, or as many as PyTorch, which is not loaded yet, is not to be loaded for.
local function fits_for_now(n) return n <= few.LIMIT or few.LIMIT > 0 and library.saves_pytorch(n) end

-- Whether the n elements of r are few, and numbers that Lua computes with as Torch7 does.
local function small(r, n) return n <= few.LIMIT and r.T.real end
few.small = small

-- Whether they are few whole numbers.
local function small_whole(r, n) return n <= few.LIMIT and r.T.whole end

-- The loops that go through tensors of the same sizes together, the innermost first: turns, and for each tensor the
-- steps between its elements. Neighbouring dimensions that lie in memory like one become one.
local turns, steps1, steps2, steps3 = { 1, 1, 1 }, { 0, 0, 0 }, { 0, 0, 0 }, { 0, 0, 0 }

local function plan(r, t, s) -- whether three loops are enough
   local k = 0
   for d = 2 * r.nd - 1, 1, -2 do
      local n = r[d]
      if n ~= 1 then
         local a, b, c = r[d + 1], t[d + 1], s[d + 1]
         local inner = k > 0 and turns[k]
         if inner and a == steps1[k] * inner and b == steps2[k] * inner and c == steps3[k] * inner then
            turns[k] = inner * n
         else
            k = k + 1
            if k > 3 then return false end
            turns[k], steps1[k], steps2[k], steps3[k] = n, a, b, c
         end
      end
   end
   for rest = k + 1, 3 do turns[rest], steps1[rest], steps2[rest], steps3[rest] = 1, 0, 0, 0 end
   return true
end

-- A contiguous tensor seen with the sizes of another of as many elements.
local function reshaped(t, like)
   local view, stride = { T = t.T, S = t.S, off = t.off, nd = like.nd }, 1
   for d = 2 * like.nd - 1, 1, -2 do
      view[d], view[d + 1] = like[d], stride
      stride = stride * like[d]
   end
   return view
end

local function as_like(x, like) return same_size(x, like) and x or is_contiguous(x) and reshaped(x, like) end

-- The same for tensors of n elements each, of which those that have other sizes are contiguous.
local function plan_all(r, t, s, n)
   if same_size(r, t) and same_size(r, s) then return plan(r, t, s) end
   if count(t) ~= n or count(s) ~= n then return false end
   local like = not is_contiguous(r) and r or not is_contiguous(t) and t or s
   local p, q, u = as_like(r, like), as_like(t, like), as_like(s, like)
   return p and q and u and plan(p, q, u)
end

-- Rows of neighbouring elements that lie apart are put one after the other first: LuaJIT enters a loop anew for each row,
-- which costs more than copying it. Rooms for that, by type and tensor.
local BLOCK = 8 -- elements of a row; fewer are as fast one by one
local ROWS = 8192 -- elements; so many new views cost about as much in Python as here
local rooms = {}
local function room(T, which)
   local key = 4 * T.code + which
   if not rooms[key] then
      local array = ffi.new(T.array, ROWS)
      rooms[key] = { pointer = ffi.cast(T.pointer, array), array = array }
   end
   return rooms[key].pointer
end

local function gather(T, which, p, step2, step3)
   local copied, at, n1, n2, n3 = room(T, which), 0, turns[1], turns[2], turns[3]
   local bytes = n1 * T.size
   for i3 = 0, n3 - 1 do
      for i2 = 0, n2 - 1 do
         ffi.copy(copied + at, p + (i3 * step3 + i2 * step2), bytes)
         at = at + n1
      end
   end
   return copied
end

local function scatter(T, copied, p, step2, step3)
   local at, n1, n2, n3 = 0, turns[1], turns[2], turns[3]
   local bytes = n1 * T.size
   for i3 = 0, n3 - 1 do
      for i2 = 0, n2 - 1 do
         ffi.copy(p + (i3 * step3 + i2 * step2), copied + at, bytes)
         at = at + n1
      end
   end
end

-- The elements of a tensor that `plan` has gone through, one after the other: where they are if they lie so already, or in a room,
-- copied if they will be read.
local function together(T, which, p, step2, step3, is_read)
   local n1, n2 = turns[1], turns[2]
   if (n2 == 1 or step2 == n1) and (turns[3] == 1 or step3 == n1 * n2) then return p end
   return is_read and gather(T, which, p, step2, step3) or room(T, which)
end

-- Whether all three lie in rows, each of r's for itself.
local function in_rows(n)
   local n1, n2, a2 = turns[1], turns[2], steps1[2]
   return n1 >= BLOCK and n <= ROWS and steps1[1] == 1 and steps2[1] == 1 and steps3[1] == 1
      and (n2 == 1 or a2 >= n1) and (turns[3] == 1 or steps1[3] >= a2 * n2)
end

local LOOPS = [[
   local first_element, in_rows, room, together, scatter, few, plan_all, is_contiguous, turns, steps1, steps2, steps3, tobit, abs, sqrt, floor, ceil, exp, log, sin, cos,
      tanh, fmod, band, bor, bxor, lshift, rshift = ...
   return function(r, t, s, v, n, read_x, read_y, result, may_be_many, in_one_piece)
      local p, q, u = first_element(r), first_element(t), first_element(s)
      if is_contiguous(r) and (t == r or is_contiguous(t)) and (s == t or is_contiguous(s)) then
         if in_one_piece and in_one_piece(r.T, p, q, u, n, v, result) then return true, result end
         for i = 0, n - 1 do
            local a, b, c = i, i, i
            BODY
         end
         return true, result
      end
      if not plan_all(r, t, s, n) then return false end
      local n1, n2, n3 = turns[1], turns[2], turns[3]
      local a1, a2, a3 = steps1[1], steps1[2], steps1[3]
      local b1, b2, b3 = steps2[1], steps2[2], steps2[3]
      local c1, c2, c3 = steps3[1], steps3[2], steps3[3]
      if in_rows(n) then
         local to = p
         q = together(t.T, 2, q, b2, b3, true)
         u = s == t and q or together(s.T, 3, u, c2, c3, true)
         p = together(r.T, 1, p, a2, a3, READS)
         if not (in_one_piece and in_one_piece(r.T, p, q, u, n, v, result)) then
            for i = 0, n - 1 do
               local a, b, c = i, i, i
               BODY
            end
         end
         if WRITES and p ~= to then scatter(r.T, p, to, a2, a3) end
         return true, result
      end
      if n > few.LIMIT and not may_be_many then return false end
      for i3 = 0, n3 - 1 do
         for i2 = 0, n2 - 1 do
            local a, b, c = i3 * a3 + i2 * a2, i3 * b3 + i2 * b2, i3 * c3 + i2 * c2
            for _ = 1, n1 do
               BODY
               a, b, c = a + a1, b + b1, c + c1
            end
         end
      end
      return true, result
   end
]]

-- A function(r, t, s, v, n, read_x, read_y, result, may_be_many) of records with n elements each: runs `body` for each element,
-- which is p[a] of r, X of t and Y of s; v and w: numbers. Gives whether it could, and result. may_be_many: also where elements of
-- more than LIMIT lie apart. in_one_piece: nil, or what may compute the same of elements that lie one after the other, and gives whether it has.
local function loops(body)
   body = body:gsub('%f[%w]X%f[%W]', 'read_x(q, b)'):gsub('%f[%w]Y%f[%W]', 'read_y(u, c)')
   local parts = { BODY = body, READS = tostring(body:find('read_[xy]%(p') ~= nil),
      WRITES = tostring(body:find('%f[%w]p%f[%W]') ~= nil) }
   return compiled.from_text(LOOPS:gsub('%u%u%u%u+', parts), 'torch.few')(first_element, in_rows, room, together, scatter, few, plan_all, is_contiguous,
      turns, steps1, steps2, steps3, bit.tobit, math.abs, math.sqrt, math.floor, math.ceil, math.exp, math.log, math.sin,
      math.cos, math.tanh, fmod, bit.band, bit.bor, bit.bxor, bit.lshift, bit.rshift)
end

-- Whole numbers are computed with as C does: in 64 bits, of which as many as there is room for are kept.
local function read_whole(p, i) return p[i] + 0LL end
local function whole(v) return v and v + 0LL end

-- The same loop over tensors in one piece whose elements are all finite, which may be read as they are: four at a time. An
-- expression's function(p, q, u, n, v, w), for each size on its own: traces are for one type of memory.
local FEWEST_PLAIN = 512 -- elements; to find fewer finite costs as much as it saves
local PLAIN = [[
   local abs, sqrt, floor, ceil, min, max, fmod, tonumber = ...
   return function(p, q, u, n, v, w)
      for i = 0, n - 4, 4 do
         FOUR
      end
      for i = n - n % 4, n - 1 do
         ONE
      end
   end
]]

-- What computes an expression of elements that lie next to each other, as many as given, from p[i] on; read: how they are read. All are read before any is
-- computed: each is then in a register of its own, and none waits for another (a root does, where it is written over another).
local function plain_elements(expression, n, read)
   local lines, targets, values = {}, {}, {}
   for k = 0, n - 1 do
      targets[k + 1] = ('p[i + %d]'):format(k)
      values[k + 1] = expression:gsub('%f[%w][XYP]%f[%W]', { X = 'x' .. k, Y = 'y' .. k, P = 'r' .. k })
      for name, place in pairs{ X = 'x%d = READ(q[i + %d])', Y = 'y%d = READ(u[i + %d])', P = 'r%d = READ(p[i + %d])' } do
         if expression:find('%f[%w]' .. name .. '%f[%W]') then lines[#lines + 1] = 'local ' .. place:gsub('READ', read):format(k, k) end
      end
   end
   lines[#lines + 1] = table.concat(targets, ', ') .. ' = ' .. table.concat(values, ', ')
   return table.concat(lines, '\n')
end

local function plain_loops(expression, keys, read)
   return compiled.for_each(keys, function()
      local parts = { FOUR = plain_elements(expression, 4, read), ONE = plain_elements(expression, 1, read) }
      return compiled.from_text(PLAIN:gsub('%u%u%u+', parts), 'torch.few')(math.abs, math.sqrt, math.floor, math.ceil, math.min, math.max, fmod, tonumber)
   end)
end

-- The same of whole numbers that are doubles, by the codes of their types in main memory.
local whole_codes = {}
for code = 1, types.count do
   if types[code].whole and types[code].host == types[code] then whole_codes[#whole_codes + 1] = code end
end
local function whole_loops(expression)
   local loops_of = plain_loops(expression, whole_codes, 'tonumber')
   return function(r, t, s, v, n, w)
      local T, p, q, u = r.T, first_element(r), first_element(t), first_element(s)
      if not (truncation.are_doubles(T, q, n) and (s == t or truncation.are_doubles(T, u, n))) then return false end
      loops_of(T.host.code)(p, q, u, n, v, w)
      return true
   end
end

-- Whether the n numbers of type T at p and those at q, which may be the same, are known to be finite; the same of all elements of two
-- tensors of as many, in one piece, or of one given twice (torch/blas.lua, which needs this file, has both).
function few.are_finite() return false end
function few.reads_plainly() return false end

-- expression of X, Y, the numbers v and w and P, what r holds -> function(r, t, s, v, n, w): the elements of r become it, in
-- the order they lie in memory or that of their indices. Gives false, with nothing done, where that is for Python.
-- for_whole: also for whole numbers; most: how often LIMIT real numbers may be (2), or 'LIMIT_OF_FUNCTIONS', or 'SAME_BITS' (2, and more
-- before PyTorch is loaded, which gives the same bits); plain: what is the same of finite elements, and one of those or of v and w where they
-- are whole numbers, without branches.
function few.pointwise(expression, for_whole, most, plain)
   local times = tonumber(most) or 2
   local for_functions, same_bits = most == 'LIMIT_OF_FUNCTIONS', most == 'SAME_BITS'
   local reads_t, reads_s = expression:find('%f[%w]X%f[%W]') ~= nil, expression:find('%f[%w]Y%f[%W]') ~= nil
   local reads_r = expression:find('%f[%w]P%f[%W]') ~= nil
   local loops_of = (reads_t or reads_s) and not for_functions and plain_loops(plain or expression, types.real_sizes, '')
   expression = expression:gsub('%f[%w]w%f[%W]', 'result'):gsub('%f[%w]P%f[%W]', 'read_x(p, a)')
   local run = loops('p[a] = ' .. expression)
   local run_whole = for_whole and loops('p[a] = ' .. expression) -- traces of its own
   local run_whole_plainly = for_whole and plain and whole_loops(plain)
   local function lie_in_one_piece(r, t, s) return is_contiguous(r) and (t == r or is_contiguous(t)) and (s == t or is_contiguous(s)) end
   local function compute_plainly(T, p, q, u, n, v, w)
      if not few.are_finite(T, n, reads_t and q or u, reads_s and u or q) then return false end
      if reads_r and not few.are_finite(T, n, p, p) then return false end
      loops_of(T.size)(p, q, u, n, v, w)
      return true
   end
   return function(r, t, s, v, n, w)
      if t.T ~= r.T or s.T ~= r.T or may_overlap(r, t) or may_overlap(r, s) then return false end
      if r.T.real then
         local fits = n <= (for_functions and few.LIMIT_OF_FUNCTIONS or times * few.LIMIT) or same_bits and fits_for_now(n)
         local in_parts = not for_functions and few.LIMIT > 0 and n <= ROWS and not is_contiguous(r)
         return (fits or in_parts) and run(r, t, s, v, n, t.T.get, s.T.get, w, same_bits and fits, loops_of and n >= FEWEST_PLAIN and compute_plainly)
      end
      if not (run_whole and r.T.whole and fits_for_now(n)) then return false end
      if run_whole_plainly and lie_in_one_piece(r, t, s) and run_whole_plainly(r, t, s, v, n, w) then return true end
      return run_whole(r, t, s, whole(v), n, read_whole, read_whole, whole(w), true)
   end
end

-- Functions that are C's, as Torch7's are, for very few elements (PyTorch's may differ in the last bit), and PyTorch's for
-- more: function(r, t, t, nil, n) for each name, as few.pointwise makes them.
few.functions = {}

-- Text that is 1 where an expression of finite numbers is above zero, else 0: without a branch, which a processor guesses where it is
-- as good as random.
function few.gate(expression) return ('min(1, max(0, (%s) * 1e308 * 1e308))'):format(expression) end

-- condition of X, Y and the number v -> function(r, t, s, v, n): the elements of r become 1 where it holds, else 0.
function few.comparison(condition)
   local run = loops(('p[a] = (%s) and 1 or 0'):format(condition))
   local loops_of = signs.comparison(condition:match('^X ([<>=~]+) ([Yv])$'))
   return function(r, t, s, v, n)
      local R, T = r.T, t.T
      if s.T ~= T or not (T.real or T.whole) or not (R.real or R.whole) then return false end
      if may_overlap(r, t) or may_overlap(r, s) or not fits_for_now(n) then return false end
      if T.real and R.host == types.Byte and n >= FEWEST_PLAIN and is_contiguous(r) and is_contiguous(t) and (s == t or is_contiguous(s))
         and (v == nil or v - v == 0) and few.reads_plainly(t, s) then
         local target = first_element(r)
         local p = n <= ROWS and room(R, 1) or target -- new memory is slow to write byte by byte
         loops_of(T.size)(p, first_element(t), first_element(s), n, v)
         if p ~= target then ffi.copy(target, p, n) end
         return true
      end
      return run(r, t, s, v, n, T.get, T.get, nil, true)
   end
end

-- Makes the elements of r the number v where those of the mask m, bytes of as many elements, are not 0; false as above.
local fill_reals, fill_wholes = loops('p[a] = X ~= 0 and v or read_y(p, a)'), loops('p[a] = X ~= 0 and v or read_y(p, a)')
local function read_byte(p, i) return p[i] end
function few.fill_where(r, m, v, n)
   if not m.T.whole or may_overlap(r, m) then return false end
   if small(r, n) then return fill_reals(r, m, m, v, n, read_byte, r.T.get) end
   return small_whole(r, n) and fill_wholes(r, m, m, whole(v), n, read_byte, read_whole)
end

-- statement that updates `result` from X and Y, and perhaps v -> function(t, s, start, v): the result over all elements, or nil.
-- for_whole: also for whole numbers; for_floats: also for many floats, which Torch7, too, adds up as doubles, in their order.
local MOST_FLOATS = 2 ^ 20
function few.reduction(statement, for_whole, for_floats)
   local run = loops(statement)
   local function is_for_lua(T, t, n)
      return small(t, n) or for_whole and T.whole and fits_for_now(n) or for_floats and T.real and T.size < 8 and n <= MOST_FLOATS and few.LIMIT > 0
   end
   return function(t, s, start, v)
      local n = count(t)
      if n == 0 or s.T ~= t.T or count(s) ~= n then return nil end
      if not is_for_lua(t.T, t, n) then return nil end
      local done, result = run(t, t, s, v, n, t.T.get, s.T.get, start)
      if done then return result end
   end
end

local function read(p, i) return p[i] end

-- The loops as copies of blocks of bytes, for tensors of one type that have such blocks.
local COPIED_AT_ONCE = 2 ^ 18 -- bytes; from there on several threads are faster

-- Whether r and t, of the same sizes, are `turns` of blocks of turns[1] neighbouring elements that are worth it.
local function in_blocks(r, t)
   if not (same_size(r, t) and plan(r, t, t)) then return false end
   local n2, n3 = turns[2], turns[3]
   return steps1[1] == 1 and steps2[1] == 1 and turns[1] >= BLOCK and n2 * n3 <= few.LIMIT
end

local function copy_blocks(r, t, n)
   local size = r.T.size
   if n * size > COPIED_AT_ONCE and not fits_for_now(n) then return false end
   local p, q = r.S.p + r.off, t.S.p + t.off
   if is_contiguous(r) and is_contiguous(t) then
      ffi.copy(p, q, n * size)
      return true
   end
   if not in_blocks(r, t) then return false end
   local block, n2, n3 = turns[1], turns[2], turns[3]
   local a2, a3, b2, b3 = steps1[2], steps1[3], steps2[2], steps2[3]
   for i3 = 0, n3 - 1 do
      for i2 = 0, n2 - 1 do ffi.copy(p + (i3 * a3 + i2 * a2), q + (i3 * b3 + i2 * b2), block * size) end
   end
   return true
end

-- r = a function of each of the n elements of t, as torch/vectors.lua has it, where there are many; false as above.
local function function_of_blocks(name, r, t, n)
   if n <= few.LIMIT_OF_FUNCTIONS or r.T ~= t.T or may_overlap(r, t) then return false end
   local f = vectors.routine(r.T, name, n)
   if not f then return false end
   local p, q = r.S.p + r.off, t.S.p + t.off
   if is_contiguous(r) and is_contiguous(t) then
      f(p, q, n)
      return true
   end
   if not in_blocks(r, t) then return false end
   local block, n2, n3 = turns[1], turns[2], turns[3]
   local a2, a3, b2, b3 = steps1[2], steps1[3], steps2[2], steps2[3]
   for i3 = 0, n3 - 1 do
      for i2 = 0, n2 - 1 do f(p + (i3 * a3 + i2 * a2), q + (i3 * b3 + i2 * b2), block) end
   end
   return true
end

for _, name in ipairs{ 'exp', 'log', 'sin', 'cos', 'tanh' } do
   local compute = few.pointwise(name .. '(X)', false, 'LIMIT_OF_FUNCTIONS')
   few.functions[name] = function(r, t, _, _, n)
      return compute(r, t, t, nil, n) or function_of_blocks(name, r, t, n)
   end
end

-- 1 / (1 + exp(-X)) in three steps, for r that has each element for itself.
local TIMES = 8 -- LIMIT: as many as torch/vectors.lua has
local negative, of_exponential = few.pointwise('-X', false, TIMES), few.pointwise('1 / (1 + X)', false, TIMES)
local function sigmoid_of_many(r, t, n)
   if few.LIMIT_OF_FUNCTIONS == 0 or r.T ~= t.T or not vectors.routine(r.T, 'exp', n) then return false end
   if not is_contiguous(r) then
      if not in_blocks(r, r) then return false end
      local block, n2, a2, n3, a3 = turns[1], turns[2], steps1[2], turns[3], steps1[3]
      if not ((n2 == 1 or a2 >= block) and (n3 == 1 or a3 >= a2 * n2)) then return false end
   end
   return negative(r, t, t, nil, n) and function_of_blocks('exp', r, r, n) and of_exponential(r, r, r, nil, n)
end

local sigmoid = few.pointwise('1 / (1 + exp(-X))', false, 'LIMIT_OF_FUNCTIONS')
function few.functions.sigmoid(r, t, _, _, n) return sigmoid(r, t, t, nil, n) or sigmoid_of_many(r, t, n) end

-- Makes the n elements of r those of t; false, with nothing done, where that is for Python.
local copy_loops = loops('p[a] = X')
local set_loops = {} -- by the type written: traces of its own for each

local function make_set_loop(R)
   local run = loops('result(p, a, X)')
   set_loops[R] = function(r, t, s, v, n, get) return run(r, t, s, v, n, get, nil, R.set, true) end
end

compiled.on_first_use(function()
   for code = 1, types.count do
      if types[code].whole then make_set_loop(types[code]) end
   end
end)

function few.copy(r, t, n)
   local R, T = r.T, t.T
   if not (R.here and T.here) or may_overlap(r, t) then return false end
   if not same_size(r, t) then
      local r_contiguous, t_contiguous = is_contiguous(r), is_contiguous(t)
      if t_contiguous and not r_contiguous then t = reshaped(t, r)
      elseif r_contiguous and not t_contiguous then r = reshaped(r, t) end
   end
   if R.host == T.host and copy_blocks(r, t, n) then return true end
   if not fits_for_now(n) then return false end
   if R.host == T.host then return copy_loops(r, t, t, nil, n, R.real and T.get or read, nil, nil, true) end
   if R.whole and T.whole then return copy_loops(r, t, t, nil, n, read, nil, nil, true) end
   -- Whole numbers of 64 bits as float would be rounded twice.
   if R.real and (T.real or T.whole and not (T.size == 8 and R.size == 4)) then
      return copy_loops(r, t, t, nil, n, T.get, nil, nil, true)
   end
   if is_contiguous(r) and is_contiguous(t) and truncation.convert(R, T, first_element(r), first_element(t), n) then return true end
   if R.whole and T.real then
      if not set_loops[R] then make_set_loop(R) end
      return set_loops[R](r, t, t, nil, n, T.get)
   end
   return false
end

-- Makes all elements of r zero; false as above.
function few.zero(r, n)
   local bytes = n * r.T.size
   if not r.T.here or not is_contiguous(r) or bytes > COPIED_AT_ONCE and not fits_for_now(n) then return false end
   ffi.fill(r.S.p + r.off, bytes)
   return true
end

-- Makes all elements of r a value; false as above. What is written once is copied, twice as much each time.
local fill_loops = few.pointwise('v', true, 'SAME_BITS')
function few.fill(r, v, n)
   local T = r.T
   local may = n > BLOCK and (T.real or T.whole) and is_contiguous(r)
   if not may or n * T.size > COPIED_AT_ONCE and not fits_for_now(n) then
      return fill_loops(r, r, r, v, n)
   end
   local p, size, done = r.S.p + r.off, T.size, BLOCK
   for i = 0, BLOCK - 1 do p[i] = v end
   while done < n do
      local more = done < n - done and done or n - done
      ffi.copy(p + done, p, more * size)
      done = done + more
   end
   return true
end

-- The index p[k], which was found to be one of 1 (or `first`) to last before: the memory that is written may be its own.
function few.place(p, k, last, first)
   local at = tonumber(p[k])
   if at >= (first or 1) and at <= last then return at end
   error('an index that lies where a result is written became invalid', 0)
end

-- The steps of a matrix from row to row and from column to column; a vector is a column.
local function steps(m)
   if m.nd == 2 then return m[2], m[4] end
   return m[2], 0
end

-- Short rows are added up without a loop: LuaJIT enters one anew each time, which costs as much as ten products.
local function sum_of_products(get, q, at, step, u, other, other_step, n)
   local sum = 0
   if n > 4 then
      for _ = 1, n do
         sum = sum + get(q, at) * get(u, other)
         at, other = at + step, other + other_step
      end
      return sum
   end
   sum = sum + get(q, at) * get(u, other)
   if n > 1 then sum = sum + get(q, at + step) * get(u, other + other_step) end
   if n > 2 then sum = sum + get(q, at + 2 * step) * get(u, other + 2 * other_step) end
   if n > 3 then sum = sum + get(q, at + 3 * step) * get(u, other + 3 * other_step) end
   return sum
end

-- r = beta * t + alpha * the product of a and b: matrix and matrix, matrix and vector, or two vectors (the outer one).
-- t may be r; with beta 0 what it holds does not count. Gives false, with nothing done, where that is for Python.
function few.product(r, beta, t, alpha, a, b)
   local outer = a.nd == 1
   local rows, inner = a[1], outer and 1 or a[3]
   local columns = outer and b[1] or b.nd == 2 and b[3] or 1
   if rows * inner * columns > few.LIMIT or not r.T.real then return false end
   local r1, r2 = steps(r)
   local t1, t2 = steps(t)
   local a1, a2 = steps(a)
   local b1, b2 = steps(b)
   if outer then b1, b2 = 0, b1 end
   local get = r.T.get
   local p, s, q, u = r.S.p + r.off, t.S.p + t.off, a.S.p + a.off, b.S.p + b.off
   local i, j = 0, 0
   for _ = 1, rows * columns do
      -- BLAS does not look at factors that are multiplied by zero
      local sum = (alpha ~= 0 or outer) and alpha * sum_of_products(get, q, i * a1, a2, u, j * b2, b1, inner) or 0
      if beta ~= 0 then sum = sum + beta * get(s, i * t1 + j * t2) end
      p[i * r1 + j * r2] = sum
      j = j + 1
      if j == columns then i, j = i + 1, 0 end
   end
   return true
end

-- The same of each matrix in batches, where that is worth it (blas.batched_product is for more): Python's way is dear, but its
-- arithmetic is cheaper.
local WORK = 2 ^ 11 -- multiplications that cost about as much as the way; an element of the result costs four

local function first_matrix(batch)
   return { batch[3], batch[4], batch[5], batch[6], T = batch.T, S = batch.S, off = batch.off, nd = 2 }
end

function few.batched_product(r, beta, t, alpha, a, b)
   local n, rows, inner, columns = a[1], a[3], a[5], b[5]
   if n * rows * columns * (inner + 4) > WORK or rows * inner * columns > few.LIMIT or not r.T.real then return false end
   local p, s, q, u = first_matrix(r), first_matrix(t), first_matrix(a), first_matrix(b)
   for _ = 1, n do
      few.product(p, beta, s, alpha, q, u)
      p.off, s.off, q.off, u.off = p.off + r[2], s.off + t[2], q.off + a[2], u.off + b[2]
   end
   return true
end

return few
