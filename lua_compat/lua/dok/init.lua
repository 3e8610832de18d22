-- The package dok: what other packages use of it. Its help browser is not here.
require 'xlua'

dok = dok or {}

dok.usage = xlua.usage
dok.unpack = require('xlua.arguments').collect
dok.error = xlua.error

return dok
