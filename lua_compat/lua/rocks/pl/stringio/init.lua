-- pl.stringio: strings that are read and written like files.
local stringio = {}

local Writer = {}
Writer.__index = Writer

function Writer:write(...)
   for i = 1, select('#', ...) do self.tbl[#self.tbl + 1] = (select(i, ...)) end
end
function Writer:writef(format, ...) self:write(format:format(...)) end
function Writer:value() return table.concat(self.tbl) end
function Writer:__tostring() return self:value() end
function Writer.close(_) end
function Writer.seek(_) end

local Reader = {}
Reader.__index = Reader

-- The end of the number at a position, as io.read('*n') reads it.
local function number_end(text, place)
   local _, last = text:find('^%s*[%+%-]?%d+', place)
   if not last then return nil end
   for _, pattern in ipairs{ '^%.%d+', '^[eE][%+%-]*%d+' } do
      local _, further = text:find(pattern, last + 1)
      last = further or last
   end
   return last
end

-- By format: the part of the text to read, and the position after it.
local readers = {
   ['*l'] = function(text, place)
      local stop = text:find('\n', place, true) or #text + 1
      return text:sub(place, stop - 1), stop + 1
   end,
   ['*L'] = function(text, place)
      local stop = text:find('\n', place, true) or #text + 1
      return text:sub(place, stop), stop + 1
   end,
   ['*a'] = function(text, place) return text:sub(place), #text + 1 end,
   ['*n'] = function(text, place)
      local last = number_end(text, place)
      if not last then return nil, place end
      return tonumber(text:sub(place, last)), last + 1
   end,
}

local function read_one(reader, format)
   local text, place = reader.str, reader.i
   if place > #text then return nil end
   local result
   if type(format) == 'number' then
      result, reader.i = text:sub(place, place + format - 1), place + format
   else
      local read = readers[format] or error('bad read format', 3)
      result, reader.i = read(text, place)
   end
   return result
end

function Reader:read(...)
   local n = select('#', ...)
   if n == 0 then return read_one(self, '*l') end
   local results = {}
   for i = 1, n do results[i] = read_one(self, (select(i, ...))) end
   return unpack(results, 1, n)
end

function Reader:seek(whence, offset)
   local bases = { set = 1, cur = self.i, ['end'] = #self.str }
   self.i = bases[whence or 'cur'] + (offset or 0)
   return self.i
end

function Reader:lines(...)
   local formats, n = { ... }, select('#', ...)
   return function() return self:read(unpack(formats, 1, n)) end
end

function Reader.close(_) end

function stringio.create() return setmetatable({ tbl = {} }, Writer) end
function stringio.open(text) return setmetatable({ str = text, i = 1 }, Reader) end
function stringio.lines(text, ...) return stringio.open(text):lines(...) end

return stringio
