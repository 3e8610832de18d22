-- jit.p: shows where a program spends its time, from LuaJIT's samples (jit.profile). The options are LuaJIT's own:
--
-- f functions (default), F functions with their module, l lines, v states of LuaJIT's virtual machine, z zones
-- (jit.zone); two of these give a profile with two levels, in the order of the letters. A number: the depth of the
-- stack (negative: callers first); s: separates the first frame from the others. p full paths, r counts, mN omits what
-- is below N percent (default 3), iN a sample every N ms (10), a source lines with their neighbours, A whole files, G
-- stacks in the format of graphical tools.
--
-- Without a stop(), the profile is written when the script ends.
local profile = require 'jit.profile'
local zone = require 'jit.zone'
local floor, sort, concat = math.floor, table.sort, table.concat

local STATES = { N = 'Compiled', I = 'Interpreted', C = 'C code', G = 'Garbage Collector', J = 'JIT Compiler' }
local NO_ZONE = '(none)'
local LEAST_PERCENT, INTERVAL_MS = 3, 10
local NEIGHBOURS = 3 -- lines shown around an annotated one
local DEEPEST = 100
local LENGTH_FILE = 'length%.lua:' -- the operator # (dialect/length.lua): its time counts for the code that uses it

local profiler = {}
local running -- { options =, counts =, total =, output = }

