-- pl.seq: iterators as sequences.
local seq = {}

for _, part in ipairs{ 'making', 'collecting', 'changing' } do
   for name, f in pairs(require('pl.seq.' .. part)) do seq[name] = f end
end

return require('pl.seq.wrapping')(seq)
