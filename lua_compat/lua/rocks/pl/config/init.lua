-- pl.config: configuration files with sections, keys and values, and lists.
local config = {}

-- Iterates over the lines that are neither empty nor comments; a backslash at the end joins a line with the next.
function config.lines(file)
   local stream, opened = file, false
   if type(file) == 'string' then
      local problem
      stream, problem = io.open(file, 'r')
      if not stream then return nil, problem end
      opened = true
   elseif file == nil then
      stream = io.stdin
   elseif not file.read then
      return nil, 'not a file-like object'
   end
   return function()
      local begun = ''
      for line in function() return stream:read() end do
         if line:find('%S') and not line:find('^%s*[;#]') then
            local backslash = line:find('\\%s*$')
            if not backslash then return begun .. line end
            begun = begun .. line:sub(1, backslash - 1)
         end
      end
      if opened then stream:close() end
   end
end

local DEFAULTS = { variabilize = true, list_delim = ',', convert_numbers = true, convert_boolean = false,
   trim_space = true, trim_quotes = false, ignore_assign = false, keysep = '=' }

-- Guesses options from the first line.
local function guess(line, options)
   if line:find('^[^=]+=') then
      options.keysep = '='
   elseif line:find('^[^:]+:') then
      options.keysep, options.list_delim = ':', ':'
   elseif line:find('^%S+%s+') then
      options.keysep, options.variabilize = ' ', false
      if line:find('^%S+%s+%S+%s+%S+') then options.list_delim = ' ' end
   end
end

local function as_number(text)
   return tonumber(text) or text:find(' kB$') and tonumber((text:gsub(' kB', '')))
end

-- A function that converts texts to values.
local function value_reader(option, smart)
   local separator = option('list_delim')
   if separator == ' ' then separator = '%s+' end
   local trim_quotes = option('trim_quotes')

   local function value_of(text)
      if separator and text:find(separator) then
         local list = {}
         for part in text:gmatch('[^' .. separator .. ']+') do list[#list + 1] = value_of(part) end
         return list
      end
      if option('convert_numbers') and text:find('^[%d%+%-]') then
         local number = as_number(text)
         if number then return number end
      elseif option('convert_boolean') and (text == 'true' or text == 'false') then
         return text == 'true'
      end
      if option('trim_space') then text = text:match('^%s*(.-)%s*$') end
      if smart and text:find('^"') then trim_quotes = true end -- from here on
      if trim_quotes then text = text:gsub("['\"](.*)['\"]", '%1') end
      return text
   end
   return value_of
end

-- Reads a file (default: stdin), given by name or as an object. options: DEFAULTS above; smart: guess some of them.
function config.read(file, options)
   local next_line, problem = config.lines(file)
   if not next_line then return nil, problem end
   options = options or {}
   local line = next_line()
   if options.smart and line then guess(line, options) end
   local function option(name)
      if options[name] == nil then return DEFAULTS[name] end
      return options[name]
   end
   local separator = option('keysep')
   local key_end = separator == ' ' and '%s+' or '%s*' .. separator .. '%s*'
   local value_of = value_reader(option, options.smart)
   local function name_of(text) return option('variabilize') and text:gsub('[^%w]', '_') or text end

   local all = {}
   local section = all
   while line do
      if line:find('^%[') then
         section = {}
         all[name_of(line:match('%[([^%]]+)%]'))] = section
      else
         line = line:gsub('^%s*', '')
         local first, last = line:find(key_end)
         if first and not option('ignore_assign') then
            section[name_of(line:sub(1, first - 1))] = value_of(line:sub(last + 1))
         else
            section[#section + 1] = value_of(line)
         end
      end
      line = next_line()
   end
   return all
end

return config
