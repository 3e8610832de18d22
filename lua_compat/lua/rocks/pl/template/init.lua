-- pl.template: texts that contain Lua. Lines that start with # are Lua; $(expression) is replaced by its value.
local compiler = require 'pl.template.compiler'
local utils = require 'pl.utils'

local template = {}

local function traceback(problem)
   local ok, text = pcall(debug.traceback, problem, 2)
   return ok and text or problem
end

-- Returns the text, or nil and the error; also the source, if it was kept. show_source: print it after an error.
local function render(self, environment, parent, show_source)
   environment = environment or {}
   if parent then setmetatable(environment, { __index = parent }) end
   setmetatable(self.env, { __index = environment })
   local ok, parts = xpcall(self.fn, traceback)
   if ok then return table.concat(parts), nil, self.code end
   if self.code and show_source then print(self.code) end
   return nil, parts, self.code
end

-- options: chunk_name (TMP), escape (#), inline_escape ($), inline_brackets, newline (if set, line breaks are removed),
-- debug (keeps the source). Returns an object with the method render; or nil, the error and the source.
function template.compile(text, options)
   options = options or {}
   local source, is_constant = compiler.source(text, options)
   local environment = { __tostring = tostring }
   local chunk, problem = utils.load(source, options.chunk_name or 'TMP', 't', environment)
   if not chunk then return nil, problem, source end
   local compiled = { fn = chunk(), env = environment, render = render, code = options.debug and source or nil }
   if is_constant then
      function compiled.render(self) return compiled.fn, nil, self.code end
   end
   return compiled
end

-- The environment's fields _parent, _brackets, _escape, _inline_escape, _chunk_name and _debug are options.
function template.substitute(text, environment)
   environment = environment or {}
   local function option(name) return rawget(environment, name) end
   local compiled, problem = template.compile(text, { chunk_name = option('_chunk_name'), escape = option('_escape'),
      inline_escape = option('_inline_escape'), inline_brackets = option('_brackets'), debug = option('_debug') })
   if not compiled then return nil, problem end
   return compiled:render(environment, option('_parent'), option('_debug'))
end

return template
