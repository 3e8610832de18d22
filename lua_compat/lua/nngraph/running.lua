-- The node that each gModule is evaluating.
return { node_of = setmetatable({}, { __mode = 'k' }) }
