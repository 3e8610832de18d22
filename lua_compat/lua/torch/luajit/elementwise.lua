-- Tensors of few elements, computed in LuaJIT: calling Python and creating the views for the call cost as much as
-- thousands of additions. A tensor may have any layout that three nested loops can traverse.
local ffi = require 'ffi'
local memory = require 'torch.core.memory'
local apart = require 'torch.core.overlap'
local templates = require 'torch.core.templates'
local signs = require 'torch.luajit.branchless_comparisons'
local truncation = require 'torch.luajit.truncation'
local types = require 'torch.core.types'
local vectors = require 'torch.luajit.vectors'
local library = require 'torch.core.library'
local no = require('torch.core.ways').no

local count, is_contiguous, same_size = memory.count, memory.is_contiguous, memory.same_size
local may_overlap, first_element, floor = apart.may_overlap, memory.first_element, math.floor

local has = templates.has

local few = {}

-- C's functions: fmod, which LuaJIT's own does not compile; pow, which LuaJIT may replace by products; log1p, which Lua
-- lacks. (A script may declare them, too, hence the other names.)
ffi.cdef [[
   double th_fmod(double, double) __asm__("fmod");
   double th_pow(double, double) __asm__("pow");
   double th_log1p(double) __asm__("log1p");
]]
few.log1p = ffi.C.th_log1p

local functions = templates.functions
functions.fmod, functions.pow, functions.log1p = ffi.C.th_fmod, ffi.C.th_pow, few.log1p

-- Up to this many elements, LuaJIT is about as fast as Python.
few.LIMIT = 2048

-- Functions such as exp cost Lua ten times as much as an addition; PyTorch vectorises them.
few.LIMIT_OF_FUNCTIONS = 128
few.STEPS_OF_FUNCTION = 8 -- as many multiplications take as long as an exponential

-- Whether a function of n elements is a loop: of few always, of more while loading the library would take longer.
local MOST_BEFORE_LOADING = 2 ^ 16
local function is_loop_of_function(n)
   local most = few.LIMIT_OF_FUNCTIONS
   return n <= most or most > 0 and n <= MOST_BEFORE_LOADING and not library.is_worth(few.STEPS_OF_FUNCTION * n)
end

-- Whether n elements are few, or few enough to avoid loading PyTorch.
local function fits_for_now(n)
   return n <= few.LIMIT or few.LIMIT > 0 and library.saves_pytorch(n) or no 'many elements'
end
few.fits_for_now = fits_for_now

-- Whether r's n elements are few, and numbers that Lua computes with as Torch7 does.
local function small(r, n) return n <= few.LIMIT and r.T.real end
few.small = small

-- The nested loops that traverse tensors of the same sizes together, innermost first: the number of iterations, and
-- each tensor's strides. Neighbouring dimensions that can be traversed as one are merged.
local turns, steps1, steps2, steps3 = { 1, 1, 1 }, { 0, 0, 0 }, { 0, 0, 0 }, { 0, 0, 0 }

local function plan(r, t, s) -- returns whether three loops suffice
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
            if k > 3 then return no 'elements that three loops cannot follow' end
            turns[k], steps1[k], steps2[k], steps3[k] = n, a, b, c
         end
      end
   end
   for rest = k + 1, 3 do turns[rest], steps1[rest], steps2[rest], steps3[rest] = 1, 0, 0, 0 end
   return true
end

-- Views a contiguous tensor with the sizes of another that has as many elements.
local function reshaped(t, like)
   local view, stride = { T = t.T, S = t.S, off = t.off, nd = like.nd }, 1
   for d = 2 * like.nd - 1, 1, -2 do
      view[d], view[d + 1] = like[d], stride
      stride = stride * like[d]
   end
   return view
end

-- x, or a view of it with like's sizes; nil if its elements are others, or apart.
local function as_like(x, like)
   if same_size(x, like) then return x end
   return is_contiguous(x) and count(x) == count(like) and reshaped(x, like) or nil
end

-- The same for tensors of n elements each; those with other sizes must be contiguous.
local function plan_all(r, t, s, n)
   if same_size(r, t) and same_size(r, s) then return plan(r, t, s) end
   if count(t) ~= n or count(s) ~= n then return no 'numbers of elements that differ' end
   local like = not is_contiguous(r) and r or not is_contiguous(t) and t or s
   local p, q, u = as_like(r, like), as_like(t, like), as_like(s, like)
   return p and q and u and plan(p, q, u)
end

