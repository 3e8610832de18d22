-- The package optim. An optimiser is a function
--    x, values = optim.name(opfunc, x, config, state)
-- opfunc(x) gives f(x) and df/dx; x is changed in place; `values` lists f at each evaluation. What must be kept
-- between calls is put into `state`, or into `config` if there is no state.
require 'torch'
require 'xlua'

optim = optim or {}

require 'optim.descent'
require 'optim.adaptive'
require 'optim.conjugate_gradient'
require 'optim.line_search'
require 'optim.lbfgs'
require 'optim.fista'
require 'optim.evolution'
require 'optim.checkgrad'
require 'optim.confusion_matrix'
require 'optim.logger'

return optim
