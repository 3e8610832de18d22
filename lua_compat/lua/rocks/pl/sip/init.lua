-- pl.sip: simple patterns for lines: '$v = $d' reads a name and a number, '$v{name} = $d{value}' into fields.
local pattern = require 'pl.sip.pattern'

local sip = { custom_pattern = pattern.custom, create_pattern = pattern.create }

local function assert_kind(index, value, kind)
   if type(value) ~= kind then error('argument ' .. index .. ' must be ' .. kind, 3) end
end

local IS_NUMBER = { d = true, i = true, f = true }

local function converted(text, kind)
   if IS_NUMBER[kind] then return tonumber(text) end
   if pattern.BRACKETS[kind] then return text:sub(2, -2) end
   return text
end

-- Returns a function(line, result), which fills a table and returns whether the line matched, and whether fields have
-- names; or nil and an error.
function sip.compile(spec, options)
   assert_kind(1, spec, 'string')
   local lua_pattern, fields, kinds = pattern.create(spec, options)
   if not lua_pattern then return nil, fields end
   local named = type(fields[1]) == 'string'
   return function(line, result)
      local captures = { line:match(lua_pattern) }
      if not captures[1] then return false end
      local place = 0
      for i, name in ipairs(fields) do
         local kind = kinds[name]
         if name ~= '_' and kind ~= 'Q' then
            place = place + 1
            result[named and name or place] = converted(captures[i], kind)
         end
      end
      return true
   end, named
end

-- By whether they are anchored at the line's start, and by text.
local compiled = { [true] = {}, [false] = {} }

function sip.match(spec, line, result, options)
   assert_kind(1, spec, 'string')
   assert_kind(2, line, 'string')
   assert_kind(3, result, 'table')
   local known = compiled[options and options.at_start and true or false]
   if not known[spec] then known[spec] = sip.compile(spec, options) end
   return known[spec](line, result)
end

function sip.match_at_start(spec, line, result) return sip.match(spec, line, result, { at_start = true }) end

-- Iterates over the fields of a file's lines.
function sip.fields(spec, file)
   assert_kind(1, spec, 'string')
   if not file then return nil, 'no file object' end
   local match, problem = sip.compile(spec)
   if not match then return nil, problem end
   return function()
      for line in function() return file:read() end do
         local result = {}
         if match(line, result) then return unpack(result) end
      end
   end
end

-- The patterns that sip.read tries, in this order.
local registered = {}

function sip.pattern(spec, callback)
   assert_kind(1, spec, 'string')
   local match, named = sip.compile(spec)
   registered[#registered + 1] = { match = match, named = named, callback = callback }
end

-- For each line, calls the callback of the first pattern that matches. patterns: a list of { spec, callback } to
-- register.
function sip.read(file, patterns)
   if not file then return nil, 'no file object' end
   local opened
   if type(file) == 'string' then
      local problem
      opened, problem = io.open(file)
      if not opened then return nil, problem end
      file = opened
   end
   for _, one in ipairs(patterns or {}) do sip.pattern(one[1], one[2]) end
   local result = {}
   for line in file:lines() do
      for _, one in ipairs(registered) do
         if one.match(line, result) then
            if one.callback and one.named then one.callback(result)
            elseif one.callback then one.callback(unpack(result)) end
            result = {}
            break
         end
      end
   end
   if opened then opened:close() end
end

return sip
