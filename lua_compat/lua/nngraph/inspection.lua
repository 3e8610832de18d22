-- Inspection of graphs: names from local variables, drawings, and a drawing of the graph in which an error occurred.
local running = require 'nngraph.running'
local paths = require 'paths'
local getlocal = debug.getlocal -- the sandbox removes it for scripts
local write_drawing = require('graph.graphviz').write_drawing

-- Names nodes after the local variables that contain them in the function at this level (1: the caller).
function nngraph.annotateNodes(level)
   level = (level or 1) + 1
   for index = 1, math.huge do
      local name, value = getlocal(level, index)
      if not name then return end
      if torch.typename(value) == 'nngraph.Node' and not value.data.annotations.name then
         value:annotate{ name = name }
      end
   end
end

function nngraph.display()
   error('nngraph.display: th has no window; graph.dot(module.fg, title, filename) writes a drawing', 2)
end

-- The graph with one of its nodes in red.
local function marked(g, title, node)
   local text = g:todot(title)
   for _, candidate in ipairs(g.nodes) do
      if node and candidate.data == node.data then
         return (text:gsub('}%s*$', '')) .. ('n%d[style=filled, fillcolor=red];\n}'):format(candidate.id)
      end
   end
   return text
end

local function draw_failure(module, node)
   local name = module.name
      or ('nngraph_%din_%dout'):format(module.nInputs or #module.innode.children, #module.outnode.children)
   if paths.filep(name .. '.svg') then name = name .. '_' .. paths.basename(os.tmpname()) end
   io.stderr:write(('saving %s.svg\n'):format(name))
   write_drawing(marked(module.fg, name, node), name)
end

local plain = {}
for _, name in ipairs{ 'runForwardFunction', 'updateGradInput', 'accGradParameters' } do
   plain[name] = nn.gModule[name]
end

local function watched(method)
   return function(module, ...)
      local arguments, n = { ... }, select('#', ...)
      local ok, result = xpcall(function() return method(module, unpack(arguments, 1, n)) end, function(problem)
         if type(problem) ~= 'string' or problem:find('stack traceback:\n', 1, true) then return problem end
         return debug.traceback(problem, 2)
      end)
      if ok then return result end
      draw_failure(module, running.node_of[module])
      error(result, 0)
   end
end

-- When enabled, an error in a gModule writes a drawing, name.svg (name.dot without Graphviz), with the node in red.
function nngraph.setDebug(enable)
   for name, method in pairs(plain) do nn.gModule[name] = enable and watched(method) or method end
end

-- Simplified drawings, without Identity and nodes without a module.

local function is_shown(node)
   local module = node.data and node.data.module
   return module and torch.typename(module) ~= 'nn.Identity'
end

-- The nearest nodes below a node that are shown.
local function shown_below(node, found)
   for _, child in ipairs(node.children) do
      if is_shown(child) then
         if not found[child] then
            found[child] = true
            table.insert(found, child)
         end
      else
         shown_below(child, found)
      end
   end
   return found
end

local simple_print = {}
nngraph.simple_print = simple_print

function simple_print.todot(g, title)
   local parts = { 'digraph G {\n' }
   local function write(...) parts[#parts + 1] = table.concat{ ... } end
   if title then write('labelloc="t";\nlabel="', title, '";\n') end
   write('node [shape = oval]; ')
   local edges = {}
   for _, node in ipairs(g.nodes) do
      if is_shown(node) then
         write('\nn', node.id, '[label="Node', node.id, '\\n', node:label(), '"];')
         for _, below in ipairs(shown_below(node, {})) do
            edges[#edges + 1] = ('n%d -> n%d;\n'):format(node.id, below.id)
         end
      end
   end
   write('\n', table.concat(edges), '}')
   return table.concat(parts)
end

function simple_print.dot(g, title, basename)
   if not basename then
      error('nngraph.simple_print.dot: give a file name (without suffix) as third argument; th has no window', 2)
   end
   write_drawing(simple_print.todot(g, title), basename)
end