-- Short contiguous rows are first copied into one buffer: LuaJIT enters a loop anew for each row, which costs more than
-- copying. So are elements that form no rows, if branch-free code will then be used. The scratch buffers, by type and
-- tensor.
local BLOCK = 8 -- elements of a row; shorter rows are as fast element by element
local ROWS = 8192 -- elements; above that, Python is about as fast
local rooms = {}
local function room(T, which)
   local key = 4 * T.code + which
   if not rooms[key] then
      local array = ffi.new(T.array, ROWS)
      rooms[key] = { pointer = ffi.cast(T.pointer, array), array = array }
   end
   return rooms[key].pointer
end

-- Copies q's elements to p's, with the first two of the three loops and the strides of both passed as arguments, four
-- elements at a time; the first of them first, because only then LuaJIT adds whole numbers to find the others. One
-- function for each element size: elements are handled as whole numbers, so that NaNs keep their bits.
local MOVE = [[
   return function(p, q, a, b, inner, outer)
      local n1, n2, n3 = turns[inner], turns[outer], turns[3]
      local a1, a2, a3, b1, b2, b3 = a[inner], a[outer], a[3], b[inner], b[outer], b[3]
      for i3 = 0, n3 - 1 do
         for i2 = 0, n2 - 1 do
            local to, from = i3 * a3 + i2 * a2, i3 * b3 + i2 * b2
            for _ = 1, n1 - 3, 4 do
               local x, $each(3){x@} = q[from], $each(3){q[from + (@ + 1) * b1]}
               p[to] = x
               $each(3, ;){p[to + (@ + 1) * a1] = x@}
               to, from = to + 4 * a1, from + 4 * b1
            end
            for _ = 1, n1 % 4 do
               p[to] = q[from]
               to, from = to + a1, from + b1
            end
         end
      end
   end
]]
local cells, move_of = types.cells, {}
for size in pairs(cells) do
   move_of[size] = templates.compile('torch.luajit.elementwise', MOVE, { turns = turns })
end

-- Runs the loops that `plan` has made, with strides a of p and b of q. The longer of the two inner loops becomes the
-- innermost.
local function move(T, p, q, a, b)
   local n1, n2, size = turns[1], turns[2], T.size
   if a[1] == 1 and b[1] == 1 and n1 >= BLOCK then
      local a2, a3, b2, b3 = a[2], a[3], b[2], b[3]
      for i3 = 0, turns[3] - 1 do
         for i2 = 0, n2 - 1 do ffi.copy(p + (i3 * a3 + i2 * a2), q + (i3 * b3 + i2 * b2), n1 * size) end
      end
      return
   end
   local pointer = cells[size]
   move_of[size](ffi.cast(pointer, p), ffi.cast(pointer, q), a, b, n1 < n2 and 2 or 1, n1 < n2 and 1 or 2)
end

-- The strides of contiguous elements.
local dense = { 1, 0, 0 }
local function one_after_the_other()
   dense[2], dense[3] = turns[1], turns[1] * turns[2]
   return dense
end

-- The elements of a tensor that `plan` has processed, contiguous: in place if they are already, else in a scratch
-- buffer. is_read: they are copied there.
local function together(T, which, p, steps, is_read)
   local n1, n2, s2, s3 = turns[1], turns[2], steps[2], steps[3]
   if steps[1] == 1 and (n2 == 1 or s2 == n1) and (turns[3] == 1 or s3 == n1 * n2) then return p end
   local moved = room(T, which)
   if is_read then move(T, moved, p, one_after_the_other(), steps) end
   return moved
end

-- Copies them back into the tensor.
local function scatter(T, moved, p) move(T, p, moved, steps1, one_after_the_other()) end

-- A pointer to the n elements of t in their order, contiguous and read-only: in place, or in scratch buffer 1, 2 or 3,
-- which is valid until its next use. nil if this way does not apply.
function few.in_one_piece(t, which, n)
   if is_contiguous(t) then return first_element(t) end
   if n > ROWS or few.LIMIT == 0 or not t.T.here or not plan(t, t, t) then return no 'many non-contiguous elements' end
   return together(t.T, which, first_element(t), steps1, true)
end

-- Whether all elements of r have memory of their own: each loop's stride exceeds the extent of the loops with smaller
-- strides.
local function reach(loop, other) -- the extent along `other`, if its stride is smaller
   local step = steps1[other]
   return step <= steps1[loop] and (turns[other] - 1) * step or 0
end
local function is_outside(loop, other, third)
   return turns[loop] == 1 or steps1[loop] > reach(loop, other) + reach(loop, third)
end
local function have_own_memory() return is_outside(1, 2, 3) and is_outside(2, 1, 3) and is_outside(3, 1, 2) end

