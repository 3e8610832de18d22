-- The prompt's help on the classes of nn, from their declarations: a line for each, with the arguments unless they are
-- read from the code, and a sentence.
local declarations = require 'nn.declarations'

local lines = {}
for k, name in ipairs(declarations.names()) do
   local declaration = declarations.of(name)
   lines[k] = ('%s %s %s'):format(name, declarations.usage(declaration), declaration.help)
end
return table.concat(lines, '\n')
