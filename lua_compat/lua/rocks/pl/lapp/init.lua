-- pl.lapp: parses command lines according to the text that documents them.
local parse_specification = require 'pl.lapp.specification'
local values = require 'pl.lapp.values'

local lapp = { callback = false, show_usage_error = true, slack = false }

local usage, script

local function script_name()
   local arguments = rawget(_G, 'arg')
   if not arguments then return 'inter' end
   local name = arguments[0] or rawget(_G, 'LAPP_SCRIPT') or 'unknown'
   return (name:gsub('.+[\\/]', ''):gsub('%.%a+$', ''))
end
script = script_name()

-- Ends the program with a message and the usage; no_usage: true omits the usage, 'throw' raises the message instead.
function lapp.quit(message, no_usage)
   if no_usage == 'throw' then error(message) end
   if message then io.stderr:write(message .. '\n\n') end
   if not no_usage then io.stderr:write(usage) end
   os.exit(1)
end

function lapp.error(message, no_usage)
   if not lapp.show_usage_error then
      no_usage = true
   elseif lapp.show_usage_error == 'throw' then
      no_usage = 'throw'
   end
   lapp.quit(script .. ': ' .. message, no_usage)
end

local open_files = {}

function lapp.open(name, mode)
   local file, problem = io.open(name, mode)
   if not file then lapp.error(problem, true) end
   open_files[#open_files + 1] = file
   return file
end

function lapp.assert(condition, message)
   if not condition then lapp.error(message) end
end

function lapp.add_type(name, converter, constraint) values.add_type(name, converter, constraint) end

-- Splits --name=value and --name:value into two arguments.
local function split_value(arguments, place, word)
   local at = word:find('[=:]')
   if not at then return word end
   table.insert(arguments, place + 1, word:sub(at + 1))
   return word:sub(1, at - 1), true
end

-- The option at the start of an argument of short flags; the rest is put before the other arguments.
local function short_option(arguments, place, word, option_of)
   if #word == 1 or option_of(word) then return word end
   local letters, had_value = split_value(arguments, place, word)
   if had_value then return letters end
   local first = letters:sub(1, 1)
   local option = option_of(first)
   if option and option.type ~= 'boolean' then
      table.insert(arguments, place + 1, letters:sub(2))
   else
      for i = 2, #letters do table.insert(arguments, place + i - 1, '-' .. letters:sub(i, i)) end
   end
   return first
end

local function store(results, option, name, value)
   if type(name) == 'string' then name = name:gsub('%W', '_') end
   if not option.varargs then
      results[name] = value
   elseif results[name] then
      table.insert(results[name], value)
   else
      results[name] = { value }
   end
end

-- Reads the arguments into a table by option name.
local function parse(specification, arguments)
   local options, aliases, positional = specification.options, specification.aliases, specification.positional
   local results, next_positional, extra = {}, 1, 0
   local flags_are_over = false
   local function option_of(name) return options[aliases[name] or name] end

   local function positional_option()
      local name = positional[next_positional]
      if not name then
         extra = extra + 1
         name = extra
         options[name] = { type = 'string' }
      end
      if not options[name].varargs then next_positional = next_positional + 1 end
      return name
   end

   local i = 1
   while i <= #arguments do
      local argument = arguments[i]
      local name, value
      if argument == '--' then
         flags_are_over, next_positional = true, #positional + 1
         i = i + 1
         argument = arguments[i]
         if not argument then break end
      end
      local dash, word = argument:match('^%-(%-?)(%S+)')
      if word and not flags_are_over then
         if dash == '-' then name = split_value(arguments, i, word)
         else name = short_option(arguments, i, word, option_of) end
         name = aliases[name] or name
         if not options[name] and (name == 'h' or name == 'help') then lapp.quit() end
      else
         name, value = positional_option(), argument
      end
      local option = options[name]
      if not option then lapp.error('unrecognized parameter: ' .. name) end
      local text = argument
      if option.type == 'boolean' then
         value = not option.default
      elseif not value then
         i = i + 1
         value, text = arguments[i], arguments[i]
         lapp.assert(value, name .. ' was expecting a value')
      end
      option.used = true
      store(results, option, name, values.convert(option, value))
      if values.is_file(option.type) then store(results, option, name .. '_name', text) end
      if lapp.callback then lapp.callback(name, text, {}) end
      i = i + 1
   end
   for name, option in pairs(options) do
      if not option.used then
         if option.required then lapp.error('missing required parameter: ' .. name) end
         store(results, option, name, option.default)
      end
   end
   return results
end

function lapp.process_options_string(text, arguments)
   arguments = arguments or rawget(_G, 'arg')
   usage, open_files = text, {}
   for _, argument in ipairs(arguments) do
      if argument == '-h' or argument == '--help' then return lapp.quit() end
   end
   return parse(parse_specification(text, lapp), arguments)
end

values.use(lapp)

return setmetatable(lapp, {
   __call = function(_, text, arguments) return lapp.process_options_string(text, arguments) end,
})