-- Whether all three tensors consist of contiguous rows.
local function in_rows() return turns[1] >= BLOCK and steps1[1] == 1 and steps2[1] == 1 and steps3[1] == 1 end

-- The same for elements that will be written; also returns whether they have to be copied back.
function few.to_be_written(r, which, n)
   if is_contiguous(r) then return first_element(r), false end
   if n > ROWS or few.LIMIT == 0 or not r.T.here or not (plan(r, r, r) and have_own_memory()) then
      return no 'many elements that are not contiguous, or share memory'
   end
   local p = first_element(r)
   local moved = together(r.T, which, p, steps1, true)
   return moved, moved ~= p
end

-- Copies them back from there.
function few.put_back(r, moved)
   plan(r, r, r)
   scatter(r.T, moved, first_element(r))
end

-- Whether all three, of as many elements, are column-major matrices without gaps. Elementwise operations may traverse
-- them as contiguous memory, too.
local function is_turned(r) return r.nd == 2 and r[2] == 1 and r[4] == r[1] end
local function are_turned(r, t, s)
   return is_turned(r) and (t == r or is_turned(t) and t[1] == r[1]) and (s == t or is_turned(s) and s[1] == r[1])
end
few.are_turned = are_turned

-- Whether t's elements are contiguous, in whatever order.
function few.is_dense(t) return is_contiguous(t) or is_turned(t) end

-- t, or the record of a contiguous copy of its n elements in a scratch buffer; nil as above.
function few.contiguous(t, which, n)
   if is_contiguous(t) then return t end
   local p = few.in_one_piece(t, which, n)
   return p and reshaped({ T = t.T, S = { p = p }, off = 0 }, t)
end

-- The codes of up to three types in main memory, as one number.
local function key_of(R, T, S) return R.host.code + 16 * T.host.code + 256 * S.host.code end

-- All keys, by kind of loop: arithmetic in one type, comparisons, copies.
local keys_of = { computed = {}, compared = {}, copied = {} }
local function add_key(of, R, T, S) table.insert(keys_of[of], key_of(R, T, S)) end
for _, code in ipairs(types.codes_of_numbers) do
   local T = types[code]
   add_key('computed', T, T, T)
   add_key('compared', T, T, T)
   if T ~= types.Byte then add_key('compared', types.Byte, T, T) end
   for _, other in ipairs(types.codes_of_numbers) do add_key('copied', T, types[other], types[other]) end
end
add_key('copied', types.Half, types.Half, types.Half)

-- What expressions may use for the elements of three tensors: $x, $y and $r. LuaJIT computes in double precision;
-- $round(...) rounds as C does after each step in float (the result that is written is always rounded). Without
-- branches, which a processor mispredicts on random data, and for finite numbers only: $gate(...) is 1 if its argument
-- is above zero, else 0; $whole_part(...) keeps the sign of a zero (of two zeros, min and max return the second).
local function of_elements(T, x, y, r, further)
   return setmetatable({ x = x, y = y, r = r, round = T.real and T.size < 8 and 'to_float($1)' or '($1)',
      to_float = T.cast,
      gate = 'min(1, max(0, ($1) * 1e308 * 1e308))', whole_part = 'max(floor($1), min(0, ceil($1)))' },
         { __index = further })
end

local LOOPS = [[
   local function loop(r, t, s, v, n, result, may_be_many, in_one_piece)
      local p, q, u = first_element(r), first_element(t), first_element(s)
      local to, is_moved, in_order = p, false, is_contiguous(r) and (t == r or is_contiguous(t))
         and (s == t or is_contiguous(s)) or $writes and are_turned(r, t, s)
      if not in_order then
         if not plan_all(r, t, s, n) then
            if n > few.LIMIT and not may_be_many then return no 'elements that three loops cannot follow' end
            return by_slices(loop, r, t, s, v, n, result, may_be_many, in_one_piece)
         end
         in_order = n <= $rows and (in_one_piece or in_rows()) and (not $writes or have_own_memory())
         if in_order then
            q = together(t.T, 2, q, steps2, true)
            u = s == t and q or together(s.T, 3, u, steps3, true)
            p = together(r.T, 1, p, steps1, $reads)
            is_moved = $writes and p ~= to
         end
      end
      if in_order then
         if not (in_one_piece and in_one_piece(t.T, p, q, u, n, v, result)) then
            for i = 0, n - 1 do
               local a, b, c = i, i, i
               $body
            end
         end
         if is_moved then scatter(r.T, p, to) end
         return true, result
      end
      if n > few.LIMIT and not may_be_many then return no 'many non-contiguous elements' end
      local n1, n2, n3 = turns[1], turns[2], turns[3]
      local a1, a2, a3 = steps1[1], steps1[2], steps1[3]
      local b1, b2, b3 = steps2[1], steps2[2], steps2[3]
      local c1, c2, c3 = steps3[1], steps3[2], steps3[3]
      for i3 = 0, n3 - 1 do
         for i2 = 0, n2 - 1 do
            local a, b, c = i3 * a3 + i2 * a2, i3 * b3 + i2 * b2, i3 * c3 + i2 * c2
            for _ = 1, n1 do
               $body
               a, b, c = a + a1, b + b1, c + c1
            end
         end
      end
      return true, result
   end
   return loop
]]

