-- Graphs as lists of nodes and edges. The list of nodes also maps each node to its index: nodes[node] = index.
local Graph = torch.class('graph.Graph')

function Graph:__init()
   self.nodes = {}
   self.edges = {}
end

local function enlist(list, item)
   if not list[item] then
      table.insert(list, item)
      list[item] = #list
   end
   return list[item]
end

-- Adds an edge, or a list of edges, with its nodes; a node's id is its index.
function Graph:add(edge)
   if type(edge) ~= 'table' then error('graph.Edge or {graph.Edges} expected', 2) end
   if not torch.typename(edge) then
      for _, one in ipairs(edge) do self:add(one) end
      return
   end
   enlist(self.edges, edge)
   edge.from.id = enlist(self.nodes, edge.from)
   edge.to.id = enlist(self.nodes, edge.to)
   edge.from:add(edge.to)
end

-- New nodes with the same data.
function Graph:clone()
   local copies, clone = {}, graph.Graph()
   for i, node in ipairs(self.nodes) do copies[i] = node.new(node.data) end
   for _, edge in ipairs(self.edges) do
      clone:add(edge.new(copies[self.nodes[edge.from]], copies[self.nodes[edge.to]]))
   end
   return clone
end

-- Returns a graph of new nodes with the same data and reversed edges, and a map from old nodes to new ones.
function Graph:reverse()
   local reversed, counterpart = graph.Graph(), {}
   local function of(node)
      counterpart[node] = counterpart[node] or node.new(node.data)
      return counterpart[node]
   end
   for _, edge in ipairs(self.edges) do
      local from, to = of(edge.from), of(edge.to)
      reversed:add(edge.new(to, from))
   end
   return reversed, counterpart
end

-- The nodes at the end `there` of some edge but at the end `elsewhere` of none, in the order of the list of nodes.
local function only_at(self, there, elsewhere)
   local excluded, found, listed = {}, {}, {}
   for _, edge in ipairs(self.edges) do excluded[edge[elsewhere]] = true end
   for _, edge in ipairs(self.edges) do
      local node = edge[there]
      if not excluded[node] and not listed[node] then
         listed[node] = true
         found[#found + 1] = node
      end
   end
   table.sort(found, function(a, b) return self.nodes[a] < self.nodes[b] end)
   return found
end

-- The nodes without incoming edges, and those without outgoing edges.
function Graph:roots() return only_at(self, 'from', 'to') end
function Graph:leaves() return only_at(self, 'to', 'from') end

function Graph:hasCycle()
   local roots = self:roots()
   for _, root in ipairs(roots) do
      if root:hasCycle() then return true end
   end
   return #roots == 0
end

-- Returns the nodes sorted so that every edge leads forward, then the reversed graph and its roots.
function Graph:topsort()
   local reversed, counterpart = self:reverse()
   local original = {}
   for node, copy in pairs(counterpart) do original[copy] = node end
   local roots = reversed:roots()
   if #roots == 0 then error('Graph has cycles', 2) end
   local start = roots[1]
   if #roots > 1 then
      start = graph.Node('all roots')
      for _, root in ipairs(roots) do start:add(root) end
   end
   local sorted = {}
   start:dfs(function(node) sorted[#sorted + 1] = original[node] end)
   if #sorted ~= #self.nodes then error('Graph has cycles', 2) end
   return sorted, reversed, roots
end
