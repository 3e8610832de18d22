-- The package optim. An optimiser is a function
--    x, values = optim.name(opfunc, x, config, state)
-- opfunc(x) returns f(x) and df/dx; x is changed in place; `values` lists f at each evaluation. What has to be kept
-- between calls is stored in `state`, or in `config` if there is no state.
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