-- Runs a loop for each slice of the outermost dimension, where three loops do not suffice for the whole. All slices
-- have one geometry, so it refuses the first or none.
local function outermost(x, d)
   local slice = { T = x.T, S = x.S, off = x.off, nd = x.nd - d }
   for k = 1, 2 * slice.nd do slice[k] = x[2 * d + k] end
   return slice
end

local function by_slices(loop, r, t, s, v, n, result, ...)
   if not (same_size(r, t) and same_size(r, s)) then return no 'sizes that differ, of elements that lie apart' end
   local d = 1
   while r[2 * d - 1] == 1 do d = d + 1 end
   local slices, x = r[2 * d - 1], outermost(r, d)
   local y = t == r and x or outermost(t, d)
   local z = s == t and y or outermost(s, d)
   for _ = 1, slices do
      local done
      done, result = loop(x, y, z, v, n / slices, result, ...)
      if not done then return false end
      x.off = x.off + r[2 * d]
      if y ~= x then y.off = y.off + t[2 * d] end
      if z ~= y then z.off = z.off + s[2 * d] end
   end
   return true, result
end

-- Whole numbers are computed as in C: in 64 bits, of which the low bits are kept.
local function whole(v) return v and v + 0LL end

local read = types.read
local function as_c_does(_, T) return T.get_as_c end
local function as_numbers(_, T) return T.get end

-- Returns a function(r, t, s, v, n, result, may_be_many, in_one_piece) of records with n elements each. It runs `body`
-- for each element, where p[a] is r's element, $x t's, $y s's, and $r the current value of r's; v and w are numbers. It
-- returns whether it could, and `result`. may_be_many: also for more than LIMIT elements that are not contiguous.
-- in_one_piece: nil, or a function that may compute the same for contiguous elements and returns whether it has. There
-- is one function for each key of types: traces are for one type of memory, and LuaJIT soon gives up when others occur.
-- reading(R, T): returns how elements of t are read, and of s if that differs.
local function loops(body, keys, reading)
   local loops_of = templates.for_each(keys, function(key)
      local R, T = types[key % 16], types[floor(key / 16) % 16]
      local read_x, read_y = reading(R, T)
      return templates.compile('torch.luajit.elementwise', LOOPS, { body = body, reads = has(body, 'r'),
         writes = body:find('%f[%w]p%f[%W]') ~= nil, rows = ROWS, few = few, no = no, by_slices = by_slices,
         first_element = first_element, in_rows = in_rows, are_turned = are_turned, together = together,
         scatter = scatter, have_own_memory = have_own_memory, plan_all = plan_all, is_contiguous = is_contiguous,
         turns = turns, steps1 = steps1, steps2 = steps2, steps3 = steps3 },
         of_elements(R, 'read_x(q, b)', 'read_y(u, c)', 'read_x(p, a)',
            { read_x = read_x, read_y = read_y or read_x, set = R.set }))
   end)
   return function(r, t, s, ...) return loops_of(key_of(r.T, t.T, s.T))(r, t, s, ...) end
end

-- The same loop for contiguous tensors whose elements are all finite, which can be read directly, four at a time. It
-- makes an expression's function(p, q, u, n, v, w), one for each element size: traces are for one type of memory.
local FEWEST_PLAIN = 512 -- elements; for fewer, the check for finite numbers costs as much as it saves
local PLAIN = 'return function(p, q, u, n, v, w) $fours(i) end'

