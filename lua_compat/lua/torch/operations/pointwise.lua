-- Elementwise operations: arithmetic, functions of one element, comparisons, copies.
local ffi = require 'ffi'
local scratch = require 'torch.core.scratch'()
local types = require 'torch.core.types'
local memory = require 'torch.core.memory'
local apart = require 'torch.core.overlap'
local errors = require 'torch.core.errors'
local storages = require 'torch.tensor.storage'
local tensors = require 'torch.tensor.tensor'
local few = require 'torch.luajit.elementwise'
local blas = require 'torch.luajit.blas'
local overlapping = require 'torch.tensor.overlapping'
local same_elements = require 'torch.luajit.same_elements'
local overloads = require 'torch.tensor.overloads'
local ways = require 'torch.core.ways'
local signed = require('torch.core.arguments').signed
local python = require('th.python').functions

local records = memory.records
local handle, resize_as, count = memory.handle, memory.resize_as, memory.count
local is_contiguous, same_size, first_element = memory.is_contiguous, memory.same_size, memory.first_element
local library = require 'torch.core.library'
local meet, is_worth, of_rows = apart.meet, library.is_worth_for_products, blas.of_rows
local define = overloads.define
local write, kind = overlapping.write, overlapping.kind
local no, way = ways.no, ways.of

local pointwise = {}

local copy_here = way('copy', few.copy)

-- t viewed with the sizes of r (both have the same number of elements), copied if it shares memory with r, which will
-- be written. This allocates: call it before collecting the handles of a kernel's arguments.
local function shaped_like(r, t)
   if apart.same_places(r, t) then return r end -- PyTorch refuses the same elements with other strides
   local overlaps = apart.may_overlap(r, t)
   if same_size(r, t) and not overlaps then return t end
   if overlaps or not is_contiguous(t) then
      local copy = memory.temporary(t.T)
      resize_as(copy, t)
      if not copy_here(copy, t, count(t)) then python.copy(handle(copy), handle(t)) end
      t = copy
   end
   local view = memory.temporary(t.T)
   memory.set_storage(view, t.S, t.off, r.nd, tensors.sizes_of(r))
   return view
end
pointwise.shaped_like = shaped_like

local function size_text(r) return '[' .. table.concat(tensors.sizes_of(r), ' x ') .. ']' end
pointwise.size_text = size_text

-- names: Torch7's names for the three
local USUAL = { 'r_', 't', 'src' }
local function check_counts(r, t, source, names)
   local a, b, c = count(r), count(t), count(source)
   if a ~= c or b ~= c then
      local first, second, third = unpack(names or USUAL)
      errors.raise(('inconsistent tensor size, expected %s %s, %s %s and %s %s to have the same number of elements, '
         .. 'but got %d, %d and %d elements respectively'):format(first, size_text(r), second, size_text(t), third,
         size_text(source), a, b, c), 'THTensorMath.c:887')
   end
end
pointwise.check_counts = check_counts

-- Raises if two tensors, with Torch7's names for them, differ in their numbers of elements.
function pointwise.check_pair(a, b, name_of_a, name_of_b, where)
   local m, n = count(a), count(b)
   if m ~= n then
      errors.raise(('inconsistent tensor size, expected %s %s and %s %s to have the same number of elements, '
         .. 'but got %d and %d elements respectively'):format(name_of_a, size_text(a), name_of_b, size_text(b), m, n),
         where or 'THTensorMath.c:522')
   end
end

-- Computations: a kernel, and perhaps an equivalent expression of the elements (luajit/elementwise.lua).
local function never() return no 'no expression for it' end
local function in_lua(expression, for_whole, plain)
   return expression and few.pointwise(expression, for_whole, 'SAME_BITS', plain) or never
end

