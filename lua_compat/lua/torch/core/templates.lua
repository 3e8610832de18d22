-- Functions of ours that are written out as Lua text for each signature, type or relation, because that is fast. Most
-- are made when they are first called: there are thousands. In the sandbox all of them are made before the script's
-- first line, and nothing of ours is compiled after it.
local error, assert, ipairs = error, assert, ipairs
-- The sandbox gives scripts another load, whose functions have the script's globals: this is not for our own text.
local load, own_globals = load, getfenv(1)

local compiled = {}

local waiting, all_made = {}, false

-- The function of a text, which is called with what follows its name.
function compiled.from_text(text, name)
   if all_made then error(('%s was not made in time: it is not available in the sandbox'):format(name), 0) end
   return assert(load(text, '=' .. name, nil, own_globals))
end

-- make: makes what would otherwise be made on first use; it may be called when that has happened.
function compiled.on_first_use(make) waiting[#waiting + 1] = make end

-- A text in which EACH(...) is what is between the brackets, as often as is said, with @ for the numbers from 0 on.
function compiled.written_out(text, times)
   return (text:gsub('EACH(%b())', function(part)
      local parts = {}
      for k = 0, times - 1 do parts[k + 1] = part:sub(2, -2):gsub('@', k) end
      return table.concat(parts, ', ')
   end))
end

-- A text in which READ(pointer, place) is an element: as it is (plain), or through `get`, where it may be a NaN.
function compiled.reading(text, plain)
   return (text:gsub('READ(%b())', function(given)
      local pointer, place = given:match('^%((%l), (.*)%)$')
      return (plain and '%s[%s]' or 'get(%s, %s)'):format(pointer, place)
   end))
end

-- A function of a key that gives what `make` makes of it, which is kept. keys: a list of all there are.
function compiled.for_each(keys, make)
   local made = {}
   local function of_key(key)
      local there = made[key]
      if not there then
         there = make(key)
         made[key] = there
      end
      return there
   end
   compiled.on_first_use(function()
      for _, key in ipairs(keys) do of_key(key) end
   end)
   return of_key
end

-- Makes everything; from then on no text of ours is compiled.
function compiled.make_all()
   local k = 1
   while waiting[k] do -- one may add others
      waiting[k]()
      k = k + 1
   end
   waiting, all_made = {}, true
end

return compiled
