-- Hints for a failing require, by the first part of the package's name. rock: its name in LuaRocks (plain Lua, which th
-- loads unmodified); source: where to get a package that LuaRocks lacks; debian: Debian's package. refused: why th has
-- no such package, and what to use instead.
local plain, refused = {}, {}

local function rocks(names)
   for name, rock in names:gmatch('(%S+)=(%S+)') do plain[name] = { rock = rock } end
end

-- module=rock
rocks[[
   autobw=autobw autograd=autograd basic=basic dataload=dataload dpnn=dpnn
   dp=dp eladtools=eladtools experiments=experiments hash=hash hypero=hypero iterm=iterm inspect=inspect
   json=json4lua dkjson=dkjson logging=lualogging logroll=logroll luaunit=luaunit manifold=manifold
   middleclass=middleclass nninit=nninit nnlr=nnlr nnquery=nnquery pprint=pprint
   residual=residual rnn=rnn rnnlib=rnnlib serpent=serpent std=stdlib telescope=telescope torchnet=torchnet
   torchx=torchx tunit=tunit underscore=underscore.lua vararg=vararg weight-init=weight-init
   word2vec=word2vec xtorch=xtorch xttorch=xttorch nnf=nnf dataset=dataset mobdebug=mobdebug tableshape=tableshape]]

for name, package in pairs{ inspect = 'lua-inspect', json = 'lua-json', dkjson = 'lua-dkjson',
   logging = 'lua-logging', luaunit = 'lua-unit' } do
   plain[name].debian = package
end

-- Sources: the `repository` on GitHub, and the `part` of it that is the package ('' for all of it), if known.
for name, place in pairs{
   autobw = 'bshillingford/autobw.torch:', autograd = 'twitter/torch-autograd:src',
   babi = 'facebook/bAbI-tasks:lua/babi', classic = 'deepmind/classic:classic', dataload = 'Element-Research/dataload:',
   dataset = 'twitter/torch-dataset', decisiontree = 'twitter/torch-decisiontree',
   distlearn = 'twitter/torch-distlearn',
   dp = 'nicholas-leonard/dp:', dpnn = 'Element-Research/dpnn:', iterm = 'szagoruyko/iterm.torch:',
   luacov = 'keplerproject/luacov:src/luacov', middleclass = 'kikito/middleclass:middleclass.lua',
   net2net = 'soumith/net2net.torch:', nnf = 'fmassa/object-detection.torch',
   nninit = 'Kaixhin/nninit:nninit.lua', pprint = 'jagt/pprint.lua:pprint.lua',
   ['pretty-nn'] = 'Atcold/torch-pretty-nn:', rnn = 'Element-Research/rnn:',
   rnnlib = 'facebookresearch/torch-rnnlib:rnnlib', ['torch-rnn'] = 'jcjohnson/torch-rnn:',
   torchnet = 'torchnet/torchnet:', torchx = 'nicholas-leonard/torchx:',
   underscore = 'mirven/underscore.lua:lib/underscore.lua', wordembedding = 'rotmanmi/word2vec.torch',
} do
   local known = plain[name] or {}
   plain[name], known.repository, known.part = known, place:match('^([^:]*):?(.*)$')
   if not place:find(':', 1, true) then known.part = nil end
   known.source = 'https://github.com/' .. known.repository
end

-- A file of theirs that is installed beside the others, whatever folder it is in.
plain.dpnn.beside, plain.torchx.beside = 'test/test.lua', 'test/test.lua'

-- Packages that these load.
plain.rnn.needs, plain.dp.needs, plain.dataload.needs = { 'dpnn', 'torchx' }, { 'dpnn', 'torchx' }, { 'torchx' }

local WINDOWS = 'it opens windows, which th lacks: save pictures with image.save, or look at them in a browser '
   .. "with require 'display'"
local OF_QT = 'qt qtlua qtcore qtgui qtide qtsvg qtuiloader qttorch qtwidget qtdisplay camera gfx imgui sdl2 nanovg'
for name in OF_QT:gmatch('%S+') do
   refused[name] = WINDOWS
end
refused.lapp = "Penlight has it as pl.lapp: require 'pl.lapp'"
refused.camera = 'th reads no camera: write the frames to files (ffmpeg does) and load them with image.load'

for name in ('cltorch clnn clblas clfft'):gmatch('%S+') do
   refused[name] = 'it needs OpenCL, which th has no GPU backend for: run the script on the CPU, or with CUDA (cutorch)'
end
for name in ('mpiT distlearn ipc parallel'):gmatch('%S+') do
   refused[name] = "it starts processes from C code, which th cannot load: use require 'threads'"
end
for name, instead in pairs{
   async = "socket.http's requests",
   audio = "npy4th or hdf5 for sound that another program has read, and signal for its spectra",
   cv = 'image, or graphicsmagick',
   opencv = 'image, or graphicsmagick',
   ffmpeg = 'the program ffmpeg, which writes frames that image.load reads',
   fftw3 = 'signal',
   lpeg = 'string.find, or rex_pcre',
   mattorch = 'matio',
   nccl = "cunn's DataParallelTable, which does without",
   zmq = 'socket',
   sqlite3 = 'csvigo or hdf5',
   warp_ctc = "nnx's CTCCriterion, which PyTorch computes",
   videograph = 'image.load of frames that ffmpeg has written',
} do
   refused[name] = 'it is made of C code, which th cannot load, and nothing of ours stands in for it; use ' .. instead
end

return { plain = plain, refused = refused }
