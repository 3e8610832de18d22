-- The package graph: directed graphs of nodes with arbitrary data.
require 'torch'

graph = graph or {}

require 'graph.node'
require 'graph.graph'
require 'graph.graphviz'

return graph
