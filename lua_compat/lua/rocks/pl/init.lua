-- pl: Penlight's modules as globals, each loaded on first access. This is our own implementation of version 1.5's
-- interface (2015-2017), with later functions where they do not contradict it. A user's own Penlight takes precedence.
require 'pl.import_into'(_G)

if rawget(_G, 'PENLIGHT_STRICT') then require 'pl.strict' end
