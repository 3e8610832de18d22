-- Distances of few rows to the columns of a weight.
local ffi = require 'ffi'
local memory = require 'torch.core.memory'
local templates = require 'torch.core.templates'
local luajit, no = require('torch.core.ways').of_kernels()
local gates = require 'nn.shared.luajit.gates'
local numbers = require 'nn.shared.luajit.as_doubles'

local count, first_element = memory.count, memory.first_element
local sqrt, room, seen = math.sqrt, numbers.room, numbers.seen

local MOST = 2 ^ 17 -- differences

-- A function of the row at p and the columns of a weight with numbers w, four or one at a time: $begin, $go_on with an
-- input x, and $finish handle the columns j + @, whose number for x is w[k + @], with scale c[k + @]. s: a number for
-- each column.
local COLUMNS = [[
   return function(weight, p, w, c, s, r, u)
      local j, inputs, outputs = 0, weight[1], weight[3]
      $group(4) $group(1)
   end
]]
local GROUP = [[
   while outputs - j >= $1 do
      $begin($1)
      local k = j
      for i = 0, inputs - 1 do
         local x = p[i]
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

-- measure... set s to the squared distances. add_for... add the differences times s to r: for each input, or for each
-- element of w; and those for the elements of c to u.
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

-- The number of rows, and the numbers of x, of the weight and of the scales, which may be nil; nil if Python has to
-- compute.
local function begin(x, weight, scales)
   if weight.nd ~= 2 or x.nd ~= 1 and x.nd ~= 2 or x[2 * x.nd - 1] ~= weight[1] then return no 'rows of other sizes' end
   if not gates.typed(x.T, x, weight, scales) or scales and not gates.same_size(scales, weight) then return nil end
   local rows = count(x) / weight[1]
   if not gates.within(rows * weight[1] * weight[3], MOST, 'more than %d differences') then return nil end
   local p = seen('first', x)
   local w = p and seen('weight', weight)
   local c = w and scales and seen('scales', scales)
   if w and (c or not scales) then return rows, p, w, c end
end

local function zeros(name, n)
   local p = room(name, n)
   ffi.fill(p, 8 * n)
   return p
end

function luajit.euclidean(out, x, weight, scales)
   local rows, p, w, c = begin(x, weight, scales)
   local inputs, outputs = weight[1], weight[3]
   if not (rows and gates.typed(x.T, out) and gates.apart(out, x, weight, scales)
      and gates.resized(out, x.nd, x.nd == 2 and { rows, outputs } or { outputs })) then
      return false
   end
   local r, squares, of_row = first_element(out), room('squares', outputs), c and measure_scaled or measure
   for row = 0, rows - 1 do
      of_row(weight, p + row * inputs, w, c, squares)
      for j = 0, outputs - 1 do r[row * outputs + j] = sqrt(squares[j]) end
   end
   return true
end

-- The outputs' gradients divided by the outputs, as doubles.
local function slopes_of(x, slopes, n)
   if count(slopes) ~= n then return no 'tensors of different sizes' end
   return gates.typed(x.T, slopes) and seen('slopes', slopes)
end

function luajit.euclidean_grad_input(gradient, x, slopes, weight, scales)
   local rows, p, w, c = begin(x, weight, scales)
   local inputs, outputs = weight[1], weight[3]
   local s = rows and gates.typed(x.T, gradient) and gates.apart(gradient, x, slopes, weight)
      and (not scales or gates.apart(gradient, scales)) and slopes_of(x, slopes, rows * outputs)
   if not s or not gates.resized_as(gradient, x) then return false end
   local sums, add_row = zeros('sums', rows * inputs), c and add_for_scaled_inputs or add_for_inputs
   for row = 0, rows - 1 do add_row(weight, p + row * inputs, w, c, s + row * outputs, sums + row * inputs) end
   return numbers.write(gradient, sums, 1)
end

function luajit.euclidean_grad_parameters(grad_weight, grad_scales, x, slopes, weight, scales, scale)
   if (not scales) ~= (not grad_scales) then return no 'scales without gradients' end
   local rows, p, w, c = begin(x, weight, scales)
   local inputs, outputs = weight[1], weight[3]
   if not rows or not numbers.takes(grad_weight, weight, x, slopes) or scales
      and not (numbers.takes(grad_scales, scales, x, slopes) and gates.lies_apart(grad_scales, grad_weight, weight)
      and gates.lies_apart(grad_weight, scales)) then
      return false
   end
   local s = slopes_of(x, slopes, rows * outputs)
   if not s then return false end
   local sums, add_row = zeros('sums', inputs * outputs), c and add_for_scaled_weights or add_for_weights
   local of_scales = c and zeros('of_scales', inputs * outputs)
   for row = 0, rows - 1 do add_row(weight, p + row * inputs, w, c, s + row * outputs, sums, of_scales) end
   numbers.add_to(grad_weight, sums, -scale)
   if c then numbers.add_to(grad_scales, of_scales, x.nd == 1 and 1 or scale) end -- as in Torch7
   return true
end
