-- Distances of few rows to the columns of a weight, as nn/few.lua says.
local math = require('th.own').math
local ffi = require 'ffi'
local memory = require 'torch.memory'
local is_apart = require('torch.apart').is_apart
local compiled = require 'torch.compiled'
local kernels = require 'torch.kernels'
local numbers = require 'nn.few.numbers'

local count, is_contiguous, first_element, resize, resize_as = memory.count, memory.is_contiguous, memory.first_element, memory.resize, memory.resize_as
local sqrt, in_lua, room, seen = math.sqrt, kernels.in_lua, numbers.room, numbers.seen

local MOST = 2 ^ 17  -- differences
local EPSILON = 1e-7 -- so that no distance is zero

-- A function(p, from, w, inputs, outputs, s, r) of the row at p[from] and the columns of w, four or one at a time: BEGIN, GO_ON with x, an input,
-- and FINISH are for the columns j + @, of which w[k + @] is x's. s: a number for each column.
local COLUMNS = [[
   local add = ...
   return function(p, from, w, inputs, outputs, s, r)
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
   return compiled.from_text(COLUMNS:gsub('GROUPS', table.concat(groups)), 'nn.few.distances')(add)
end

-- s becomes the squared distances; r becomes what it is and more: the differences times s, for each input, and for each element of w.
local measure = of_columns{
   BEGIN = 'local EACH(a@) = EACH(0)',
   GO_ON = 'local EACH(z@) = EACH(x - w[k + @]) EACH(a@) = EACH(a@ + z@ * z@)',
   FINISH = 'EACH(s[j + @]) = EACH(a@)',
}
local SLOPES = 'local EACH(a@) = EACH(s[j + @])'
local add_for_inputs = of_columns{ BEGIN = SLOPES, GO_ON = 'r[i] = add(r[i], EACH((x - w[k + @]) * a@))', FINISH = '' }
local add_for_weights = of_columns{ BEGIN = SLOPES, GO_ON = 'EACH(r[k + @]) = EACH(r[k + @] + (x - w[k + @]) * a@)', FINISH = '' }

-- Rows, inputs and outputs, and the numbers of x and of the weight; nil where that is for Python.
local function begin(x, weight, scales)
   if scales or weight.nd ~= 2 or weight.T ~= x.T or x.nd ~= 1 and x.nd ~= 2 or x[2 * x.nd - 1] ~= weight[1] then return nil end
   local inputs, outputs = weight[1], weight[3]
   local rows = count(x) / inputs
   if rows * inputs * outputs > MOST then return nil end
   local p = seen('first', x)
   local w = p and seen('weight', weight)
   if w then return rows, inputs, outputs, p, w end
end

-- What the gradients g[at] and on say of each column's differences.
local function slopes_of(p, from, w, inputs, outputs, g, at)
   local slopes = room('slopes', outputs)
   measure(p, from, w, inputs, outputs, slopes)
   for j = 0, outputs - 1 do slopes[j] = g[at + j] / (sqrt(slopes[j]) + EPSILON) end
   return slopes
end

local function zeros(name, n)
   local p = room(name, n)
   ffi.fill(p, 8 * n)
   return p
end

function in_lua.euclidean(out, x, weight, scales)
   local rows, inputs, outputs, p, w = begin(x, weight, scales)
   if not rows or out.T ~= x.T or not is_apart(out, x, weight) then return false end
   if x.nd == 2 then resize(out, 2, { rows, outputs }) else resize(out, 1, { outputs }) end
   if not is_contiguous(out) then return false end
   local r, squares = first_element(out), room('slopes', outputs)
   for row = 0, rows - 1 do
      measure(p, row * inputs, w, inputs, outputs, squares)
      for j = 0, outputs - 1 do r[row * outputs + j] = sqrt(squares[j]) end
   end
   return true
end

function in_lua.euclidean_grad_input(gradient, x, grad_output, weight, scales)
   local rows, inputs, outputs, p, w = begin(x, weight, scales)
   if not rows or gradient.T ~= x.T or count(grad_output) ~= rows * outputs or not is_apart(gradient, x, grad_output, weight) then return false end
   local g = seen('gradients', grad_output)
   if not g then return false end
   resize_as(gradient, x)
   if not is_contiguous(gradient) then return false end
   local sums = zeros('sums', rows * inputs)
   for row = 0, rows - 1 do
      local from = row * inputs
      add_for_inputs(p, from, w, inputs, outputs, slopes_of(p, from, w, inputs, outputs, g, row * outputs), sums + from)
   end
   return numbers.write(gradient, sums, 1)
end

function in_lua.euclidean_grad_parameters(grad_weight, grad_scales, x, grad_output, weight, scales, scale)
   local rows, inputs, outputs, p, w = begin(x, weight, scales)
   if not rows or grad_scales or grad_weight.T ~= x.T or count(grad_output) ~= rows * outputs or not memory.same_size(grad_weight, weight) then return false end
   if not is_contiguous(grad_weight) or not is_apart(grad_weight, x, grad_output, weight) then return false end
   local g = seen('gradients', grad_output)
   if not g then return false end
   local sums = zeros('sums', inputs * outputs)
   for row = 0, rows - 1 do
      local from = row * inputs
      add_for_weights(p, from, w, inputs, outputs, slopes_of(p, from, w, inputs, outputs, g, row * outputs), sums)
   end
   local r, get = first_element(grad_weight), x.T.get
   for k = 0, inputs * outputs - 1 do r[k] = get(r, k) - scale * sums[k] end
   return true
end
