-- Torch7's overloaded functions: torch.add(t, 1), torch.add(r, t, 2, u), t:add(u)...
--
-- A function is declared by the argument lists that it accepts, each with the function that computes it:
--    define('add', { 'R t n', add_scalar, 'R t n=1 T', add_scaled })
-- An argument is one word:
--    R  result: created if absent in torch.name(...); the object itself in t:name(...) (R=1: where the text of an
--       error shows it as an argument that may be omitted)
--    t  source: first tensor of torch.name(...); in t:name(...) absent means the result itself
--    r  result: created if absent, in both forms          o  result that must be given
--    N, M  result that is always created; an error's text shows no variant with N, and one of its own with M
--    l, b, j  a LongTensor, ByteTensor, IntTensor result: created if absent
--    Q, J  a LongTensor, IntTensor result that must be given    K  an IntTensor result that is always created
--    T  a tensor of the type; T2: of 2 dimensions         L, D, F  a LongTensor, DoubleTensor, FloatTensor
--    A  a table of tensors
--    n  a number of the element type   d  any number   s  any number, called one of the element type
--    a  any number, of a whole type a whole one   m  a whole number   k  a whole number, called int
--    i  a dimension                    B  a boolean
--    c:UL  a string that starts with U or L               G  a random generator, absent: the default one
-- word=default makes an argument optional; default nil is left to the computing function. The computing function gets
-- records for tensors (core/memory.lua), numbers and booleans. If there are results, they are what the function
-- returns; otherwise it returns what the computing function returns.
local types = require 'torch.core.types'
local memory = require 'torch.core.memory'
local class = require 'torch.core.class'
local errors = require 'torch.core.errors'
local templates = require 'torch.core.templates'

local records, tobit = memory.records, bit.tobit
local overloads = {}

local GENERATOR_TAG = 8
overloads.GENERATOR_TAG = GENERATOR_TAG

local kinds = { ['nil'] = 0, number = 1, boolean = 2, string = 3, table = 4, ['function'] = 5, userdata = 6,
   cdata = 7, thread = 9 }

local new_result = { R = 'T', r = 'T', N = 'T', M = 'T', l = 'Long', b = 'Byte', j = 'Int', K = 'Int' }
local is_result = { R = true, N = true, M = true, r = true, o = true, l = true, b = true, j = true, Q = true, J = true,
   K = true }
local always_created = { N = true, M = true, K = true }
local always_optional = { r = true, l = true, b = true, j = true, G = true }
local type_of_letter = { L = 'Long', l = 'Long', Q = 'Long', b = 'Byte', j = 'Int', J = 'Int', K = 'Int', D = 'Double',
   F = 'Float' }
local tag_of_letter = { n = 1, d = 1, s = 1, a = 1, m = 1, k = 1, i = 1, B = 2, c = 3, A = 4, G = GENERATOR_TAG }

