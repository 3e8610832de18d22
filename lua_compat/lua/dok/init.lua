-- The package dok: the parts that other packages use. Its help browser is missing.
require 'xlua'

dok = dok or {}

dok.usage = xlua.usage
dok.unpack = require('xlua.arguments').collect
dok.error = xlua.error

return dok
