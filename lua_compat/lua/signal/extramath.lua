-- The module signal.extramath.
local extramath = {}

function extramath.round(x) return x >= 0 and math.floor(x + 0.5) or math.ceil(x - 0.5) end

function extramath.log2(x) return math.log(x) / math.log(2) end

function extramath.nextpow2(x) return math.ceil(extramath.log2(math.abs(x))) end

return extramath
