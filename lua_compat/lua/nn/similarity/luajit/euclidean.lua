-- Distances of few rows to the columns of a weight.
local ffi = require 'ffi'
local memory = require 'torch.core.memory'
local is_apart = require('torch.core.overlap').is_apart
local templates = require 'torch.core.templates'
local ways = require 'torch.core.ways'
local numbers = require 'nn.shared.luajit.as_doubles'

local luajit = ways.luajit
local count, is_contiguous, first_element, resize, resize_as = memory.count, memory.is_contiguous, memory.first_element,
   memory.resize, memory.resize_as
local sqrt, room, seen = math.sqrt, numbers.room, numbers.seen

local MOST = 2 ^ 17 -- differences

-- A function(p, from, w, inputs, outputs, s, r, c, u) of the row at p[from] and the columns of w, four or one at a
-- time: $begin, $go_on with x, an input, and $finish are for the columns j + @, of which w[k + @] is x's, and c[k + @]
-- what the difference is multiplied by. s: a number for each column.
local COLUMNS = [[
   return function(p, from, w, inputs, outputs, s, r, c, u)
      local j = 0
      $group(4) $group(1)
   end
]]
local GROUP = [[
   while outputs - j >= $1 do
      $begin($1)
      local k = j
      for i = 0, inputs - 1 do
         local x = p[from + i]
         $go_on($1)
         k = k + outputs
      end
      $finish($1)
      j = j + $1
   end
]]

local function add(a, b, c, d, e)
   if c == nil then return a + b end
   return a + b + c + d + e
end

local function of_columns(parts)
   parts.group = GROUP
   return templates.compile('nn.similarity.luajit.euclidean', COLUMNS, parts, { add = add })
end

-- s becomes the squared distances; r becomes what it is and more: the differences times s, for each input, and for each
-- element of w; u those of the elements of c.
local function begin_with_slopes(go_on)
   return of_columns{ begin = 'local $each($1){a@} = $each($1){s[j + @]}', go_on = go_on, finish = '' }
end
local function measuring(difference)
   return of_columns{
      begin = 'local $each($1){a@} = $each($1){0}',
      difference = difference,
      go_on = 'local $each($1){z@} = $each($1){$difference} $each($1){a@} = $each($1){a@ + z@ * z@}',
      finish = '$each($1){s[j + @]} = $each($1){a@}',
   }
end
local measure, measure_scaled = measuring '(x - w[k + @])', measuring '(x - w[k + @]) * c[k + @]'
local add_for_inputs = begin_with_slopes 'r[i] = add(r[i], $each($1){(x - w[k + @]) * a@})'
local add_for_scaled_inputs = begin_with_slopes 'r[i] = add(r[i], $each($1){(x - w[k + @]) * c[k + @] * c[k + @] * a@})'
local add_for_weights = begin_with_slopes '$each($1){r[k + @]} = $each($1){r[k + @] + (x - w[k + @]) * a@}'
local add_for_scaled_weights = begin_with_slopes [[
   local $each($1){y@} = $each($1){(x - w[k + @]) * c[k + @] * a@}
   $each($1){r[k + @]} = $each($1){r[k + @] + y@ * c[k + @]}
   $each($1){u[k + @]} = $each($1){u[k + @] + y@ * (x - w[k + @])}]]

-- Rows, inputs and outputs, and the numbers of x, of the weight and of the scales, which may be nil; nil where that is
-- for Python.
local function begin(x, weight, scales)
   if weight.nd ~= 2 or weight.T ~= x.T or x.nd ~= 1 and x.nd ~= 2 or x[2 * x.nd - 1] ~= weight[1] then return nil end
   if scales and not (scales.T == x.T and memory.same_size(scales, weight)) then return nil end
   local inputs, outputs = weight[1], weight[3]
   local rows = count(x) / inputs
   if rows * inputs * outputs > MOST then return nil end
   local p = seen('first', x)
   local w = p and seen('weight', weight)
   local c = w and scales and seen('scales', scales)
   if w and (c or not scales) then return rows, inputs, outputs, p, w, c end
end

local function zeros(name, n)
   local p = room(name, n)
   ffi.fill(p, 8 * n)
   return p
end

function luajit.euclidean(out, x, weight, scales)
   local rows, inputs, outputs, p, w, c = begin(x, weight, scales)
   if not rows or out.T ~= x.T or not is_apart(out, x, weight, scales) then return false end
   if x.nd == 2 then resize(out, 2, { rows, outputs }) else resize(out, 1, { outputs }) end
   if not is_contiguous(out) then return false end
   local r, squares, of_row = first_element(out), room('squares', outputs), c and measure_scaled or measure
   for row = 0, rows - 1 do
      of_row(p, row * inputs, w, inputs, outputs, squares, nil, c)
      for j = 0, outputs - 1 do r[row * outputs + j] = sqrt(squares[j]) end
   end
   return true
end

function luajit.euclidean_grad_input(gradient, x, slopes, weight, scales)
   local rows, inputs, outputs, p, w, c = begin(x, weight, scales)
   if not rows or gradient.T ~= x.T or slopes.T ~= x.T or count(slopes) ~= rows * outputs
      or not is_apart(gradient, x, slopes, weight) then
      return false
   end
   if scales and not is_apart(gradient, scales) then return false end
   local s = seen('slopes', slopes)
   if not s then return false end
   resize_as(gradient, x)
   if not is_contiguous(gradient) then return false end
   local sums, add_row = zeros('sums', rows * inputs), c and add_for_scaled_inputs or add_for_inputs
   for row = 0, rows - 1 do add_row(p, row * inputs, w, inputs, outputs, s + row * outputs, sums + row * inputs, c) end
   return numbers.write(gradient, sums, 1)
end

function luajit.euclidean_grad_parameters(grad_weight, grad_scales, x, slopes, weight, scales, scale)
   local rows, inputs, outputs, p, w, c = begin(x, weight, scales)
   if not rows or slopes.T ~= x.T or count(slopes) ~= rows * outputs
      or not numbers.takes(grad_weight, weight, x, slopes) then
      return false
   end
   if (not scales) ~= (not grad_scales) then return false end
   if scales and not (numbers.takes(grad_scales, scales, x, slopes) and is_apart(grad_scales, grad_weight, weight)
      and is_apart(grad_weight, scales)) then
      return false
   end
   local s = seen('slopes', slopes)
   if not s then return false end
   local sums, add_row = zeros('sums', inputs * outputs), c and add_for_scaled_weights or add_for_weights
   local of_scales = c and zeros('of_scales', inputs * outputs)
   for row = 0, rows - 1 do add_row(p, row * inputs, w, inputs, outputs, s + row * outputs, sums, c, of_scales) end
   numbers.add_to(grad_weight, sums, -scale)
   if c then numbers.add_to(grad_scales, of_scales, x.nd == 1 and 1 or scale) end -- as in Torch7
   return true
end
