-- What the prompt's ? says on the classes of nn, from what is declared of them: a line for each, the arguments that are
-- not read from the code, and a sentence.
local declarations = require 'nn.declarations'

local lines = {}
for k, name in ipairs(declarations.names()) do
   local declaration = declarations.of(name)
   lines[k] = ('%s %s %s'):format(name, declarations.usage(declaration), declaration.help)
end
return table.concat(lines, '\n')