-- r = f(t, s). expression: of the elements, or a function that computes it.
local function with_tensor(kernel, expression, names)
   local compute = way(kernel, type(expression) == 'function' and expression or in_lua(expression, true))
   local function in_python(r, t, s) python[kernel](handle(r), handle(t), handle(s)) end
   return function(r, t, s)
      resize_as(r, t)
      check_counts(r, t, s, names)
      local n = count(t)
      if n > 0 and not compute(r, t, s, nil, n) then
         write(in_python, r, shaped_like(r, t), shaped_like(r, s))
      end
   end
end

-- BLAS processes several elements at once. It is only used where it rounds as LuaJIT does: for sums of products of
-- which one factor is 1 or -1.
local FEWEST_BY_BLAS = 256 -- elements
local MOST_ADDED = 2 ^ 16  -- for more, several threads are faster
local MOST_SCALED = 2 ^ 12 -- in a scratch buffer

-- The routines for r, t and perhaps s, of n elements each, if BLAS applies; r then holds a copy of t. Small n only if
-- the library is worth loading.
local function begin_by_blas(r, t, s, n)
   if n < FEWEST_BY_BLAS or few.LIMIT == 0 or t.T ~= r.T or s and s.T ~= r.T then
      return no 'few elements, or other types'
   end
   if n > MOST_ADDED and not library.saves_pytorch(n) then return no 'many elements' end
   if not (is_contiguous(r) and is_contiguous(t)) or s and (not is_contiguous(s) or meet(r, s)) then
      return no 'elements that are not contiguous, or share memory'
   end
   if n <= MOST_SCALED and not is_worth(n) then return no 'few elements' end
   local routine = of_rows(r.T) or no 'no BLAS for the type'
   return routine and (t == r or few.copy(r, t, n)) and routine
end

local function scratch_for(T, n) return ffi.cast(T.pointer, scratch(T.name, n * T.size)) end

