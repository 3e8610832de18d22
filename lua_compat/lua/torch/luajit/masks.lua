-- Small masks, read four bytes at a time, and writing elements where they are one. Ones are as good as random, so no
-- loop has a branch: elements are combined by bit operations. Each function returns nil or false, with nothing done, if
-- another way has to compute.
local ffi = require 'ffi'
local types = require 'torch.core.types'
local memory = require 'torch.core.memory'
local is_apart = require('torch.core.overlap').is_apart
local few = require 'torch.luajit.elementwise'
local templates = require 'torch.core.templates'
local room = require 'torch.core.scratch'()
local no = require('torch.core.ways').no

local count, is_contiguous, first_element = memory.count, memory.is_contiguous, memory.first_element
local in_one_piece, to_be_written, put_back, is_dense, are_turned = few.in_one_piece, few.to_be_written, few.put_back,
   few.is_dense, few.are_turned
local band, bor, cast = bit.band, bit.bor, ffi.cast

local masks = {}

local MOST = 2 ^ 15 -- elements
local words = ffi.typeof 'int32_t *'

-- Whether n elements are few, or few enough to avoid loading PyTorch.
local function are_few(n) return few.LIMIT > 0 and (n <= MOST or few.fits_for_now(n)) end

-- The OR and the AND of n bytes.
local function bits_of(p, n)
   local any, all, q = 0, -1, cast(words, p)
   for k = 0, (n - n % 4) / 4 - 1 do any, all = bor(any, q[k]), band(all, q[k]) end
   for k = n - n % 4, n - 1 do
      local four = p[k] * 0x01010101
      any, all = bor(any, four), band(all, four)
   end
   return any, all
end

-- The bytes of a mask and their number; nil if this way does not apply. in_any_order: perhaps in the order of memory.
local function bytes_of(mask, in_any_order)
   local n = count(mask)
   if mask.T.host ~= types.Byte or not mask.T.here or n == 0 or not are_few(n) then
      return no 'many elements, or another mask'
   end
   local p = in_any_order and is_dense(mask) and first_element(mask) or in_one_piece(mask, 1, n)
   return p or no 'a mask that is not contiguous', n
end

-- The OR and the AND of a mask's bytes, and whether all of them are 0 or 1; nil if this way does not apply.
local function looked_at(mask)
   local p, n = bytes_of(mask, true)
   if not p then return nil end
   local any, all = bits_of(p, n)
   return any, all, band(any, 0xfefefefe) == 0
end

-- Whether all bytes are 0 or 1; whether all, or any, are nonzero.
function masks.are_valid(mask)
   local _, _, valid = looked_at(mask)
   return valid
end
function masks.all(mask)
   local any, all, valid = looked_at(mask)
   if any and valid then return true, all == 0x01010101 end
   return any and no 'bytes that are neither 0 nor 1'
end
function masks.any(mask)
   local any = looked_at(mask)
   return any, any ~= 0
end

-- Writes to `list` the positions of the ones among n bytes that are 0 or 1, and returns their number. Another thread
-- may write meanwhile: of any other byte, the lowest bit counts. The sums have 32 bits, which a processor adds four
-- times as fast as doubles.
local list_ones = templates.compile('torch.luajit.masks', [[
   return function(list, p, n)
      local k = 0
      $fours(i)
      return k
   end
]], { elements = '$each($1, ;){list[k] = i + @ k = tobit(k + band(p[i + @], 1))}' })

-- The positions (from 0) of the ones in a valid mask, valid until the next call, and their number.
function masks.places(mask)
   local p, n = bytes_of(mask)
   if not p then return false end
   local list = cast(words, room('places', 4 * n))
   return list, list_ones(list, p, n)
end

-- Functions for each element size. Elements are handled as whole numbers, so that NaNs keep their bits; traces are for
-- one size. Sets p = v where the mask is one.
local FILL = 'return function(p, mask, n, v) $fours(i) end'
local SET = '$each($1, ;){local x@ = p[i + @] p[i + @] = bxor(x@, band(bxor(x@, v), $zero - mask[i + @]))}'
-- Sets p to q's elements at the positions; or p's elements at the positions to q's.
local MOVE = [=[
   return function(p, q, places, n)
      for k = 0, n - 1 do p[k] = q[places[k]] end
   end, function(p, q, places, n)
      for k = 0, n - 1 do p[places[k]] = q[k] end
   end
]=]
local cells, select_cells, copy_cells, fill, number_cell = types.cells, {}, {}, {}, ffi.new 'int64_t[1]'
for size in pairs(cells) do
   select_cells[size], copy_cells[size] = templates.compile('torch.luajit.masks', MOVE, {})
   fill[size] = templates.compile('torch.luajit.masks', FILL, { elements = SET, zero = size == 8 and '0LL' or 0 })
end

-- Sets r's elements to a number of its type where the mask, of as many zeros and ones, is one.
function masks.fill(r, mask, number)
   local T, n = r.T, count(r)
   local size = T.size
   if not (T.here and n > 0 and are_few(n) and mask.T.host == types.Byte and is_apart(r, mask))
      or not (T.real or T.whole) then
      return no 'many elements, or a result that shares memory'
   end
   local ones, p, moved = first_element(mask), first_element(r), false
   if not are_turned(r, mask, mask) then
      ones = in_one_piece(mask, 2, n)
      if not ones then return no 'a mask that is not contiguous' end
      p, moved = to_be_written(r, 1, n)
      if not p then return no 'elements that are not contiguous' end
   end
   cast(T.pointer, number_cell)[0] = number
   fill[size](cast(cells[size], p), ones, n, cast(cells[size], number_cell)[0])
   if moved then put_back(r, p) end
   return true
end

-- Whether elements can be moved between r and s: they have one type and share no memory.
local function lie_apart(r, s) return s.T == r.T and r.T.here and is_apart(r, s) end

-- r, with n contiguous elements, = the elements of s at n positions.
function masks.select(r, s, places, n)
   if not (lie_apart(r, s) and is_contiguous(r)) then
      return no 'other types, or a result that is not contiguous or shares memory'
   end
   local q = in_one_piece(s, 2, count(s))
   if not q then return no 'elements that are not contiguous' end
   local pointer = cells[r.T.size]
   select_cells[r.T.size](cast(pointer, first_element(r)), cast(pointer, q), places, n)
   return true
end

-- Sets r's elements at n positions to the first n elements of s.
function masks.copy(r, s, places, n)
   if not lie_apart(r, s) then return no 'other types, or elements that share memory' end
   local q = in_one_piece(s, 2, count(s))
   if not q then return no 'elements that are not contiguous' end
   local p, moved = to_be_written(r, 1, count(r))
   if not p then return no 'elements that are not contiguous' end
   local pointer = cells[r.T.size]
   copy_cells[r.T.size](cast(pointer, p), cast(pointer, q), places, n)
   if moved then put_back(r, p) end
   return true
end

return masks
