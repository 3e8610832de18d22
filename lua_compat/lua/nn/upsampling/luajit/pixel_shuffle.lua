-- Groups of planes turned into larger images, and back, for few elements.
local ffi = require 'ffi'
local memory = require 'torch.core.memory'
local types = require 'torch.core.types'
local templates = require 'torch.core.templates'
local luajit, no = require('torch.core.ways').of_kernels()
local gates = require 'nn.shared.luajit.gates'

local count, first_element, cast = memory.count, memory.first_element, ffi.cast

local MOST = 2 ^ 16 -- elements; PyTorch copies larger images faster

-- Element k of the planes at q is element `at` of the larger images at p. Each group of planes, one for each pixel of a
-- block of factor x factor pixels, becomes one image.
local LOOP = [[
   return function(p, q, planes, height, width, factor)
      local k, row, block = 0, width * factor, factor * factor
      for plane = 0, planes - 1 do
         local part = plane % block
         local column = part % factor
         local first = (plane - part) * height * width + (part - column) / factor * row + column
         for y = 0, height - 1 do
            local at = first + y * factor * row
            for _ = 1, width do
               $move
               at, k = at + factor, k + 1
            end
         end
      end
      return true
   end
]]
local function loops(move)
   return templates.for_each({ 4, 8 }, function(size)
      return templates.compile('nn.upsampling.luajit.pixel_shuffle', LOOP, { move = move }, { size = size })
   end)
end
local enlarge, gather = loops 'p[at] = q[k]', loops 'q[k] = p[at]'

local function pointer(t) return cast(types.cells[t.T.size], first_element(t)) end

-- The planes of all images, their height and width; nil where Python has to compute.
local function sizes_of(x, factor)
   if not (gates.planes(x, 2) and gates.whole(1, factor) and gates.few_for_now(count(x), MOST)) then return nil end
   local last = 2 * x.nd - 1
   if x[last - 4] % (factor * factor) ~= 0 then return no 'planes that form no groups' end
   return (x.nd == 4 and x[1] or 1) * x[last - 4], x[last - 2], x[last]
end

function luajit.pixel_shuffle(out, x, factor)
   local planes, height, width = sizes_of(x, factor)
   return planes and gates.result(out, x, height * factor, width * factor, x[2 * x.nd - 5] / factor ^ 2)
      and enlarge(x.T.size)(pointer(out), pointer(x), planes, height, width, factor)
end

function luajit.pixel_shuffle_gradient(gradient, x, grad_output, factor)
   local planes, height, width = sizes_of(x, factor)
   return planes
      and gates.gradient(gradient, x, grad_output, height * factor, width * factor, x[2 * x.nd - 5] / factor ^ 2)
      and gather(x.T.size)(pointer(grad_output), pointer(gradient), planes, height, width, factor)
end