-- r = t + v * s
local function add_by_blas(r, t, v, s, n)
   -- For so many elements PyTorch rounds each product together with the sum, as BLAS does on most processors (but not
   -- MKL on AMD's); LuaJIT does so for floats. BLAS skips terms multiplied by 0, even NaNs.
   local plain = v == 1 or v == -1 or n > MOST_SCALED
   if v == 0 or not plain and r.T.size < 8 then return no 'a number that BLAS rounds otherwise' end
   local routine = begin_by_blas(r, t, s, n)
   if not routine then return false end
   local p, q = first_element(r), first_element(s)
   if not plain then
      local scaled = scratch_for(r.T, n)
      ffi.copy(scaled, q, n * r.T.size)
      blas.scale(routine, n, scaled, v)
      q, v = scaled, 1
   end
   blas.add(routine, n, q, p, v)
   return true
end

-- r = t + v
local function add_number_by_blas(r, t, v, n)
   if n > MOST_SCALED or v == 0 or r.T.size < 8 and r.T.cast(v) ~= v then
      return no 'a number that BLAS rounds otherwise, or many elements'
   end
   local routine = begin_by_blas(r, t, nil, n)
   if not routine then return false end
   blas.add(routine, n, blas.ones(r.T, n), first_element(r), v)
   return true
end

-- r = t * v
local function scale_by_blas(r, t, v, n)
   if v == 0 or r.T.size < 8 and r.T.cast(v) ~= v then return no 'a number that BLAS rounds otherwise' end
   local routine = begin_by_blas(r, t, nil, n)
   if not routine then return false end
   blas.scale(routine, n, first_element(r), v)
   return true
end

-- r = f(t, v). expression: of the elements, or a function that computes it.
local function with_scalar(kernel, expression, by_blas)
   by_blas = by_blas and way(kernel, by_blas, 'blas') or never
   local compute = way(kernel, type(expression) == 'function' and expression or in_lua(expression, true))
   local function in_python(r, t, _, v) python[kernel](handle(r), handle(t), signed(v)) end
   return function(r, t, v)
      resize_as(r, t)
      local n = count(t)
      if n > 0 and not by_blas(r, t, v, n) and not compute(r, t, t, v, n) then
         write(in_python, r, shaped_like(r, t), nil, v)
      end
   end
end

-- r = f(t, v, s)
local function with_scaled_tensor(kernel, expression, by_blas)
   by_blas = way(kernel, by_blas, 'blas')
   local compute = way(kernel, few.pointwise(expression, true)) -- PyTorch rounds the product and the sum together
   local function in_python(r, t, s, v) python[kernel](handle(r), handle(t), signed(v), handle(s)) end
   return function(r, t, v, s)
      resize_as(r, t)
      check_counts(r, t, s)
      local n = count(t)
      if n > 0 and not by_blas(r, t, v, s, n) and not compute(r, t, s, v, n) then
         s = shaped_like(r, s)
         if r == t and overlapping.kind(r) == 'repeated' then
            in_python(r, t, s, v)
         else
            write(in_python, r, shaped_like(r, t), s, v)
         end
      end
   end
end

-- Copies

local function copy_in_python(r, t) python.copy(handle(r), handle(t)) end

local function copy(r, t)
   local n = count(r)
   pointwise.check_pair(r, t, 'tensor', 'src', 'THTensorCopy.c:86')
   if n == 0 then return end
   if copy_here(r, t, n) then return end
   write(copy_in_python, r, shaped_like(r, t))
end
pointwise.copy = copy

-- The elements of a storage as a vector.
local function vector_of(S)
   local r = memory.temporary(S.T)
   memory.set_storage(r, S, 0, 1, { S.n })
   return r
end

local function copy_storage(self, source)
   local to, from = storages.check(self, 1), storages.check(source, 2)
   if to.n ~= from.n then errors.argument(2, 'size mismatch', 'THStorageCopy.c:7') end
   if to.n > 0 then copy(vector_of(to), vector_of(from)) end
   return self
end

-- A new contiguous tensor with the elements of t.
function pointwise.copy_of(t)
   local new = memory.temporary(t.T)
   resize_as(new, t)
   copy(new, t)
   return new
end

-- t; a copy if it shares memory with r, which will be written.
function pointwise.beside(r, t) return apart.lies_apart(r, t) and t or pointwise.copy_of(t) end

-- Calls write_all(r, a, b...). If elements of r share memory, it calls write_all(q, a, b...) for a q with memory of its
-- own that starts as a copy of r, and then copies q to r; where several elements have the same memory, the last one
-- counts.
function pointwise.into(r, write_all, a, b, c, d, e, f)
   if not kind(r) then return write_all(r, a, b, c, d, e, f) end
   local q = pointwise.copy_of(r)
   write_all(q, a, b, c, d, e, f)
   copy(r, q)
end

local function fill_in_python(r, _, _, v) python.fill(handle(r), signed(v)) end

local fill_here = way('fill', function(r, v, n)
   return v == 0 and 1 / v > 0 and few.zero(r, n) or few.fill(r, v, n) -- not for negative zero
end)
local function fill(r, v)
   local n = count(r)
   if n > 0 and not fill_here(r, v, n) then write(fill_in_python, r, nil, nil, v) end
end
pointwise.fill = fill

for code = 1, types.count do
   local T = types[code]
   local mt = T.tensor_metatable
   T.storage_metatable.copy = copy_storage
   function mt:copy(source)
      local r, s = tensors.check(self, 1), records[source]
      if not (s and s.nd) then
         errors.wrong_type(2, 'torch.*Tensor', source)
      end
      copy(r, s)
      return self
   end
   function mt:clone()
      local r = tensors.check(self, 1)
      local ud, c = memory.new_tensor(T)
      resize_as(c, r)
      copy(c, r)
      return ud
   end
   -- Torch7 returns a new object for the same tensor; here it is the object itself.
   function mt:contiguous()
      if is_contiguous(tensors.check(self, 1)) then return self end
      return self:clone()
   end
end

local all_types = { types.Half, unpack(overloads.all_but_half) }
define('fill', { 'o n', fill }, all_types)
define('zero', { 'o', function(r) fill(r, 0) end }, all_types)

-- Arithmetic

-- For contiguous tensors in place, Torch7 uses BLAS, which does not read terms multiplied by zero, so NaNs there have
-- no effect.
local add_any = with_scaled_tensor('add_scaled', '$x + v * $y', add_by_blas)
local function add_scaled(r, t, v, s)
   if v == 0 and r == t and r.T.real and is_contiguous(r) and is_contiguous(s) and count(r) == count(s) then return end
   add_any(r, t, v, s)
end
local add_scalar = with_scalar('add_scalar', '$x + v', add_number_by_blas)
pointwise.add_scaled, pointwise.add_scalar = add_scaled, add_scalar
pointwise.mul = with_scalar('mul', '$x * v', scale_by_blas)
pointwise.div = with_scalar('div', few.pointwise('$x / v', true, 'QUOTIENTS'))

-- The result has the sign of the divisor; for divisor 0 it is NaN.
pointwise.remainder = with_scalar('remainder', in_lua '$x - v * floor($round($x / v))')

-- f, for whole numbers only
local function for_bits(name, where, f)
   return function(r, ...)
      if r.T.floating then errors.raise(name .. ' is only supported for integer type tensors', where) end
      return f(r, ...)
   end
end

-- f, a division by its last argument
local function dividing(f)
   return function(r, t, v)
      if v == 0 and r.T.integer and count(t) > 0 then errors.raise('division by zero') end
      return f(r, t, v)
   end
end

define('add', { 'R t n', add_scalar, 'R t n=1 T', add_scaled })
define('csub', {
   'R t n', function(r, t, v) add_scalar(r, t, r.T.cast(-v)) end,
   'R t n=1 T', function(r, t, v, s) add_scaled(r, t, r.T.cast(-v), s) end,
})
define('mul', { 'R t n', pointwise.mul })
define('div', { 'R t n', dividing(pointwise.div) })
define('cmul', { 'R t T', with_tensor('cmul', '$x * $y') })
define('cdiv', { 'R t T', with_tensor('cdiv', few.pointwise('$x / $y', false, 'QUOTIENTS')) })
define('remainder', { 'R t n', dividing(pointwise.remainder) })

-- The result has the sign of the dividend, as with C's fmod, which is exact. Python computes whole numbers.
local function rest_of(expression) return few.pointwise(expression, false, 'SAME_BITS') end
local rest, rest_of_each = dividing(with_scalar('fmod', rest_of 'fmod($x, v)')),
   with_tensor('cfmod', rest_of 'fmod($x, $y)')
for _, name in ipairs{ 'fmod', 'mod' } do
   define(name, { 'R t n', rest })
   define('c' .. name, { 'R t T', rest_of_each })
end

-- Bit operations on whole numbers. As on processors, a shift counts modulo 32, or modulo 64 for 64-bit numbers. A right
-- shift is logical: it does not extend the sign. Counts are plain numbers: by those of 64 bits, LuaJIT's compiled code
-- does not always shift.
local function of_bits(expression)
   local compute = few.pointwise(expression, true)
   return function(r, t, s, v, n, w)
      if not r.T.whole then return no 'an operation on whole numbers, of real ones' end
      return compute(r, t, s, v, n, w)
   end
end
local function of_shifts(expression) -- v: the count, or the mask of valid counts; w: the mask of a number's bits
   local compute = of_bits(expression)
   return function(r, t, s, v, n)
      local size = r.T.size
      local counted = size == 8 and 63 or 31
      return compute(r, t, s, v and v % (counted + 1) or counted, n, size == 8 and -1LL
         or bit.lshift(1LL, 8 * size) - 1)
   end
end
-- Real numbers are multiplied or divided by a power of two, which is exact for whole counts.
for name, row in pairs{ lshift = { '$x', '$x * v' }, rshift = { 'band($x, w)', '$x / v' } } do
   local number, of_reals = row[1], few.pointwise(row[2], false, 'SAME_BITS')
   local of_whole = of_shifts(('%s(%s, tobit(v))'):format(name, number))
   define(name, { 'R t n', with_scalar(name, function(r, t, s, v, n)
      if r.T.real then return v % 1 == 0 and of_reals(r, t, s, r.T.cast(2 ^ v), n) end
      return of_whole(r, t, s, v, n)
   end) })
   define('c' .. name, { 'R t T', with_tensor('c' .. name,
      of_shifts(('%s(%s, tobit(band($y, v)))'):format(name, number))) })
end
for name, lines in pairs{ ['and'] = { 794, 1075 }, ['or'] = { 817, 1100 }, xor = { 840, 1125 } } do
   local function define_bits(full, arguments, with, other, line)
      define(full, { arguments, for_bits(full, 'THTensorMath.c:' .. line,
         with(full, of_bits(('b%s($x, %s)'):format(name, other)))) })
   end
   define_bits('bit' .. name, 'R t n', with_scalar, 'v', lines[1])
   define_bits('cbit' .. name, 'R t T', with_tensor, '$y', lines[2])
end
define('cremainder', { 'R t T', with_tensor('cremainder', in_lua '$x - $y * floor($round($x / $y))') })
local function clamp_in_python(r, t, _, low, high)
   python.clamp(handle(r), handle(t), signed(low), signed(high))
end
local CLAMPED = '$x < v and v or $x > w and w or $x'
local clamp_few = way('clamp', few.pointwise(CLAMPED, true, 'SAME_BITS', 'min(w, max(v, $x))')) -- ties: the second
local clamp_oddly = way('clamp', few.pointwise(CLAMPED, true, 'SAME_BITS'))
define('clamp', { 'R t n n', function(r, t, low, high)
   resize_as(r, t)
   local n = count(t)
   if n > 0 and not (low <= high and clamp_few or clamp_oddly)(r, t, t, low, n, high) then
      write(clamp_in_python, r, shaped_like(r, t), nil, low, high)
   end
end })

-- Above MOST_OF_THREE elements PyTorch is faster. Its bits differ, except for quotients of doubles, so only the size
-- decides.
local MOST_OF_THREE = 128 -- times few.LIMIT elements
local products = few.pointwise('$r + $round($round(v * $x) * $y)', true, MOST_OF_THREE)
local quotients, quotients_of_doubles = few.pointwise('$r + $round($round(v * $x) / $y)', true, MOST_OF_THREE),
   few.pointwise('$r + v * $x / $y', false, 'SAME_BITS')

-- For whole numbers of up to 32 bits, C computes the product in 32 bits. For small v it fits the 53 bits of a double.
local LARGEST_FACTOR = 2 ^ 20
local quotients_of_small = few.pointwise('$r + tobit(v * $x) / $y', true, MOST_OF_THREE,
   '$r + $whole_part(tobit(v * $x) / $y)')

local count_zeros = few.reduction('if $x == 0 then result = result + 1 end', true)
local function add_quotients(r, a, b, v, n)
   local T = r.T
   if T.host == types.Double then return quotients_of_doubles(r, a, b, v, n) end
   if T.whole then
      if count_zeros(b, b, 0) ~= 0 then return no 'a division by zero' end -- Python raises the error
      if T.size < 8 then return math.abs(v) <= LARGEST_FACTOR and quotients_of_small(r, a, b, v, n) end
   end
   return quotients(r, a, b, v, n)
end

for name, compute in pairs{ addcmul = way('addcmul', products), addcdiv = way('addcdiv', add_quotients) } do
   local function in_python(r, a, b, v) python[name](handle(r), signed(v), handle(a), handle(b)) end
   define(name, { 'R t n=1 T T', function(r, t, v, a, b)
      if r ~= t then
         resize_as(r, t)
         copy(r, t)
      end
      check_counts(r, a, b, { 'r_', 'src1', 'src2' })
      local n = count(r)
      if n > 0 and not compute(r, a, b, v, n) then write(in_python, r, shaped_like(r, a), shaped_like(r, b), v) end
   end })
end

for name, relation in pairs{ cmax = '>', cmin = '<' } do
   local expression = '$x ' .. relation .. ' %s and $x or %s'
   -- here, too, the second of equal numbers (zeros have signs)
   local plain = (name == 'cmax' and 'max' or 'min') .. '($x, %s)'
   local function chosen(y) return few.pointwise(expression:format(y, y), true, 'CHOICES', plain:format(y)) end
   local tensor, scalar = with_tensor(name, chosen '$y', { 'r', 't', 'src' }), with_scalar(name .. '_value', chosen 'v')
   define(name, { 'r t T', tensor, 'r t n', scalar }, nil, { 'R=1 t T', tensor, 'R=1 t n', scalar })
end

-- Functions of one element

-- Functions for which Lua's result is correct to the last bit
local exact = {
   abs = 'abs($x)', sqrt = 'sqrt($x)', rsqrt = '1 / $round(sqrt($x))', floor = 'floor($x)', ceil = 'ceil($x)',
      neg = '-$x',
   reciprocal = '1 / $x',
   trunc = '$x >= 0 and floor($x) or ceil($x)', sign = '$x > 0 and 1 or $x < 0 and -1 or 0',
   -- the whole part, plus 1 if twice the remainder is at least 1; large numbers are whole
   round = '$x > 0 and $x < 1e300 and floor($x) + floor(2 * ($x - floor($x))) '
      .. 'or $x < 0 and $x > -1e300 and ceil($x) + ceil(2 * ($x - ceil($x))) or $x',
   frac = '$x - ($x >= 0 and floor($x) or ceil($x))',
}
-- The same for finite numbers, without branches.
local SIGN = 'max(-1, min(1, $x * 1e308 * 1e308))'
local without_branches = {
   sign = SIGN .. ' + 0', trunc = '$whole_part($x)', frac = '$x - $whole_part($x)',
   round = '(floor(abs($x)) + floor(2 * (abs($x) - floor(abs($x))))) * ' .. SIGN,
}

-- The same for whole numbers.
local exact_of_whole = { abs = '$x < 0 and -$x or $x', sign = '$x > 0 and 1 or $x < 0 and -1 or 0' }
local whole_without_branches = { abs = 'abs($x)', sign = 'max(-1, min(1, $x))' }

local function exactly(kernel)
   local of_real = in_lua(exact[kernel], false, without_branches[kernel])
   local of_whole = in_lua(exact_of_whole[kernel], true, whole_without_branches[kernel])
   return function(r, t, s, v, n) return (r.T.whole and of_whole or of_real)(r, t, s, v, n) end
end

local function unary(kernel)
   local compute = way(kernel, few.functions[kernel] or exactly(kernel))
   local function in_python(r, t) python.unary(handle(r), handle(t), kernel) end
   return function(r, t)
      resize_as(r, t)
      local n = count(t)
      if n > 0 and not compute(r, t, t, nil, n) then write(in_python, r, shaped_like(r, t)) end
   end
end

local scalar_functions = {
   round = function(x) return x % 1 == 0.5 and (x >= 0 and math.floor(x) + 1 or math.ceil(x) - 1)
      or math.floor(x + 0.5) end,
   trunc = function(x) return x >= 0 and math.floor(x) or math.ceil(x) end,
   frac = function(x) return x - (x >= 0 and math.floor(x) or math.ceil(x)) end,
   rsqrt = function(x) return 1 / math.sqrt(x) end,
   sigmoid = function(x) return 1 / (1 + math.exp(-x)) end,
   log1p = few.log1p,
}
for _, name in ipairs{ 'log', 'log1p', 'exp', 'cos', 'acos', 'cosh', 'sin', 'asin', 'sinh', 'tan', 'atan', 'tanh',
   'sqrt', 'round', 'ceil', 'floor', 'trunc', 'abs', 'frac', 'rsqrt', 'sigmoid' } do
   local each = unary(name)
   local function define_for(which)
      define(name, { 'R t', each, 's', scalar_functions[name] or math[name] }, which, { 'R t', each })
   end
   define_for(overloads.floating)
   if name == 'abs' then
      define_for(types.named('Int', 'Long', 'Short', 'Char'))
      if types.CudaByte then define('abs', { 'R t', each }, { types.CudaByte }) end
   end
end
define('neg', { 'R t', unary 'neg' }, overloads.floating)
define('cinv', { 'R t', unary 'reciprocal' }, overloads.floating)
define('sign', { 'R t', unary 'sign' })

local lerp_in_lua = way('lerp', in_lua '$x + $round(v * $round($y - $x))')
local function lerp_in_python(r, t, s, v) python.lerp(handle(r), handle(t), handle(s), signed(v)) end
local function lerp(r, t, s, v)
   resize_as(r, t)
   if count(t) ~= count(s) then errors.argument(2, 'sizes do not match', 'THTensorMath.c') end
   local n = count(t)
   if n > 0 and not lerp_in_lua(r, t, s, v, n) then
      write(lerp_in_python, r, shaped_like(r, t), shaped_like(r, s), v)
   end
end
define('lerp', { 'R t T n', lerp, 's s s', function(a, b, v) return a + v * (b - a) end }, overloads.floating,
   { 'R t T n', lerp })
-- Functions of two numbers; C's for few elements.
local function of_two(expression) return few.pointwise(expression, false, 'LIMIT_OF_FUNCTIONS') end
local arcs = with_tensor('atan2', of_two 'atan2($x, $y)', { 'r_', 'tx', 'ty' })
define('atan2', { 'R t T', arcs, 's s', math.atan2 }, overloads.floating, { 'R t T', arcs })

-- Powers computed by products, quotients and roots; they differ from C's in the last bit, and for infinity and -0.
local powers = {}
for exponent, expression in pairs{ [2] = '$x * $x', [0.5] = 'sqrt($x)', [-0.5] = '1 / $round(sqrt($x))',
   [-1] = '1 / $x',
   [-2] = '1 / $round($x * $x)' } do
   powers[exponent] = with_scalar('pow', expression)
end
powers[3] = with_scalar('pow', in_lua '$round($x * $x) * $x')
local any_power = with_scalar('pow', of_two 'pow($x, v)')
local function pow_scalar(r, t, v) return (powers[v] or any_power)(r, t, v) end
local power_of_scalar = way('scalar_pow', of_two 'pow(v, $x)')
local function scalar_pow_in_python(r, t, _, v) python.scalar_pow(handle(r), signed(v), handle(t)) end
local function scalar_pow(r, v, t)
   resize_as(r, t)
   local n = count(t)
   if n > 0 and not power_of_scalar(r, t, t, v, n) then write(scalar_pow_in_python, r, shaped_like(r, t), nil, v) end
end
define('cpow', { 'R t T', with_tensor('cpow', of_two 'pow($x, $y)') })
define('pow', { 'R t n', pow_scalar, 'R n t', scalar_pow, 's s', math.pow }, overloads.floating,
   { 'R t n', pow_scalar, 'R n t', scalar_pow })

-- Comparisons

for name, relation in pairs{ lt = '<', gt = '>', le = '<=', ge = '>=', eq = '==', ne = '~=' } do
   local compute_value, compute_other = way(name, few.comparison(('$x %s v'):format(relation))),
      way(name, few.comparison(('$x %s $y'):format(relation)))
   local function value_in_python(r, t, _, v) python.compare_value(handle(r), handle(t), v, name) end
   local function other_in_python(r, t, s) python.compare(handle(r), handle(t), handle(s), name) end
   local function with_value(r, t, v)
      resize_as(r, t)
      local n = count(t)
      if n > 0 and not compute_value(r, t, t, v, n) then write(value_in_python, r, shaped_like(r, t), nil, v) end
   end
   local function with_other(r, t, s)
      resize_as(r, t)
      check_counts(r, t, s, { 'r_', 'ta', 'tb' })
      local n = count(t)
      if n > 0 and not compute_other(r, t, s, nil, n) then
         write(other_in_python, r, shaped_like(r, t), shaped_like(r, s))
      end
   end
   local variants = { 'b T n', with_value, 'o T n', with_value, 'b T T', with_other, 'o T T', with_other }
   define(name, variants)
end

local differences = few.reduction('if $x ~= $y then result = result + 1 end', true)
local equal_here = way('equal', function(a, b)
   local done, same = same_elements(a, b)
   if done then return done, same end
   local different = differences(a, b, 0)
   return different, different == 0
end)
define('equal', { 'T T', function(a, b)
   if not same_size(a, b) then return false end
   local done, same = equal_here(a, b)
   if done then return same end
   return count(a) == 0 or python.equal(handle(a), handle(b))
end })

-- Operators

-- The number that a script gives for elements of type T, as such an element.
local function operand(T, value, position)
   return T.cast(tonumber(T.element_of(value)) or errors.wrong_type(position, 'number', value))
end
pointwise.operand = operand

local function install(T)
   local mt = T.tensor_metatable
   local new = memory.new_tensor

   -- The records of two operands of type T; nil if either is not a tensor of that type.
   local function both(a, b)
      local r, s = records[a], records[b]
      if r and not (r.nd and r.T == T) then r = nil end
      if s and not (s.nd and s.T == T) then s = nil end
      if not r and not s then
         errors.raise(('expecting two %ss or one %s and one number'):format(T.tensor, T.tensor))
      end
      return r, s
   end

   function mt.__add__(a, b)
      local r, s = both(a, b)
      local ud, q = new(T)
      if r and s then add_scaled(q, r, 1, s)
      elseif r then add_scalar(q, r, operand(T, b, 2))
      else add_scalar(q, s, operand(T, a, 1)) end
      return ud
   end

   function mt.__sub__(a, b)
      local r, s = both(a, b)
      local ud, q = new(T)
      if r and s then add_scaled(q, r, T.cast(-1), s)
      elseif r then add_scalar(q, r, T.cast(-operand(T, b, 2)))
      else
         local value = operand(T, a, 1)
         resize_as(q, s)
         fill(q, value)
         add_scaled(q, q, T.cast(-1), s)
      end
      return ud
   end

   function mt.__mul__(a, b)
      local r, s = both(a, b)
      local ud, q = new(T)
      if not s then pointwise.mul(q, r, operand(T, b, 2))
      elseif not r then pointwise.mul(q, s, operand(T, a, 1))
      elseif r.nd == 1 and s.nd == 1 then return T.functions.dot(a, b)
      elseif r.nd == 2 and s.nd == 1 then return T.functions.mv(a, b)
      elseif r.nd == 2 and s.nd == 2 then return T.functions.mm(a, b)
      else
         errors.raise(('multiplication between %dD and %dD tensors not yet supported'):format(r.nd, s.nd))
      end
      return ud
   end

   for name, compute in pairs{ __div__ = pointwise.div, __mod__ = pointwise.remainder } do
      mt[name] = function(a, b)
         local r = tensors.check(a, 1, T)
         local number = errors.number_in(b)
         if not number then errors.argument(2, 'number expected', 'TensorOperator.c') end
         local ud, q = new(T)
         compute(q, r, T.cast(number))
         return ud
      end
   end

   function mt.__unm__(a)
      local ud, q = new(T)
      pointwise.mul(q, tensors.check(a, 1, T), T.cast(-1))
      return ud
   end
end

for _, T in ipairs(overloads.all_but_half) do install(T) end

return pointwise
