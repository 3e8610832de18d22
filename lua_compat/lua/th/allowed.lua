-- What an untrusted script may use, by name (sandbox.lua refuses everything else). A function added to one of these
-- tables is refused until it is named here. Name only what cannot reach files, processes, memory or Python.
local function set(names)
   local t = {}
   for name in names:gmatch('%S+') do t[name] = true end
   return t
end

local function union(...)
   local t = {}
   for _, names in ipairs{ ... } do
      for name in pairs(names) do t[name] = true end
   end
   return t
end

local allowed = {}

allowed.globals = set[[_VERSION arg assert bit bit32 collectgarbage coroutine error ipairs math next pairs pcall print
   rawequal rawget rawlen rawset select setmetatable setprintlevel string table tonumber tostring type unpack xpcall]]

-- Lua's libraries
allowed.libraries = {
   string = set[[byte char find format gfind gmatch gsub len lower match rep reverse split sub tosymbol upper]],
   table = set[[concat foreach foreachi getn insert maxn move pack prune remove sort splice unpack]],
   math = set[[abs acos asin atan atan2 ceil cos cosh deg exp floor fmod frexp huge ldexp log log10 max min mod modf pi
      pow rad random randomseed sin sinh sqrt tan tanh]],
   bit = set[[arshift band bnot bor bswap bxor lshift rol ror rshift tobit tohex]],
   bit32 = set[[arshift band bnot bor btest bxor extract lrotate lshift replace rrotate rshift]],
   coroutine = set[[create isyieldable resume running status wrap yield]],
}

-- Torch7's operations, which are functions of torch and methods of tensors
local operations = set[[
   abs acos add addbmm addcdiv addcmul addmm addmv addr all any asin atan atan2 baddbmm bernoulli bhistc bitand bitor
   bitxor bmm cat cauchy cbitand cbitor cbitxor cdiv ceil cfmod chunk cinv clamp clshift cmax cmin cmod cmul conv2 conv3
   cos cosh cpow cremainder cross crshift csub cumprod cumsum diag dist div dot eig eq equal exp expand expandAs
   exponential eye fill floor fmod frac gather ge gels geometric geqrf ger gesv gt histc inverse kthvalue le lerp
   linspace log log1p logNormal logspace lshift lt match max mean median min mm mod mode mul multinomial
   multinomialAlias multinomialAliasSetup multinomialAliasSetup_ multinomialAlias_ mv ne neg nonzero norm normal numel
   ones orgqr ormqr permute potrf potri potrs pow prod pstrf qr rand randn random randperm range remainder renorm
   repeatTensor reshape round rshift rsqrt scatter scatterAdd sigmoid sign sin sinh sort split sqrt squeeze std sum svd
   symeig tan tanh topk totable trace tril triu trtrs trunc type uniform var view viewAs xcorr2 xcorr3 zero zeros]]

allowed.torch = union(operations, set[[
   ByteStorage ByteTensor CharStorage CharTensor CmdLine DoubleStorage DoubleTensor File FloatStorage FloatTensor
   Generator HalfStorage HalfTensor IntStorage IntTensor LongStorage LongTensor MemoryFile ShortStorage ShortTensor
   Storage Tensor Tester TestSuite Timer _gen
   class deserialize deserializeFromStorage factory getRNGState getconstructortable getdefaulttensortype getenv
   getmetatable getnumcores getnumthreads initialSeed isStorage isTensor isTypeOf isatty isequal manualSeed metatype
   newmetatable pointer seed serialize serializeToStorage setRNGState setdefaulttensortype setenv setheaptracking
   setmetatable setnumthreads tic toc typename updateerrorhandlers updatethreadlocals version]])

allowed.tensor = union(operations, set[[
   apply byte char clone contiguous copy dim double elementSize float free half index indexAdd indexCopy indexFill int
   isContiguous isSameSizeAs isSetTo isSize isTensor long map map2 maskedCopy maskedFill maskedSelect nDimension
   nElement narrow new read real resize resizeAs retain select set short size storage storageOffset stride sub t
   transpose typeAs unfold write]])

allowed.storage = set[[byte char copy double elementSize fill float free half int long new read real resize retain short
   size string totable type write]]

allowed.cmdline = set[[addTime argument default error help new option parse silent string text]]

-- Packages besides torch. Those with a list keep the names in it; the others only compute, with what torch offers.
allowed.packages = {
   paths = set[[basename concat dirname extname home is_mac is_win]],
   sys = set[[COLORS OS basename clock concat dirname isNaN prefix sleep split tic toc usleep]],
   xlua = set[[OptionParser Profiler clear clearall envparams error formatTime print progress table2string trycatch
      unpack unpack_class usage usage_module who]],
}

return allowed
