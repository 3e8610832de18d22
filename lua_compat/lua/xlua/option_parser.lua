-- Command lines in the style of Python's optparse:
--    local parser = xlua.OptionParser('%prog [options]')
--    parser:option{ '-r', '--rate', action='store', dest='rate', default=1, help='...', req=false }
--    local options, arguments = parser:parse()
local OptionParser = {}

function xlua.OptionParser(usage)
   local self = { usage = usage, option_descriptions = {}, option_of = {} }
   for name, method in pairs(OptionParser) do self[name] = method end
   self:option{ '-h', '--help', action = 'store_true', dest = 'help', help = 'show this help message and exit' }
   return self
end

-- Ends the script with a message and the help.
function OptionParser:fail(message)
   io.stderr:write(message, '\n')
   self:help()
   os.exit(1)
end

function OptionParser:option(description)
   table.insert(self.option_descriptions, description)
   for _, flag in ipairs(description) do self.option_of[flag] = description end
end

-- Splits --name=value into two words.
local function words_of(arguments)
   local words = {}
   for _, word in ipairs(arguments) do
      local flag, value = word:match('^(%-%-%w+)=(.*)')
      words[#words + 1] = flag or word
      words[#words + 1] = value
   end
   return words
end

local function takes_value(description) return description.action == nil or description.action == 'store' end

-- The options by their `dest`, and the other words of the command line (the table arg).
function OptionParser:parse(options)
   options = options or {}
   self.options = options
   local others = {}
   for _, d in ipairs(self.option_descriptions) do
      if d.default ~= nil and options[d.dest] == nil then options[d.dest] = d.default end
   end
   options.__main__ = arg ~= nil
   if not arg then return options, others end
   local words = words_of(arg)
   local i = 1
   while i <= #words do
      local word = words[i]
      local d = self.option_of[word]
      if not d then
         if word:sub(1, 1) == '-' then self:fail('invalid option ' .. word) end
         others[#others + 1] = word
      elseif takes_value(d) then
         i = i + 1
         local value = words[i] or d.default
         if not value then self:fail('option requires an argument ' .. word) end
         options[d.dest] = value
      elseif d.action == 'store_true' then
         options[d.dest] = true
      elseif d.action == 'store_false' then
         options[d.dest] = false
      else
         options[d.dest] = d.default
      end
      i = i + 1
   end
   for _, d in ipairs(self.option_descriptions) do
      if d.req and not options[d.dest] then self:fail(('option %s requires an argument '):format(d[1])) end
   end
   if options.help then
      self:help()
      os.exit()
   end
   return options, others
end

-- "-r RATE, --rate=RATE"
function OptionParser:flags(description)
   local flags = {}
   for i, flag in ipairs(description) do
      flags[i] = flag
      if takes_value(description) then
         flags[i] = flag .. (#flag == 2 and ' ' or '=') .. (description.metavar or description.dest:upper())
      end
   end
   return table.concat(flags, ', ')
end

function OptionParser:help()
   local program = arg and arg[0] or 'THISPROG'
   if arg and arg[-1] then program = arg[-1] .. ' ' .. program end
   io.stdout:write('Usage: ', (self.usage:gsub('%%prog', function() return program end)), '\n\nOptions:\n')
   local width = 0
   for _, d in ipairs(self.option_descriptions) do width = math.max(width, #self:flags(d)) end
   for _, d in ipairs(self.option_descriptions) do
      local default = ''
      if d.req then
         default = ' [REQUIRED]'
      elseif d.default then
         default = (' [default = %s]'):format(tostring(d.default))
      end
      local flags = self:flags(d)
      io.stdout:write('  ', flags, (' '):rep(width - #flags), '  ', d.help or '', default, '\n')
   end
end

-- The options as text; with `as_filename` as "-flag=value,..." of the flags named in `flags` (all if empty).
function OptionParser:tostring(as_filename, flags)
   if not as_filename then
      local program = (arg and arg[0] or 'interpreted.lua'):gsub('%.lua$', '')
      local lines = { ('<%s> configuration:\n'):format(program) }
      for name, value in pairs(self.options) do
         lines[#lines + 1] = (' + %s = %s\n'):format(name, tostring(value))
      end
      return table.concat(lines)
   end
   local wanted = {}
   for _, flag in ipairs(flags or {}) do wanted[flag] = true end
   local settings = {}
   for _, d in ipairs(self.option_descriptions) do
      local value = self.options[d.dest]
      if value and (next(wanted) == nil or wanted[d[1]]) then
         settings[#settings + 1] = d[1] .. '=' .. tostring(value)
      end
   end
   return (table.concat(settings, ','):gsub('/', '|'):gsub(' ', '_'))
end

function OptionParser:summarize(as_filename) io.write(self:tostring(as_filename)) end
