-- Calls Python's kernels with tensors. The arguments follow from each kernel's signature
-- (lua_compat/runtime/bridge.py). kernels.of_records[name] takes records, kernels.of_tensors[name] takes userdata; nil
-- stands for an omitted tensor. Tensors that the kernel resized are updated.
--
-- Whether Lua or Python computes, it receives what the signature says: tensors, and plain numbers, booleans and strings
-- (core/arguments.lua). Arguments are checked once, here; from then until the kernel returns, no function of the script
-- runs. kernels.of_layers is of_tensors for nn: all its tensors of real numbers must have one type.
local memory = require 'torch.core.memory'
local arguments = require 'torch.core.arguments'
local signatures = require 'torch.core.signatures'
local templates = require 'torch.core.templates'
local class = require 'torch.core.class'
local shared = require 'th.python'

local select, type, error = select, type, error
local functions, records = shared.functions, memory.records

-- Kernels that Lua computes itself where that is faster: functions of the same arguments, with tensors as records.
local in_lua = require('torch.core.ways').luajit

local relay -- updates each resized tensor in turn; takes result, layout, layout...

-- Returns whether all these tensors, and those before (fit), lie within their memory.
local function relay_rest(outs, k, fit, nd, ...)
   local out = outs[k]
   if not out then return fit end
   if nd == -1 then return relay_rest(outs, k + 1, fit, ...) end
   fit = memory.relaid(out, nd, ...) and fit
   return relay_rest(outs, k + 1, fit, select(2 * nd + 3, ...))
end

-- A kernel whose tensors kept their shapes returns nothing or one result. One that raised an error after resizing a
-- tensor returns FAILED.
local FAILED = '\0failed'
function relay(outs, result, ...)
   local fit = select('#', ...) == 0 or relay_rest(outs, 1, true, ...)
   if result == FAILED then functions.raise_kept() end
   if not fit then error('a kernel left a tensor that reaches outside its memory', 0) end
   return result
end

local function refuse_tensor(value)
   if value then error(('tensor expected, got %s'):format(class.typename(value) or type(value)), 0) end
end

-- Raises Torch7's error where one of the other tensors, which may be nil, has another type of real numbers than the
-- first. (On a device, cunn accepts some other types.)
local function check_type(first, other, ...)
   if other and other.T ~= first.T and other.T.real and first.T.real and other.T.here and first.T.here then
      local text = "bad argument #3 to 'v' (cannot convert 'struct TH%sTensor *' to 'struct TH%sTensor *')"
      error(text:format(other.T.name, first.T.name), 0)
   end
   if select('#', ...) > 0 then return check_type(first, ...) end
end

-- The conversion for each argument letter (core/arguments.lua).
local CONVERT = { i = 'whole', d = 'number', n = 'scalar', b = 'flag', s = 'text' }
local MORE = { ['#'] = 'i', ['+'] = 'd', ['$'] = 's' }

local function check_of(letter, name)
   local kind = letter:lower()
   local condition = ('$is_no_%s(%s)'):format(CONVERT[kind], name)
   if kind ~= letter then condition = ("type(%s) ~= 'nil' and (%s)"):format(name, condition) end
   return ('if %s then %s = %s(%s) end'):format(condition, name, CONVERT[kind], name)
end

local function converted(convert, n, first, ...)
   if n > 0 then return convert(first), converted(convert, n - 1, ...) end
end

local KERNEL = [[
   return function($parameters)
      $lines
      return $call
   end
]]
local used = { functions = functions, records = records, memory = memory, converted = converted,
   refuse_tensor = refuse_tensor, check_type = check_type, relay = relay }
for name, value in pairs(arguments) do used[name] = value end

