-- Python's kernels, called with tensors: what the arguments are follows from each kernel's signature
-- (lua_compat/runtime/bridge.py). kernels.of_records[name] takes records, kernels.of_tensors[name] takes userdata; nil stands
-- for a tensor that is left out. Tensors that the kernel resized are brought up to date.
local memory = require 'torch.memory'
local compiled = require 'torch.compiled'
local shared = require 'th.python'

local select, type, error = select, type, error

-- Kernels that Lua computes itself where that is faster: functions of the same arguments, tensors as records, that give
-- whether they did, and the result (nn/few.lua).
local in_lua = {}

local relay -- relaid for each resized tensor in turn: result, layout, layout...

-- Gives whether all of them, and those before (fit), lie within their memory.
local function relay_rest(outs, k, fit, nd, ...)
   local out = outs[k]
   if not out then return fit end
   if nd == -1 then return relay_rest(outs, k + 1, fit, ...) end
   fit = memory.relaid(out, nd, ...) and fit
   return relay_rest(outs, k + 1, fit, select(2 * nd + 3, ...))
end

-- A kernel with resized tensors returns nothing or one result when all stayed as they were. One that raised an error when
-- it had resized some returns FAILED.
local FAILED = '\0failed'
function relay(outs, result, ...)
   local fit = select('#', ...) == 0 or relay_rest(outs, 1, true, ...)
   if result == FAILED then shared.functions.raise_kept() end
   if not fit then error('a kernel left a tensor that reaches outside its memory', 0) end
   return result
end

-- compute(...) with records in place of tensors, by the number of arguments: LuaJIT gives up a recursion.
local with_records = {}
local function make_with_records(n)
   local parameters, passed = {}, {}
   for k = 1, n do parameters[k], passed[k] = ', a' .. k, (', records[a%d] or a%d'):format(k, k) end
   local source = ('local records = ... return function(compute%s) return compute(%s) end'):format(table.concat(parameters),
      table.concat(passed):sub(3))
   with_records[n] = compiled.from_text(source, 'torch.kernels')(memory.records)
   return with_records[n]
end
local MOST_ARGUMENTS = 32
compiled.on_first_use(function()
   for n = 0, MOST_ARGUMENTS do make_with_records(n) end
end)

local function compute_in_lua(lookup, compute, ...)
   if lookup == '%s' then return compute(...) end
   local n = select('#', ...)
   return (with_records[n] or make_with_records(n))(compute, ...)
end

-- What a kernel takes beside tensors: PyTorch is given no object of Lua's.
local PLAIN = { number = true, string = true, boolean = true, ['nil'] = true, cdata = true }
local function plain(value)
   if not PLAIN[type(value)] then error(('number expected, got %s'):format(torch.typename(value) or type(value)), 0) end
   return value
end
local function plain_all(...)
   for k = 1, select('#', ...) do plain((select(k, ...))) end
   return ...
end

local function build(name, lookup)
   local signature = shared.functions.signature(name)
   local parameters, lines, passed, given, outs = {}, {}, {}, {}, {}
   for k = 1, #signature do
      local letter = signature:sub(k, k)
      if letter == '*' or letter == '+' then
         parameters[k], passed[k], given[k] = '...', letter == '*' and 'handles(...)' or 'plain_all(...)', '...'
      else
         parameters[k] = 'a' .. k
         if letter == 'o' or letter == 't' then
            lines[#lines + 1] = ('   local r%d = %s'):format(k, lookup:format('a' .. k))
            given[k] = 'r' .. k
            passed[k] = ('r%d and %s(r%d) or 0'):format(k, letter == 'o' and 'resizable_handle' or 'handle', k)
            if letter == 'o' then outs[#outs + 1] = 'r' .. k end
         else
            passed[k], given[k] = ('plain(a%d)'):format(k), 'a' .. k
         end
      end
   end
   local call = ('kernel(%s)'):format(table.concat(passed, ', '))
   if #outs > 0 then call = ('relay({ %s }, %s)'):format(table.concat(outs, ', '), call) end
   if in_lua[name] then
      lines[#lines + 1] = ('   local done, result = in_lua(%s)\n   if done then return result end'):format(table.concat(given, ', '))
   end
   local names = 'kernel, handle, resizable_handle, handles, relay, records, in_lua, plain, plain_all'
   local source = ('local %s = ...\nreturn function(%s)\n%s\n   return %s\nend'):format(names,
      table.concat(parameters, ', '), table.concat(lines, '\n'), call)
   local function handles(first, ...)
      if first == nil then return end
      return memory.handle(lookup == '%s' and first or memory.records[first]), handles(...)
   end
   return compiled.from_text(source, 'kernel ' .. name)(shared.functions[name], memory.handle, memory.resizable_handle,
      handles, relay, memory.records, in_lua[name], plain, plain_all)
end

-- A kernel's function is built when Python is first called: PyTorch, which knows what the kernel takes, is loaded for that.
-- Gives a function that does so, and one that has it built.
local function way_to(name, lookup, by_name)
   local built
   local function make()
      built = build(name, lookup)
      by_name[name] = built
   end
   return function(...)
      if built then return built(...) end
      local compute = in_lua[name]
      if compute then
         local done, result = compute_in_lua(lookup, compute, ...)
         if done then return result end
      end
      make()
      return built(...)
   end, make
end

local function on_demand(lookup)
   local make = {}
   local adaptors = setmetatable({}, { __index = function(self, name)
      self[name], make[name] = way_to(name, lookup, self)
      return self[name]
   end })
   compiled.on_first_use(function()
      for _, name in ipairs(shared.names) do
         if shared.functions.signature(name) and adaptors[name] then make[name]() end
      end
   end)
   return adaptors
end

return {
   of_records = on_demand('%s'),
   of_tensors = on_demand('records[%s]'),
   in_lua = in_lua,
}