local function plain_loops(expression, codes)
   -- All elements are read before any is computed. Each is then in its own register, and none waits for another (a root
   -- waits if its register holds an earlier one).
   local reading = {}
   for _, row in ipairs{ { 'x', 'q' }, { 'y', 'u' }, { 'r', 'p' } } do
      if has(expression, row[1]) then
         reading[#reading + 1] = ('$each($1, ;){local %s@ = $read(%s[i + @])};'):format(unpack(row))
      end
   end
   reading[#reading + 1] = '$each($1){p[i + @]} = $each($1){$expression}'
   local elements = table.concat(reading, '\n')
   return templates.for_each(codes, function(code)
      local T = types[code]
      return templates.compile('torch.luajit.elementwise', PLAIN, { elements = elements, expression = expression,
         read = T.whole and 'tonumber($1)' or '$1' }, of_elements(T, 'x@', 'y@', 'r@'))
   end)
end

-- Whether the n numbers of type T at p, and those at q (which may be p), are known to be finite; and the same for all
-- elements of two contiguous tensors with the same number of elements, or of one passed twice. luajit/blas.lua, which
-- requires this file, defines both.
function few.are_finite() return false end
function few.reads_plainly() return false end

-- An expression of $x, $y, the numbers v and w, and $r (r's current value) -> function(r, t, s, v, n, w), which sets
-- each element of r to it, in memory order or index order. Returns false, with nothing done, if Python has to compute.
-- for_whole: also for whole numbers. most: the limit for real numbers, as a multiple of LIMIT (default 2); or
-- 'LIMIT_OF_FUNCTIONS'; or 'SAME_BITS' (2, and more until PyTorch, which computes the same bits, is loaded), or the
-- same for 'QUOTIENTS', for which PyTorch is faster, or 'CHOICES' of one of two numbers, for which it is slower; or
-- 'OF_LAYER' (any: whoever calls has the limit). plain: an equivalent expression for finite elements, and for whole v
-- and w, without branches.
local OF_SAME_BITS = { SAME_BITS = 2, QUOTIENTS = 1, CHOICES = 32 }
function few.pointwise(expression, for_whole, most, plain)
   local same_bits, for_functions = OF_SAME_BITS[most], most == 'LIMIT_OF_FUNCTIONS'
   local times = same_bits or most == 'OF_LAYER' and math.huge or tonumber(most) or 2
   local reads_t, reads_s, reads_r = has(expression, 'x'), has(expression, 'y'), has(expression, 'r')
   local loops_of = (reads_t or reads_s) and not for_functions
      and plain_loops(plain or expression, for_whole and plain and types.codes_of_numbers or types.codes_of_reals)
   expression = expression:gsub('%f[%w]w%f[%W]', 'result')
   local run = loops('p[a] = ' .. expression, keys_of.computed, as_c_does)
   local function compute_plainly(T, p, q, u, n, v, w)
      if not few.are_finite(T, n, reads_t and q or u, reads_s and u or q) then return false end
      if reads_r and not few.are_finite(T, n, p, p) then return false end
      loops_of(T.host.code)(p, q, u, n, v, w)
      return true
   end
   local function compute_whole_plainly(T, p, q, u, n, v, w)
      if not (truncation.are_doubles(T, q, n) and (u == q or truncation.are_doubles(T, u, n))) then return false end
      loops_of(T.host.code)(p, q, u, n, tonumber(v), tonumber(w))
      return true
   end
   return function(r, t, s, v, n, w)
      if t.T ~= r.T or s.T ~= r.T then return no 'tensors of different types' end
      if may_overlap(r, t) or may_overlap(r, s) then return no 'a result that shares memory with what is read' end
      if r.T.real then
         local fits
         if for_functions then fits = is_loop_of_function(n)
         else fits = n <= times * few.LIMIT or same_bits and fits_for_now(n) end
         local in_parts = not for_functions and few.LIMIT > 0 and n <= ROWS and not is_contiguous(r)
         return (fits or in_parts or no 'many elements') and run(r, t, s, v, n, w, same_bits and fits, loops_of
            and n >= FEWEST_PLAIN and compute_plainly)
      end
      if not (for_whole and r.T.whole and fits_for_now(n)) then
         return no 'many whole numbers, or an operation on real numbers only'
      end
      return run(r, t, s, whole(v), n, whole(w), true, plain and compute_whole_plainly)
   end
end

-- Functions that use C's, as Torch7 does, for very few elements (PyTorch's may differ in the last bit), and PyTorch's
-- for more: function(r, t, t, nil, n) for each name, as few.pointwise makes them.
few.functions = {}

-- A condition on $x, $y and the number v -> function(r, t, s, v, n), which sets each element of r to 1 if it holds,
-- else 0.
function few.comparison(condition)
   local run = loops(('p[a] = (%s) and 1 or 0'):format(condition), keys_of.compared, as_c_does)
   local loops_of = signs.comparison(condition:match('^$x ([<>=~]+) (%$?[yv])$'))
   local function compare_plainly(T, p, q, u, n, v)
      if T.real and not few.are_finite(T, n, q, u) then return false end
      local written = n <= ROWS and room(types.Byte, 1) or p -- fresh memory is slow to write byte by byte
      loops_of(T.host.code)(written, q, u, n, v)
      if written ~= p then ffi.copy(p, written, n) end
      return true
   end
   return function(r, t, s, v, n)
      local R, T = r.T, t.T
      if s.T ~= T or not (T.real or T.whole) or not (R == T or R.host == types.Byte and R.here) then
         return no 'other types'
      end
      if may_overlap(r, t) or may_overlap(r, s) then return no 'a result that shares memory with what is read' end
      if not (few.LIMIT > 0 and R.host == types.Byte and n <= ROWS or fits_for_now(n)) then
         return no 'many elements'
      end
      if T.whole then
         v = whole(v)
      elseif n < FEWEST_PLAIN or v and v - v ~= 0 then
         return run(r, t, s, v, n, nil, true)
      end
      return run(r, t, s, v, n, nil, true, R.host == types.Byte and compare_plainly)
   end
end

-- A statement that updates `result` from $x and $y, and perhaps v -> function(t, s, start, v): the result over all
-- elements, or nil. for_whole: also for whole numbers; 'IN_64_BITS': computed as in C. for_many: also for many real
-- numbers: 'FLOATS' (which Torch7, too, adds up in order, as doubles), 'REALS' (floats and doubles), or 'SAME_BITS'
-- (until PyTorch, which computes the same bits, is loaded), or 'OF_LAYER' (until PyTorch is loaded); or for many whole
-- numbers: 'WHOLE'.
local MOST_IN_ORDER = 2 ^ 20
function few.reduction(statement, for_whole, for_many)
   local same_bits, of_layer, in_64_bits = for_many == 'SAME_BITS', for_many == 'OF_LAYER', for_whole == 'IN_64_BITS'
   local run = loops(statement, keys_of.computed, in_64_bits and as_c_does or as_numbers)
   local of_wholes = for_many == 'WHOLE'
   local largest = for_many == 'FLOATS' and 4 or for_many == 'REALS' and 8 or 0 -- bytes of an element
   local function is_for_lua(T, t, n)
      return small(t, n) or (for_whole and T.whole or (same_bits or of_layer) and T.real) and fits_for_now(n)
         or (T.real and T.size <= largest or T.whole and of_wholes) and n <= MOST_IN_ORDER and few.LIMIT > 0
   end
   return function(t, s, start, v)
      local n, T = count(t), t.T
      if n == 0 or s.T ~= T or count(s) ~= n then return no 'other types, or no elements' end
      if not is_for_lua(T, t, n) then return no 'many elements' end
      if in_64_bits and T.whole then
         local done, result = run(t, t, s, v, n, whole(start), same_bits)
         return done and tonumber(result) or nil
      end
      local done, result = run(t, t, s, v, n, start, same_bits)
      if done then return result end
   end
end

-- The loops as copies of blocks of bytes, for tensors of one type that consist of such blocks.
local COPIED_AT_ONCE = 2 ^ 18 -- bytes; above that, several threads are faster

-- Whether r and t, of the same sizes, consist of blocks of turns[1] contiguous elements that are long enough.
local function in_blocks(r, t)
   if not (same_size(r, t) and plan(r, t, t)) then return no 'elements that form no blocks' end
   local n2, n3 = turns[2], turns[3]
   return steps1[1] == 1 and steps2[1] == 1 and turns[1] >= BLOCK and n2 * n3 <= few.LIMIT
end

local function copy_blocks(r, t, n)
   local size = r.T.size
   if n * size > COPIED_AT_ONCE and not fits_for_now(n) then return no 'many elements' end
   local p, q = r.S.p + r.off, t.S.p + t.off
   if is_contiguous(r) and is_contiguous(t) then
      ffi.copy(p, q, n * size)
      return true
   end
   if not in_blocks(r, t) then return no 'elements that form no blocks' end
   move(r.T, p, q, steps1, steps2)
   return true
end

-- r = a vector-library function (luajit/vectors.lua) of each of t's n elements, where they are many; false as above.
local function function_of_blocks(name, r, t, n)
   if n <= few.LIMIT_OF_FUNCTIONS or r.T ~= t.T or may_overlap(r, t) then
      return no 'other types, or a result that shares memory with what is read'
   end
   local f = vectors.routine(r.T, name, n)
   if not f then return no 'no routine for so many elements' end
   local p, q = r.S.p + r.off, t.S.p + t.off
   if is_contiguous(r) and is_contiguous(t) then
      f(p, q, n)
      return true
   end
   if not in_blocks(r, t) then return no 'elements that form no blocks' end
   local block, n2, n3 = turns[1], turns[2], turns[3]
   local a2, a3, b2, b3 = steps1[2], steps1[3], steps2[2], steps2[3]
   for i3 = 0, n3 - 1 do
      for i2 = 0, n2 - 1 do f(p + (i3 * a3 + i2 * a2), q + (i3 * b3 + i2 * b2), block) end
   end
   return true
end

for _, name in ipairs{ 'exp', 'log', 'log1p', 'sin', 'cos', 'tan', 'asin', 'acos', 'atan', 'sinh', 'cosh', 'tanh' } do
   local compute = few.pointwise(name .. '($x)', false, 'LIMIT_OF_FUNCTIONS')
   few.functions[name] = function(r, t, _, _, n)
      return compute(r, t, t, nil, n) or function_of_blocks(name, r, t, n)
   end
end

-- 1 / (1 + exp(-X)) in three steps, for an r whose elements share no memory.
local negative, of_exponential = few.pointwise('-$x', false, 'OF_LAYER'),
   few.pointwise('1 / (1 + $x)', false, 'OF_LAYER')
local function sigmoid_of_many(r, t, n)
   if few.LIMIT_OF_FUNCTIONS == 0 or r.T ~= t.T or not vectors.routine(r.T, 'exp', n) then
      return no 'no routine for so many elements'
   end
   if not is_contiguous(r) and not (in_blocks(r, r) and have_own_memory()) then
      return no 'elements that form no blocks, or share memory'
   end
   return negative(r, t, t, nil, n) and function_of_blocks('exp', r, r, n) and of_exponential(r, r, r, nil, n)
end

local sigmoid = few.pointwise('1 / (1 + exp(-$x))', false, 'LIMIT_OF_FUNCTIONS')
function few.functions.sigmoid(r, t, _, _, n) return sigmoid(r, t, t, nil, n) or sigmoid_of_many(r, t, n) end

-- Copies the n elements of t to r; false, with nothing done, if Python has to compute.
local copy_loops = loops('p[a] = $x', keys_of.copied, function(R, T) return R.real and T.get or read end)
local set_loops = loops('set(p, a, $x)', keys_of.copied, as_numbers)

function few.copy(r, t, n)
   local R, T = r.T, t.T
   if not (R.here and T.here) or may_overlap(r, t) then
      return no 'elements on a device, or a copy that shares memory'
   end
   if not same_size(r, t) then
      local r_contiguous, t_contiguous = is_contiguous(r), is_contiguous(t)
      if t_contiguous and not r_contiguous then t = reshaped(t, r)
      elseif r_contiguous and not t_contiguous then r = reshaped(r, t) end
   end
   if R.host == T.host and copy_blocks(r, t, n) then return true end
   if not fits_for_now(n) then return no 'many elements' end
   if R.host == T.host then
      if same_size(r, t) and plan(r, t, t) and have_own_memory() then
         move(R, first_element(r), first_element(t), steps1, steps2)
         return true
      end
      return copy_loops(r, t, t, nil, n, nil, true)
   end
   -- Converting 64-bit whole numbers to float would round twice.
   if R.whole and T.whole or R.real and (T.real or T.whole and not (T.size == 8 and R.size == 4)) then
      return copy_loops(r, t, t, nil, n, nil, true)
   end
   if is_contiguous(r) and is_contiguous(t) and truncation.convert(R, T, first_element(r), first_element(t), n) then
      return true
   end
   if R.whole and T.real then return set_loops(r, t, t, nil, n, nil, true) end
   return no 'numbers of another type that are out of range, or not contiguous'
end

-- Sets all elements of r to zero; false as above.
function few.zero(r, n)
   local bytes = n * r.T.size
   if not r.T.here or not is_contiguous(r) or bytes > COPIED_AT_ONCE and not fits_for_now(n) then
      return no 'many non-contiguous elements'
   end
   ffi.fill(r.S.p + r.off, bytes)
   return true
end

-- Sets n contiguous elements from p on to a value: the part already written is copied, doubling each time.
function few.fill_in_one_piece(p, v, n, size)
   local done = n < BLOCK and n or BLOCK
   for i = 0, done - 1 do p[i] = v end
   while done < n do
      local more = done < n - done and done or n - done
      ffi.copy(p + done, p, more * size)
      done = done + more
   end
end

-- The same for a tensor that consists of rows: one is filled, and copied to all.
local REPEATED = { 1, 0, 0 }
local function fill_rows(r, v)
   if not plan(r, r, r) then return false end
   if steps1[2] == 1 then -- columns are rows, too
      turns[1], turns[2], steps1[1], steps1[2] = turns[2], turns[1], 1, steps1[1]
   end
   if not (steps1[1] == 1 and turns[1] >= BLOCK and turns[1] <= ROWS and turns[2] * turns[3] <= few.LIMIT) then
      return no 'elements that form no short rows'
   end
   local T = r.T
   local row = room(T, 1)
   few.fill_in_one_piece(row, v, turns[1], T.size)
   move(T, first_element(r), row, steps1, REPEATED)
   return true
end

-- Sets all elements of r to a value; false as above.
local fill_loops = few.pointwise('v', true, 'SAME_BITS')
function few.fill(r, v, n)
   local T = r.T
   if n > BLOCK and (T.real or T.whole) and (n * T.size <= COPIED_AT_ONCE or fits_for_now(n)) then
      if is_contiguous(r) then
         few.fill_in_one_piece(first_element(r), v, n, T.size)
         return true
      end
      if few.LIMIT > 0 and fill_rows(r, v) then return true end
   end
   return fill_loops(r, r, r, v, n)
end

-- Reads index p[k] again, which was already found to be in 1 (or `first`) to last: the memory being written may be the
-- indices' own.
function few.place(p, k, last, first)
   local at = tonumber(p[k])
   if at >= (first or 1) and at <= last then return at end
   error('an index that lies where a result is written became invalid', 0)
end

-- The strides of a matrix from row to row and from column to column; a vector is a column.
local function steps(m)
   if m.nd == 2 then return m[2], m[4] end
   return m[2], 0
end

-- Short rows are added up without a loop: LuaJIT enters a loop anew each time, which costs as much as ten products.
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

-- r = beta * t + alpha * the product of a and b: of two matrices, a matrix and a vector, or two vectors (the outer
-- product). t may be r; if beta is 0, its values are ignored. Returns false, with nothing done, if Python has to
-- compute.
function few.product(r, beta, t, alpha, a, b)
   local outer = a.nd == 1
   local rows, inner = a[1], outer and 1 or a[3]
   local columns = outer and b[1] or b.nd == 2 and b[3] or 1
   if rows * inner * columns > few.LIMIT or not (r.T.real or r.T.whole) then
      return no 'more than 2,048 products, or halves'
   end
   local r1, r2 = steps(r)
   local t1, t2 = steps(t)
   local a1, a2 = steps(a)
   local b1, b2 = steps(b)
   if outer then b1, b2 = 0, b1 end
   local get = r.T.get_as_c
   if r.T.whole then alpha, beta = whole(alpha), whole(beta) end
   local p, s, q, u = r.S.p + r.off, t.S.p + t.off, a.S.p + a.off, b.S.p + b.off
   local i, j = 0, 0
   for _ = 1, rows * columns do
      -- BLAS does not read factors that are multiplied by zero
      local sum = (alpha ~= 0 or outer) and alpha * sum_of_products(get, q, i * a1, a2, u, j * b2, b1, inner) or 0
      if beta ~= 0 then sum = sum + beta * get(s, i * t1 + j * t2) end
      p[i * r1 + j * r2] = sum
      j = j + 1
      if j == columns then i, j = i + 1, 0 end
   end
   return true
end

-- The same for each matrix of a batch, where that is worth it (blas.batched_product handles larger ones): calling
-- Python is expensive, but its arithmetic is cheaper.
local WORK = 2 ^ 11 -- multiplications that cost as much as the call of Python; an element of the result counts as four

local function first_matrix(batch)
   return { batch[3], batch[4], batch[5], batch[6], T = batch.T, S = batch.S, off = batch.off, nd = 2 }
end

function few.batched_product(r, beta, t, alpha, a, b)
   local n, rows, inner, columns = a[1], a[3], a[5], b[5]
   if r.nd ~= 3 then return no 'a sum of products' end
   if n * rows * columns * (inner + 4) > WORK or rows * inner * columns > few.LIMIT or not (r.T.real or r.T.whole) then
      return no 'more than 2,048 products, or halves'
   end
   local p, s, q, u = first_matrix(r), first_matrix(t), first_matrix(a), first_matrix(b)
   for _ = 1, n do
      few.product(p, beta, s, alpha, q, u)
      p.off, s.off, q.off, u.off = p.off + r[2], s.off + t[2], q.off + a[2], u.off + b[2]
   end
   return true
end

return few
