-- Nodes know their children; the list also maps each child to its index: children[child] = index.
local Node = torch.class('graph.Node')

function Node:__init(data)
   self.data = data
   self.id = 0
   self.children = {}
   self.visited = false
   self.marked = false
end

-- Adds a child, or a list of children, if it is not one already.
function Node:add(child)
   if type(child) == 'table' and not torch.typename(child) then
      for _, one in ipairs(child) do self:add(one) end
   elseif not self.children[child] then
      table.insert(self.children, child)
      self.children[child] = #self.children
   end
end

-- Visits depth first: before(node), the children, after(node). Nodes marked `visited` are skipped; before and after set
-- the mark.
function Node:visit(before, after)
   if self.visited then return end
   if before then before(self) end
   for _, child in ipairs(self.children) do child:visit(before, after) end
   if after then after(self) end
end

function Node:label() return tostring(self.data) end

-- The graph of all nodes reachable from this one.
function Node:graph()
   local g = graph.Graph()
   self:bfs(function(node)
      for _, child in ipairs(node.children) do g:add(graph.Edge(node, child)) end
   end)
   return g
end

-- Calls f(node) for every reachable node, children first. Returns the list of these nodes, which stay marked as
-- visited.
function Node:dfs_dirty(f)
   local nodes = {}
   self:visit(function(node) node.visited = true end, function(node)
      f(node)
      nodes[#nodes + 1] = node
   end)
   return nodes
end

function Node:dfs(f)
   for _, node in ipairs(self:dfs_dirty(f)) do node.visited = false end
end

-- Calls f(node) for every reachable node, nearest first. Returns the list of these nodes, which stay marked.
function Node:bfs_dirty(f)
   local nodes = { self }
   self.marked = true
   local next_one = 1
   while nodes[next_one] do
      local node = nodes[next_one]
      next_one = next_one + 1
      f(node)
      for _, child in ipairs(node.children) do
         if not child.marked then
            child.marked = true
            nodes[#nodes + 1] = child
         end
      end
   end
   return nodes
end

function Node:bfs(f)
   for _, node in ipairs(self:bfs_dirty(f)) do node.marked = false end
end

-- Whether some path from this node contains a cycle.
function Node:hasCycle()
   local open, done = {}, {}
   local function explore(node)
      if open[node] then return true end
      if done[node] then return false end
      open[node] = true
      for _, child in ipairs(node.children) do
         if explore(child) then return true end
      end
      open[node], done[node] = nil, true
      return false
   end
   return explore(self)
end

local Edge = torch.class('graph.Edge')

function Edge:__init(from, to, weight)
   self.from, self.to, self.weight = from, to, weight
end
