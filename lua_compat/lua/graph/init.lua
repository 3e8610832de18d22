-- The package graph: directed graphs of nodes that hold any data.
require 'torch'

graph = graph or {}

require 'graph.node'
require 'graph.graph'
require 'graph.graphviz'

return graph
