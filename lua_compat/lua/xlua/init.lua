-- The package xlua: argument lists with help, a progress bar, an option parser, helpers for tables and strings.
require 'torch'
require 'sys'

xlua = xlua or {}

require 'xlua.text'
require 'xlua.session'
require 'xlua.progress'
require 'xlua.arguments'
require 'xlua.option_parser'
require 'xlua.profiler'

return xlua
