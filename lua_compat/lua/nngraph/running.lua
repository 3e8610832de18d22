-- The node that each gModule is currently evaluating.
return { node_of = setmetatable({}, { __mode = 'k' }) }
