-- The Penlight modules that become globals when a script reads their names.
local names = {}
for name in ([[utils path dir tablex stringio sip input seq lexer stringx config pretty data func text operator lapp
   array2d comprehension xml types test app file class luabalanced permute template url compat
   List Map Set OrderedMap MultiMap Date]]):gmatch('%S+') do
   names[name] = true
end
return names
