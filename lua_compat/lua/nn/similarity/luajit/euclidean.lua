-- Distances of few rows to the columns of a weight.
local ffi = require 'ffi'
local memory = require 'torch.core.memory'
local is_apart = require('torch.core.overlap').is_apart
local compiled = require 'torch.core.templates'
local ways = require 'torch.core.ways'
local numbers = require 'nn.shared.luajit.as_doubles'

local luajit = ways.luajit
local count, is_contiguous, first_element, resize, resize_as = memory.count, memory.is_contiguous, memory.first_element,
   memory.resize, memory.resize_as
local sqrt, room, seen = math.sqrt, numbers.room, numbers.seen

local MOST = 2 ^ 17 -- differences

-- A function(p, from, w, inputs, outputs, s, r, c, u) of the row at p[from] and the columns of w, four or one at a
-- time: BEGIN, GO_ON with x, an input, and FINISH are for the columns j + @, of which w[k + @] is x's, and c[k + @]
-- what the difference is multiplied by. s: a number for each column.
local COLUMNS = [[
   local add = ...
   return function(p, from, w, inputs, outputs, s, r, c, u)
      local j = 0
      GROUPS
   end
]]
local GROUP = [[
   while outputs - j >= COUNT do
      BEGIN
      local k = j
      for i = 0, inputs - 1 do
         local x = p[from + i]
         GO_ON
         k = k + outputs
      end
      FINISH
      j = j + COUNT
   end
]]

local function add(a, b, c, d, e)
   if c == nil then return a + b end
   return a + b + c + d + e
end

local function of_columns(parts)
   local groups = {}
   for k, columns in ipairs{ 4, 1 } do
      groups[k] = compiled.written_out(GROUP:gsub('%f[%w]%u[%u_]+%f[%W]', parts):gsub('COUNT', columns), columns)
   end
   return compiled.from_text(COLUMNS:gsub('GROUPS', table.concat(groups)), 'nn.similarity.luajit.euclidean')(add)
end

-- s becomes the squared distances; r becomes what it is and more: the differences times s, for each input, and for each
-- element of w; u those of the elements of c.
local function begin_with_slopes(go_on)
   return of_columns{ BEGIN = 'local EACH(a@) = EACH(s[j + @])', GO_ON = go_on, FINISH = '' }
end
local function measuring(difference)
   return of_columns{
      BEGIN = 'local EACH(a@) = EACH(0)',
      GO_ON = ('local EACH(z@) = EACH(%s) EACH(a@) = EACH(a@ + z@ * z@)'):format(difference),
      FINISH = 'EACH(s[j + @]) = EACH(a@)',
   }
end
local measure, measure_scaled = measuring '(x - w[k + @])', measuring '(x - w[k + @]) * c[k + @]'
local add_for_inputs = begin_with_slopes 'r[i] = add(r[i], EACH((x - w[k + @]) * a@))'
local add_for_scaled_inputs = begin_with_slopes 'r[i] = add(r[i], EACH((x - w[k + @]) * c[k + @] * c[k + @] * a@))'
local add_for_weights = begin_with_slopes 'EACH(r[k + @]) = EACH(r[k + @] + (x - w[k + @]) * a@)'
local add_for_scaled_weights = begin_with_slopes [[
   local EACH(y@) = EACH((x - w[k + @]) * c[k + @] * a@)
   EACH(r[k + @]) = EACH(r[k + @] + y@ * c[k + @])
   EACH(u[k + @]) = EACH(u[k + @] + y@ * (x - w[k + @]))]]

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
