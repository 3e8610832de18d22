-- The table that optnet's files fill.
return {}
