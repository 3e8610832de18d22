-- torch.CmdLine: options and arguments of a script, its help and its log.
local CmdLine = torch.class('torch.CmdLine')

-- Lua's order of a table's keys differs between runs; printed output should not.
local function sorted_keys(values)
   local keys = {}
   for key in pairs(values) do keys[#keys + 1] = key end
   table.sort(keys, function(a, b) return tostring(a) < tostring(b) end)
   return keys
end

local function bare(key) return (key:match('^%-*(.*)$')) end

function CmdLine:__init(argument_separator, key_separator)
   self.argseparator = argument_separator or ','
   self.keyseparator = key_separator or '='
   self.options = {}
   self.arguments = {}
   self.helplines = {}
   self.silentio = false
end

function CmdLine:silent() self.silentio = true end

-- Every logged line starts with the time, and [name] if given.
function CmdLine:addTime(name, format)
   format = format or '%Y-%m-%d %H:%M:%S'
   if type(format) ~= 'string' then error('Argument has to be string', 2) end
   self.dateformat = format .. (name ~= nil and '[' .. name .. ']: ' or '')
end

function CmdLine:argument(key, help, kind)
   local argument = { key = key, help = help, type = kind }
   table.insert(self.arguments, argument)
   table.insert(self.helplines, argument)
end

function CmdLine:option(key, default, help, kind)
   if default == nil then error('option ' .. key .. ' has no default value', 2) end
   kind = kind or type(default)
   if type(default) ~= kind then error('option ' .. key .. ' has wrong default type value', 2) end
   local option = { key = key, default = default, help = help, type = kind }
   self.options[key] = option
   table.insert(self.helplines, option)
end

function CmdLine:text(text)
   text = text or ''
   assert(type(text) == 'string')
   table.insert(self.helplines, text)
end

-- Prints an error and the help, and ends the script.
function CmdLine:error(message)
   print('')
   io.stderr:write(message)
   print('')
   self:help()
   os.exit(1)
end

function CmdLine:default()
   local values = {}
   for key, option in pairs(self.options) do values[bare(key)] = option.default end
   return values
end

-- Both read from words[i] onwards into `values` and return the number of words read.
function CmdLine:__readArgument__(values, words, i, number)
   local argument = self.arguments[number]
   if not argument then self:error('invalid argument: ' .. words[i]) end
   if argument.type and type(words[i]) ~= argument.type then
      self:error(('invalid argument type for argument %s (should be %s)'):format(argument.key, argument.type))
   end
   values[bare(argument.key)] = words[i]
   return 1
end

function CmdLine:__readOption__(values, words, i)
   local key = words[i]
   local option = self.options[key]
   if not option then self:error('unknown option ' .. key) end
   if option.type == 'boolean' then
      values[bare(key)] = not option.default
      return 1
   end
   local value = words[i + 1]
   if not value then self:error('missing argument for option ' .. key) end
   if option.type == 'number' then
      value = tonumber(value)
   elseif option.type and option.type ~= 'string' then
      self:error('unknown required option type ' .. option.type)
   end
   if not value then self:error(('invalid type for option %s (should be %s)'):format(key, option.type)) end
   values[bare(key)] = value
   return 2
end

function CmdLine:parse(words)
   local values = self:default()
   local given = 0
   local i = 1
   while i <= #words do
      local word = words[i]
      if word == '-help' or word == '-h' or word == '--help' then
         self:help(words)
         os.exit(0)
      end
      if self.options[word] then
         i = i + self:__readOption__(values, words, i)
      else
         given = given + 1
         i = i + self:__readArgument__(values, words, i, given)
      end
   end
   if given ~= #self.arguments then self:error('not enough arguments') end
   return values
end

-- A name for a run: the prefix and the options that differ from their defaults. ignore[key]: true omits the option,
-- false includes it even at its default.
function CmdLine:string(prefix, values, ignore)
   local arguments, options = {}, {}
   for _, key in ipairs(sorted_keys(values)) do
      local value, option = values[key], self.options['-' .. key]
      if ignore[key] then
         print('-- ignore option ' .. key)
      elseif option then
         if value ~= option.default or ignore[key] == false then
            if type(value) == 'boolean' then value = value and 't' or 'f' end
            table.insert(options, key .. self.keyseparator .. value)
            print(key, value, option.default)
         end
      else
         local number
         for i, argument in ipairs(self.arguments) do
            if bare(argument.key) == key then number = i end
         end
         if number then
            arguments[number] = key .. self.keyseparator .. value
         else
            print('WARNING: unknown option/argument: ' .. key .. ' IGNORING for DIRECTORY NAME')
         end
      end
   end
   table.sort(options)
   local text, listed = table.concat(arguments, self.argseparator), table.concat(options, self.argseparator)
   -- after positional arguments there is a separator even if no option was changed
   text = text == '' and listed or text .. self.argseparator .. listed
   if text == '' then return prefix or '' end
   return (prefix or '') .. self.argseparator .. text
end

-- From now on `print` also writes to a file, passed as an open file or by name.
local original_print
function CmdLine:log(file, values)
   local log = io.type(file) == 'file' and file or io.open(file, 'w')
   original_print = original_print or _G.print or function() end
   function _G.print(...)
      if not self.silentio then original_print(...) end
      local words = {}
      if self.dateformat then words[1] = os.date(self.dateformat) end
      for i = 1, select('#', ...) do words[#words + 1] = tostring((select(i, ...))) end
      words[#words + 1] = '\n'
      log:write(table.concat(words, ' '))
      log:flush()
   end
   print('[program started on ' .. os.date() .. ']')
   print('[command line arguments]')
   for _, key in ipairs(sorted_keys(values or {})) do print(key, values[key]) end
   print('[----------------------]')
end

function CmdLine:help(words)
   io.write('Usage: ')
   io.write(words and words[0] .. ' ' or '', '[options]')
   for _, argument in ipairs(self.arguments) do io.write(' <', bare(argument.key), '>') end
   io.write('\n')
   local function shown(line) return line.default ~= nil and line.key or '<' .. bare(line.key) .. '>' end
   local width = 0
   for _, line in ipairs(self.helplines) do
      if type(line) == 'table' then width = math.max(width, #shown(line)) end
   end
   for _, line in ipairs(self.helplines) do
      if type(line) == 'table' then
         io.write('  ', shown(line), (' '):rep(width - #shown(line)))
         if line.help then io.write(' ', line.help) end
         if line.default ~= nil then io.write(' [', tostring(line.default), ']') end
      else
         io.write(line)
      end
      io.write('\n')
   end
end