-- Parses the options into a table; levels: the letters of fFlvz, in their order.
local function parsed(text)
   local options = { levels = {}, least = LEAST_PERCENT, interval = INTERVAL_MS }
   text = text:gsub('m(%d+)', function(number)
      options.least = tonumber(number)
      return ''
   end):gsub('i(%d+)', function(number)
      options.interval = tonumber(number)
      return ''
   end):gsub('%-?%d+', function(number)
      options.depth = tonumber(number)
      return ''
   end)
   for letter in text:gmatch('.') do
      if letter:match('[fFlvz]') then
         options.levels[#options.levels + 1] = letter
      elseif letter:match('[sprGaA]') then
         options[letter] = true
      else
         error(("jit.p: unknown option '%s': letters of fFlvzsprGaA, mN, iN and a number are known"):format(letter), 3)
      end
   end
   if options.a or options.A then options.levels = { 'l' } end
   if #options.levels == 0 then options.levels = { 'f' } end
   local depth = options.depth or 1
   if options.s and depth > -2 and depth < 2 then depth = depth < 0 and -2 or 2 end
   options.depth = depth
   return options
end

local function add(counts, name, samples)
   local entry = counts[name]
   if not entry then
      entry = { name = name, samples = 0, parts = {} }
      counts[name] = entry
   end
   entry.samples = entry.samples + samples
   return entry.parts
end

-- A function that returns the names at both levels for a sample; the second may be nil.
local function sampler(options)
   local path = options.p and 'p' or ''
   local function frames(letter, depth, separator)
      local format = ('%s%sZ%s'):format(path, letter, separator)
      return function(thread)
         local text = profile.dumpstack(thread, format, depth)
         if depth < 0 or not (text:match('^[^ ]*__pow') or text:match('^[^ ]*' .. LENGTH_FILE)) then return text end
         local frame, behind = profile.dumpstack(thread, format, depth + 1)
         behind = select(2, frame:find(separator, 1, true))
         return behind and frame:sub(behind + 1) or text
      end
   end
   local function level(letter, depth)
      if letter == 'v' then return function(_, state) return STATES[state] or state end end
      if letter == 'z' then return function() return zone.get() or NO_ZONE end end
      return frames(letter, depth, depth < 0 and ' > ' or ' < ')
   end
   local first, second = options.levels[1], options.levels[2]
   if options.G then return frames(first, -DEEPEST, ';') end
   if options.s and not first:match('[vz]') then
      local stack, separator = frames(first, options.depth, '\n'), options.depth < 0 and ' > ' or ' < '
      return function(thread)
         local nearest, others = stack(thread):match('^([^\n]*)\n?(.*)$')
         return nearest, others ~= '' and others:gsub('\n', separator) or nil
      end
   end
   local upper, lower = level(first, options.depth), second and level(second, options.depth)
   return function(thread, state) return upper(thread, state), lower and lower(thread, state) end
end

-- The entries of a level that are large enough to print, largest first, each with its number.
local function shown_entries(counts, total, options)
   local entries = {}
   for _, entry in pairs(counts) do
      local percent = floor(entry.samples * 100 / total + 0.5)
      if percent >= options.least or options.G then
         entry.figure = options.r and ('%5d'):format(entry.samples) or ('%2d%%'):format(percent)
         entries[#entries + 1] = entry
      end
   end
   sort(entries, function(a, b)
      if a.samples ~= b.samples then return a.samples > b.samples end
      return a.name < b.name
   end)
   return entries
end

-- The sign before an entry of the second level: a caller, a callee, or a part.
local function sign_of(options)
   if options.s then return options.depth < 0 and '->' or '<-' end
   local first, second = options.levels[1], options.levels[2]
   return second and second:match('[vz]') and not first:match('[vz]') and '<-' or '--'
end

local function write_lists(run, write)
   local options = run.options
   for _, entry in ipairs(shown_entries(run.counts, run.total, options)) do
      write(entry.figure, '  ', entry.name, '\n')
      for _, part in ipairs(shown_entries(entry.parts, entry.samples, options)) do
         write('  ', sign_of(options), ' ', part.figure, '  ', part.name, '\n')
      end
   end
end

local function write_stacks(run, write)
   for _, entry in ipairs(shown_entries(run.counts, run.total, run.options)) do
      write(entry.name, ' ', entry.samples, '\n')
   end
end

local function lines_of(path)
   local file = io.open(path)
   if not file then return nil end
   local lines = {}
   for line in file:lines() do lines[#lines + 1] = line end
   file:close()
   return lines
end

-- Writes the source with each line's share in front.
local function write_sources(run, write)
   local options, figures, paths = run.options, {}, {}
   for _, entry in ipairs(shown_entries(run.counts, run.total, options)) do
      local path, line = entry.name:match('^(.*):(%d+)$')
      if path then
         if not figures[path] then
            figures[path] = {}
            paths[#paths + 1] = path
         end
         figures[path][tonumber(line)] = entry.figure
      end
   end
   for _, path in ipairs(paths) do
      write('\n====== ', path, ' ======\n')
      local last
      for number, line in ipairs(lines_of(path) or {}) do
         local wanted = options.A
         for near = number - NEIGHBOURS, number + NEIGHBOURS do wanted = wanted or figures[path][near] ~= nil end
         if wanted then
            if not options.A and last ~= number - 1 then write('@@ ', number, ' @@\n') end
            write(('%6s | %s\n'):format(figures[path][number] or '', line))
            last = number
         end
      end
   end
end

-- Starts sampling; output: a file name, by default stdout.
function profiler.start(options, output)
   profiler.stop()
   local run = { options = parsed(options or ''), counts = {}, total = 0, output = output }
   if run.options.a or run.options.A then run.options.p = true end
   local names = sampler(run.options)
   local by_line = concat(run.options.levels):match('l') and 'l' or 'f'
   running = run
   profile.start(by_line .. 'i' .. run.options.interval, function(thread, samples, state)
      local upper, lower = names(thread, state)
      local parts = add(run.counts, upper, samples)
      if lower then add(parts, lower, samples) end
      run.total = run.total + samples
   end)
end

-- Stops the profiler and writes the profile, if it is running.
function profiler.stop()
   local run = running
   if not run then return end
   running = nil
   profile.stop()
   local file = io.stdout
   if run.output and run.output ~= '-' then file = assert(io.open(run.output, 'w')) end
   local function write(...) file:write(...) end
   if run.total == 0 then
      if not run.options.G then write('[No samples collected]\n') end
   elseif run.options.G then
      write_stacks(run, write)
   elseif run.options.a or run.options.A then
      write_sources(run, write)
   else
      write_lists(run, write)
   end
   if file ~= io.stdout then file:close() end
end

return profiler
