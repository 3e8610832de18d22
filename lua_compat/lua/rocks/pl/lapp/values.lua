-- The types of options, and the conversion of texts to values.
local values = {}

local BUILT_IN = { string = true, number = true, boolean = true, ['file-in'] = true, ['file-out'] = true }
local custom = {}
local lapp

-- lapp: the module, whose functions report errors.
function values.use(module) lapp = module end

function values.add_type(name, converter, constraint)
   custom[name] = { converter = converter, constraint = constraint }
end

function values.is_file(kind) return kind == 'file-in' or kind == 'file-out' end
function values.is_known(kind) return kind == nil or BUILT_IN[kind] or custom[kind] ~= nil end

-- Applies a type that a script has added to an option; its converter may be the name of another type.
function values.apply_custom(option)
   local kind = custom[option.type]
   if not kind then return end
   option.constraint = kind.constraint
   if type(kind.converter) == 'string' then option.type = kind.converter else option.converter = kind.converter end
end

function values.convert(option, text)
   local value = text
   if option.converter then value = option.converter(value) end
   if option.type == 'boolean' then return value end
   if option.type == 'number' then
      local number = tonumber(value)
      if not number then lapp.error('unable to convert to number: ' .. value) end
      value = number
   elseif values.is_file(option.type) then
      value = lapp.open(value, option.type == 'file-in' and 'r' or 'w')
   end
   if option.constraint then option.constraint(value) end
   return value
end

local STREAMS = { stdin = 'file-in', stdout = 'file-out', stderr = 'file-out' }

-- Converts a default to a value, with its type: the given one, or the one that it looks like.
function values.default(text, kind)
   if not kind or kind == 'number' then
      local number = tonumber(text)
      if number then return number, 'number' end
   end
   if STREAMS[text] then return io[text], STREAMS[text] end
   if text == 'true' and not kind then return true, 'boolean' end
   if text:find('^["\']') then text = text:sub(2, -2) end
   local option = { type = kind }
   local of_custom = custom[kind]
   if of_custom then option.converter, option.constraint = of_custom.converter, of_custom.constraint end
   local shown = lapp.show_usage_error
   lapp.show_usage_error = 'throw'
   local ok, value = pcall(values.convert, option, text)
   lapp.show_usage_error = shown
   return ok and value or text, kind or 'string'
end

return values
