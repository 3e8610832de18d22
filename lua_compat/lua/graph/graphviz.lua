-- Graphs in Graphviz's language, drawn by its programs if they are installed.
local paths = require 'paths'

-- Leaves a word of letters unchanged, and quotes anything else.
function graph._dotEscape(text)
   if not text:find('[^a-zA-Z]') then return text end
   return '"' .. text:gsub('\n', '\\n'):gsub('"', '\\"') .. '"'
end

local function attribute_text(attributes)
   local names = {}
   for name in pairs(attributes) do names[#names + 1] = name end
   table.sort(names)
   for i, name in ipairs(names) do
      names[i] = ('%s=%s'):format(tostring(name), graph._dotEscape(tostring(attributes[name])))
   end
   return table.concat(names, ' ')
end

local Graph = torch.getmetatable('graph.Graph')

-- Nodes may have the methods graphNodeName and graphNodeAttributes.
function Graph:todot(title)
   local parts = { 'digraph G {\n' }
   local function write(...) parts[#parts + 1] = table.concat{ ... } end
   if title then write('labelloc="t";\nlabel="', title, '";\n') end
   write('node [shape = oval]; ')
   for _, node in ipairs(self.nodes) do
      local name = node.graphNodeName and node:graphNodeName() or 'Node' .. node.id
      local attributes = { label = name .. '\n' .. node:label() }
      for key, value in pairs(node.graphNodeAttributes and node:graphNodeAttributes() or {}) do
         attributes[key] = value
      end
      write('\nn', node.id, '[', attribute_text(attributes), '];')
   end
   write('\n')
   for _, edge in ipairs(self.edges) do write('n', edge.from.id, ' -> n', edge.to.id, ';\n') end
   write('}')
   return table.concat(parts)
end

local function quoted(text) return "'" .. text:gsub("'", "'\\''") .. "'" end

local function write_file(path, text)
   local file = assert(io.open(path, 'w'))
   file:write(text)
   file:close()
end

local function program(algorithm)
   return paths.findprogram(algorithm)
      or error(("graphviz is not installed: there is no program '%s'"):format(algorithm), 3)
end

-- Runs a Graphviz program on a text; output goes to a file or, without one, is returned.
local function draw(path, text, format, output)
   local source = os.tmpname()
   write_file(source, text)
   local command = ('%s -T%s %s%s 2>&1'):format(quoted(path), quoted(format),
      output and '-o ' .. quoted(output) .. ' ' or '', quoted(source))
   local pipe = assert(io.popen(command))
   local said = pipe:read('*a')
   local ok = pipe:close()
   os.remove(source)
   if ok == false then error('graphviz failed: ' .. said, 3) end
   return said
end

-- The positions that Graphviz assigns to the nodes: a row (x, y) for each, between 0 and 1.
function graph.graphvizLayout(g, algorithm)
   local drawn = draw(program(algorithm or 'dot'), g:todot(), 'plain')
   local width, height = drawn:match('graph %S+ (%S+) (%S+)')
   local positions = torch.zeros(#g.nodes, 2)
   for id, x, y in drawn:gmatch('node n(%d+) (%S+) (%S+)') do
      positions[tonumber(id)][1] = tonumber(x) / tonumber(width)
      positions[tonumber(id)][2] = tonumber(y) / tonumber(height)
   end
   return positions
end

-- Draws a graph to a file; its suffix selects the type.
function graph.graphvizFile(g, algorithm, filename)
   local format = filename:match('%.(%w+)$') or error('graph.graphvizFile: a file name with a suffix is needed', 2)
   draw(program(algorithm or 'dot'), g:todot(), format, filename)
end

-- Writes basename.dot and basename.svg, which Graphviz draws. Without Graphviz it writes only the first, and says so.
local function write_drawing(text, basename)
   write_file(basename .. '.dot', text)
   local dot = paths.findprogram('dot')
   if dot then
      draw(dot, text, 'svg', basename .. '.svg')
   else
      io.stderr:write(("graphviz is not installed (no program 'dot'): wrote %s.dot, but no %s.svg\n"):format(
         basename, basename))
   end
end

function graph.dot(g, title, basename)
   if not basename then
      error('graph.dot: th has no window to show a graph in; give a file name (without suffix) as third argument', 2)
   end
   write_drawing(g:todot(title), basename)
end

return { write_drawing = write_drawing }
