-- The package's table, to which optnet's files add their functions.
return {}