local function parse(list)
   local parameters = {}
   for word in list:gmatch('%S+') do
      local p = {}
      p.letter, p.detail = word:match('^(%a):?([^=]*)')
      local default = word:match('=(.*)$')
      p.optional = default ~= nil or always_optional[p.letter] or false
      p.default = default or 'nil'
      parameters[#parameters + 1] = p
   end
   return parameters
end

local function tag(p, T)
   local of = type_of_letter[p.letter]
   return tag_of_letter[p.letter] or (of and types.beside(T, of) or T).tensor_tag
end

local function optional(p, method)
   if p.letter == 'R' then return not method end
   if p.letter == 't' then return method end
   return p.optional
end

-- All ways to omit optional arguments, fewest arguments first.
local function choices(parameters, method)
   local all = { {} }
   for index, p in ipairs(parameters) do
      local longer = {}
      for _, given in ipairs(always_created[p.letter] and {} or all) do
         if optional(p, method) then longer[#longer + 1] = given end
         local with = { unpack(given) }
         with[#with + 1] = index
         longer[#longer + 1] = with
      end
      if not always_created[p.letter] then all = longer end
   end
   table.sort(all, function(a, b)
      if #a ~= #b then return #a < #b end
      for i = 1, #a do
         if a[i] ~= b[i] then return a[i] < b[i] end
      end
      return false
   end)
   return all
end

local function condition(p, k)
   if p.detail ~= '' then
      if p.letter == 'c' then return ('starts(a%d, %q)'):format(k, p.detail) end
      return ('r%d.nd == %s'):format(k, p.detail)
   end
   if p.letter == 'A' then return ('#a%d > 0'):format(k) end
end

-- The Lua code for one way of calling: "if key == ... then ... end".
local function branch(parameters, given, T, variant)
   local key, conditions, place = 0, {}, {}
   for k, index in ipairs(given) do
      local p = parameters[index]
      key = key + tag(p, T) * 64 ^ (k - 1)
      place[index] = k - 1
      conditions[#conditions + 1] = condition(p, k - 1)
   end
   local test = ('key == %.0f and count == %d'):format(key, #given) -- a trailing nil counts as an argument
   if #conditions > 0 then test = test .. ' and ' .. table.concat(conditions, ' and ') end
   local lines = { ('   if %s then'):format(test) }
   local passed, results = {}, {}
   local first_result
   for index, p in ipairs(parameters) do
      local k = place[index]
      local letter = p.letter
      local value
      if is_result[letter] then
         if k then
            value, results[#results + 1] = 'r' .. k, 'a' .. k
         else
            local of = new_result[letter] == 'T' and 'T' or 'types.' .. types.beside(T, new_result[letter]).name
            lines[#lines + 1] = ('      local u%d, q%d = new(%s)'):format(index, index, of)
            value, results[#results + 1] = 'q' .. index, 'u' .. index
         end
         first_result = first_result or value
      elseif letter == 't' then
         value = k and 'r' .. k or first_result
      elseif not k then
         value = letter == 'G' and 'default_generator()' or p.default
      elseif letter == 'T' or letter == 'L' or letter == 'D' or letter == 'F' or letter == 'G' then
         value = 'r' .. k
      elseif letter == 'n' and not T.name:match('Double$') then
         value = ('cast(a%d)'):format(k)
      elseif letter == 'i' then
         value = ('dimension(a%d)'):format(k)
      elseif letter == 'm' or letter == 'k' or letter == 'a' and T.integer then
         value = ('whole(a%d)'):format(k)
      elseif letter == 'c' then
         value = ('a%d:sub(1, 1)'):format(k)
      else
         value = 'a' .. k
      end
      passed[#passed + 1] = value
   end
   local call = ('compute%d(%s)'):format(variant, table.concat(passed, ', '))
   if #results > 0 then
      lines[#lines + 1] = '      ' .. call
      lines[#lines + 1] = '      return ' .. table.concat(results, ', ')
   else
      -- not a tail call: errors.lua identifies the caller by the chunk's name
      lines[#lines + 1] = ('      return (%s)'):format(call)
   end
   lines[#lines + 1] = '   end'
   return key, test, table.concat(lines, '\n')
end

local c_names = { Byte = 'unsigned char', Char = 'char', Short = 'short', Int = 'int', Long = 'long', Half = 'half',
   Float = 'float',
   Double = 'double' }

local function described(p, T, method)
   local letter = p.letter
   local of = type_of_letter[letter]
   local text
   if letter == 'n' or letter == 's' then text = c_names[T.host.name]
   elseif letter == 'd' then text = 'double'
   elseif letter == 'a' then text = T.integer and 'long' or 'double'
   elseif letter == 'm' then text = 'long'
   elseif letter == 'k' then text = 'int'
   elseif letter == 'i' then text = 'index'
   elseif letter == 'B' then text = 'boolean'
   elseif letter == 'G' then text = 'Generator'
   elseif letter == 'A' then text = ('{%sTensor+}'):format(T.name)
   elseif letter == 'c' then text = '(' .. p.detail:gsub('.', '%0|'):sub(1, -2) .. ')'
   else
      text = (of and types.beside(T, of) or T).name .. 'Tensor'
      if p.detail ~= '' then text = text .. '~' .. p.detail .. 'D' end
   end
   if is_result[letter] then text = '*' .. text .. '*' end
   if optional(p, method) or p.optional then text = '[' .. text .. ']' end
   return text
end

-- A value's type as it appears in errors of overloaded functions: a string that reads as a number is a number.
local function type_of_argument(value)
   local name = class.typename(value)
   if name then return (name:gsub('^torch%.', '')) end
   local kind = type(value)
   if kind == 'string' and tonumber(value) then return 'number' end
   return (kind == 'function' or kind == 'thread' or kind == 'cdata') and '???' or kind
end

-- Raises the error for arguments that fit none of the ways of calling, which are in `expected`.
function overloads.refuse(expected, method, ...)
   local got = {}
   for i = 1, select('#', ...) do got[i] = type_of_argument((select(i, ...))) end
   local given = #got > 0 and table.concat(got, ' ') .. ' ' or 'no arguments provided'
   local text = ('invalid arguments: %s\nexpected arguments: %s'):format(given, expected)
   if method then errors.raise(text) end
   error(text, 0)
end

-- The same for a function that creates its result if none is given. In `usage` the result, marked with `*`, is
-- optional; a method already has one.
function overloads.refuse_result(usage, method, ...)
   overloads.refuse(method and usage or usage:gsub('%*%S*', '[%0]', 1), method, ...)
end

local function usage_error(variants, T, method, ...)
   local expected = {}
   local makes_results = false -- 'N': the previous variant, with optional results
   for _, variant in ipairs(variants) do makes_results = makes_results or variant.parameters[1].letter == 'N' end
   for _, variant in ipairs(variants) do
      local words = {}
      for _, p in ipairs(variant.parameters) do
         local word = described(p, T, method)
         if not always_created[p.letter] then
            words[#words + 1] = p.letter == 'o' and makes_results and '[' .. word .. ']' or word
         end
      end
      if variant.parameters[1].letter ~= 'N' then expected[#expected + 1] = table.concat(words, ' ') end
   end
   overloads.refuse(table.concat(expected, ' | '), method, ...)
end

-- The arguments, with strings that read as numbers converted; nil if there are none.
local function with_numbers(...)
   local arguments, found = { ... }, false
   for i = 1, select('#', ...) do
      local number = type(arguments[i]) == 'string' and tonumber(arguments[i])
      if number then arguments[i], found = number, true end
   end
   return found and arguments
end

-- What fits no int, such as NaN, is no dimension.
local whole = types.Long.cast
local function dimension(value)
   value = whole(value)
   return tobit(value) == value and value or 0
end

local function starts(text, letters) return letters:find(text:sub(1, 1), 1, true) and text ~= '' end

local OVERLOADED = [[
   return function(...)
      local $each($most){a@} = ...
      local count = select('#', ...)
      $each($most, ;){local r@ = records[a@]}
      local key = $each($most, +){(r@ and tag_of(r@) or kinds[type(a@)]) * 64 ^ @}
      $branches
      return usage(...)
   end
]]

-- Builds the function for one type, as torch.name(...) or as a method. shown: the variants in the text of an error.
local function build(name, variants, T, method, shown)
   local most, seen, branches = 0, {}, {}
   for v, variant in ipairs(variants) do
      for _, given in ipairs(choices(variant.parameters, method)) do
         local _, test, code = branch(variant.parameters, given, T, v)
         most = math.max(most, #given)
         if not seen[test] then
            seen[test] = true
            branches[#branches + 1] = code
         end
      end
   end
   local f
   local function usage(...)
      local arguments = with_numbers(...)
      if arguments then return f(unpack(arguments, 1, select('#', ...))) end
      return usage_error(shown, T, method, ...)
   end
   local also = { new = memory.new_tensor, types = types, T = T, cast = T.cast, whole = whole, dimension = dimension,
      starts = starts,
      default_generator = overloads.default_generator }
   for v, variant in ipairs(variants) do also['compute' .. v] = variant.compute end
   f = templates.compile((method and 'torch:' or 'torch.') .. name, OVERLOADED, { most = most,
      branches = table.concat(branches, '\n'), records = records, tag_of = memory.tag, kinds = kinds, usage = usage },
         also)
   return f
end

local function read_variants(declaration)
   local variants = {}
   for i = 1, #declaration, 2 do
      variants[#variants + 1] = { parameters = parse(declaration[i]), compute = declaration[i + 1] }
   end
   return variants
end

-- Whether a variant takes only numbers.
local function of_numbers(variant)
   for _, p in ipairs(variant.parameters) do
      if not ('ndsamkBG'):find(p.letter, 1, true) then return false end
   end
   return true
end

-- The variants in the error text of a method: those of the function that take only numbers are added, at their
-- positions.
local function shown_of_method(function_variants, method_variants)
   local shown = {}
   local first = of_numbers(function_variants[1])
   for place = 1, 2 do
      if place == 2 then
         for _, variant in ipairs(method_variants) do shown[#shown + 1] = variant end
      end
      for _, variant in ipairs((place == 1) == first and function_variants or {}) do
         if of_numbers(variant) then shown[#shown + 1] = variant end
      end
   end
   return shown
end

-- Functions are built when they are first called. There are thousands, which Lua's collector visits in every full
-- collection. So each is one closure over a number, what `build` needs is in lists, and declarations remain text until
-- then. methods: the declaration of a method; false for a function of torch.
local built, names, of_types, declarations, methods = {}, {}, {}, {}, {}

local function make(k)
   local of_function, T = read_variants(declarations[k]), of_types[k]
   if not methods[k] then
      built[k] = build(names[k], of_function, T, false, of_function)
   elseif methods[k] == declarations[k] then
      built[k] = build(names[k], of_function, T, true, of_function)
   else
      local of_method = read_variants(methods[k])
      built[k] = build(names[k], of_method, T, true, shown_of_method(of_function, of_method))
   end
   return built[k]
end

local function lazily(name, T, declaration, of_method)
   local k = #names + 1
   built[k], names[k], of_types[k], declarations[k], methods[k] = false, name, T, declaration, of_method
   return function(...)
      local f = built[k] or make(k)
      return f(...)
   end
end

-- Not a tail call: errors.lua identifies the caller by the chunk's name.
local PLAIN = [[
   local function results(...) return ... end
   return function(...) return results(f(T, ...)) end
]]

-- The functions torch.name(...) of a type, made on first lookup. declared: by name, the arguments of `define` or
-- `define_plain`.
local function functions_of(T, declared)
   return setmetatable({}, { __index = function(self, name)
      local declaration = declared[name]
      if type(declaration) == 'function' then
         self[name] = templates.compile('torch.' .. name, PLAIN, { f = declaration, T = T })
      elseif declaration then
         self[name] = lazily(name, T, declaration, false)
      end
      return rawget(self, name)
   end })
end

local all_but_half, floating = {}, {}
for code = 1, types.count do
   local T = types[code]
   T.declared = {}
   T.functions = functions_of(T, T.declared)
   if T.name ~= 'Half' then all_but_half[#all_but_half + 1] = T end
   if T.floating then floating[#floating + 1] = T end
end
overloads.all_but_half, overloads.floating = all_but_half, floating

local function declare(T, name, declaration) T.declared[name], T.functions[name] = declaration, nil end

templates.on_first_use(function()
   for code = 1, types.count do
      local T = types[code]
      for name in pairs(T.declared) do assert(T.functions[name]) end
   end
   for k = 1, #names do
      if not built[k] then make(k) end
   end
end)

-- The type that a call torch.name(...) applies to, found as in Torch7: from the first or second argument, the first
-- tensor in a table, a type's name at the end (which is removed), or the default type.
local function type_of_call(default, first, second, ...)
   local r = records[first]
   if r and r.nd then return r.T end
   r = records[second]
   if r and r.nd then return r.T end
   if type(first) == 'table' then
      r = records[first[1]]
      if r and r.nd then return r.T end
   end
   local n = select('#', ...)
   local last
   if n > 0 then last = select(n, ...) elseif second ~= nil then last = second else last = first end
   if type(last) == 'string' then
      local name = last:match('^torch%.(%a+)Tensor$')
      if name and types[name] then return types[name], true end
   end
   return default
end

local function without_last(...)
   local arguments, n = { ... }, select('#', ...)
   return unpack(arguments, 1, n - 1)
end

local dispatchers = {}
overloads.dispatchers = dispatchers -- the functions for the table torch

local function dispatcher(name)
   return function(...)
      local T, named = type_of_call(overloads.default_type(), ...)
      local f = T.functions[name]
      if not f then error(('%s does not implement the torch.%s() function'):format(T.tensor, name), 2) end
      if named then return f(without_last(...)) end
      return f(...)
   end
end

-- A function written by hand for each type: f(T, ...). method: the one for t:name(...), by default the same.
function overloads.define_plain(name, f, for_types, method)
   for _, T in ipairs(for_types or all_but_half) do
      local of_object = method or f
      local function of_type(...) return of_object(T, ...) end
      declare(T, name, f)
      T.tensor_metatable[name] = of_type
   end
   dispatchers[name] = dispatchers[name] or dispatcher(name)
end

-- functions: the variants of torch.name(...); methods: those of t:name(...), by default the same; false: none.
function overloads.define(name, functions, for_types, methods)
   for _, T in ipairs(for_types or all_but_half) do
      declare(T, name, functions)
      if methods ~= false then T.tensor_metatable[name] = lazily(name, T, functions, methods or functions) end
   end
   dispatchers[name] = dispatchers[name] or dispatcher(name)
end

return overloads