-- Code that checks that the tensors of these letters have one type: that of the first input.
local function check_of_types(letters)
   local first = letters:find 't'
   local conditions, others = {}, {}
   for k = 1, #letters do
      if k ~= first and letters:find('^[ot]', k) then
         others[#others + 1] = 'r' .. k
         conditions[#conditions + 1] = ('r%d and r%d.T ~= r%d.T'):format(k, k, first or k)
      end
   end
   if not first or #others == 0 then return end
   return ('if r%d and (%s) then check_type(r%d, %s) end'):format(first, table.concat(conditions, ' or '), first,
      table.concat(others, ', '))
end

-- Builds the function for arguments of these letters. trusted: tensors are passed as records; one_type: they must have
-- one type.
local function from_letters(name, letters, trusted, one_type)
   local parameters, lines, passed, given, outs = {}, {}, {}, {}, {}
   for k = 1, #letters do
      local letter, a, r = letters:sub(k, k), 'a' .. k, 'r' .. k
      parameters[k] = a
      if letter == '*' then
         parameters[k], passed[k] = '...', 'handles(...)'
      elseif MORE[letter] then
         parameters[k], passed[k] = '...',
            ("converted(%s, select('#', ...), ...)"):format(letter == '+' and 'signed_number' or CONVERT[MORE[letter]])
      elseif letter == 'o' or letter == 't' then
         if trusted then
            lines[#lines + 1] = ('local %s = %s'):format(r, a)
         else
            lines[#lines + 1] = ('local %s = records[%s]'):format(r, a)
            lines[#lines + 1] = ('if not (%s and %s.nd) then %s = refuse_tensor(%s) end'):format(r, r, r, a)
         end
         given[k] = r
         passed[k] = ('%s and memory.%s(%s) or 0'):format(r, letter == 'o' and 'resizable_handle' or 'handle', r)
         if letter == 'o' then outs[#outs + 1] = r end
      else
         lines[#lines + 1] = check_of(letter, a)
         given[k], passed[k] = a, letter:find '[dDnN]' and ('signed(%s)'):format(a) or a
      end
   end
   if one_type then lines[#lines + 1] = check_of_types(letters) end
   local call = ('functions[%q](%s)'):format(name, table.concat(passed, ', '))
   if #outs > 0 then call = ('relay({ %s }, %s)'):format(table.concat(outs, ', '), call) end
   if in_lua[name] then
      lines[#lines + 1] = ('local done, result = in_lua(%s)'):format(table.concat(given, ', '))
      lines[#lines + 1] = 'if done then return result end'
   end
   local function handles(first, ...)
      if first == nil then return end
      local r = trusted and first or records[first]
      if not (r and r.nd) then refuse_tensor(first) end
      return memory.handle(r), handles(...)
   end
   return templates.compile('kernel ' .. name, KERNEL, { parameters = table.concat(parameters, ', '),
      lines = table.concat(lines, '\n'), call = call },
      setmetatable({ in_lua = in_lua[name], handles = handles }, { __index = used }))
end

local MOST_MORE = 16

-- A kernel that Lua computes has one function for each number of further arguments, because LuaJIT does not compile the
-- recursion that would otherwise convert them.
local function build(name, trusted, one_type)
   local letters = signatures[name] or functions.signature(name)
   local more = in_lua[name] and MORE[letters:sub(-1)]
   if not more then return from_letters(name, letters, trusted, one_type) end
   local fixed, of_count = #letters - 1, {}
   local function make(count)
      if count > fixed + MOST_MORE then error(('%s: at most %d arguments'):format(name, fixed + MOST_MORE), 0) end
      of_count[count] = from_letters(name, letters:sub(1, -2) .. more:rep(count - fixed), trusted, one_type)
      return of_count[count]
   end
   templates.on_first_use(function()
      for count = 0, fixed + MOST_MORE do make(count) end
   end)
   return function(...)
      local count = select('#', ...)
      return (of_count[count] or make(count))(...)
   end
end

-- A kernel's function is built on its first call. Returns a function that does so, and one that builds it at once.
local function way_to(name, trusted, one_type)
   local built
   local function make()
      built = shared.run_once(build)(name, trusted, one_type)
      return built
   end
   return function(...) return (built or make())(...) end, make
end

local function on_demand(trusted, one_type)
   local make = {}
   local adaptors = setmetatable({}, { __index = function(self, name)
      self[name], make[name] = way_to(name, trusted, one_type)
      return self[name]
   end })
   templates.on_first_use(function()
      for _, name in ipairs(shared.names) do
         if functions.signature(name) and adaptors[name] then make[name]() end
      end
   end)
   return adaptors
end

return {
   of_records = on_demand(true),
   of_tensors = on_demand(false),
   of_layers = on_demand(false, true),
}
