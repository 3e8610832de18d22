-- Probe of layers that packages and repositories declare, recorded with their own files, which are not kept here.
-- usage: th probe_packages.lua WHICH OUT.t7 RECORD.lua FOLDER   (any Torch7 runtime that finds the package)
-- WHICH: rnn (Element-Research's, and dpnn), later (the rnn under torch), torch-rnn or others; FOLDER holds the
-- repositories as OWNER+NAME. RECORD.lua: tests/compatibility/architectures/record.lua
require 'nn'
local which, out, record = arg[1], arg[2], dofile(arg[3])
torch.setdefaulttensortype('torch.DoubleTensor')
torch.manualSeed(1)
table.unpack = table.unpack or unpack
local inputs = {}
for k = 1, 8 do inputs[k] = torch.randn(4, 2, 3) end
local taken = 0
-- Four steps of two samples of three features
local function tensor()
   taken = taken % #inputs + 1
   return inputs[taken]:clone()
end
local function steps()
   local list = {}
   for k, step in ipairs(tensor():split(1)) do list[k] = step:view(2, 3):clone() end
   return list
end
-- The first sample has a step of zeros, and, unless `one`, both have a later one.
local function with_zeros(value, one)
   value[2][1]:zero()
   if not one then value[3]:zero() end
   return value
end
local cases = {}
local function case(name, build, input, twice) cases[#cases + 1] = { name, build, input, twice } end

if which == 'rnn' then
   require 'rnn'
   require 'nngraph'
   case('LSTM', function() return nn.Sequencer(nn.LSTM(3, 5)) end, steps())
   case('LSTM without peepholes', function() return nn.Sequencer(nn.LSTM(3, 5, nil, false)) end, steps())
   case('LSTM alone', function() return nn.LSTM(3, 5) end, steps()[1])
   case('FastLSTM', function() return nn.Sequencer(nn.FastLSTM(3, 5)) end, steps())
   case('FastLSTM of nngraph', function()
      nn.FastLSTM.usenngraph = true
      local net = nn.Sequencer(nn.FastLSTM(3, 5))
      nn.FastLSTM.usenngraph = false
      return net
   end, steps())
   case('LSTM with dropout', function() return nn.Sequencer(nn.LSTM(3, 5, nil, nil, 0.25)) end, steps())
   case('GRU', function() return nn.Sequencer(nn.GRU(3, 5)) end, steps())
   case('GRU that remembers', function() return nn.Sequencer(nn.GRU(3, 5)):remember() end, steps(), true)
   case('LSTM that remembers in training', function() return nn.Sequencer(nn.LSTM(3, 5)):remember('train') end, steps(), true)
   case('MuFuRu', function() return nn.Sequencer(nn.MuFuRu(3, 5)) end, steps())
   case('Recurrent', function()
      return nn.Sequencer(nn.Recurrent(5, nn.Linear(3, 5), nn.Linear(5, 5), nn.Sigmoid()))
   end, steps())
   case('Recurrence', function()
      local step = nn.Sequential():add(nn.ParallelTable():add(nn.Linear(3, 5)):add(nn.Linear(5, 5))):add(nn.CAddTable()):add(nn.Tanh())
      return nn.Sequencer(nn.Recurrence(step, 5, 1))
   end, steps())
   case('stack of a tensor', function()
      return nn.Sequencer(nn.Sequential():add(nn.FastLSTM(3, 5)):add(nn.Linear(5, 4)):add(nn.LogSoftMax()))
   end, tensor())
   case('Repeater', function() return nn.Repeater(nn.LSTM(3, 5), 3) end, steps()[2])
   case('BiSequencer', function() return nn.BiSequencer(nn.FastLSTM(3, 5)) end, steps())
   case('BiSequencer of two', function() return nn.BiSequencer(nn.LSTM(3, 5), nn.GRU(3, 5), nn.CAddTable()) end, steps())
   case('BiSequencerLM', function() return nn.BiSequencerLM(nn.LSTM(3, 5)) end, steps())
   case('SeqLSTM', function() return nn.SeqLSTM(3, 5) end, tensor())
   case('SeqLSTM that remembers', function() return nn.SeqLSTM(3, 5):remember('eval') end, tensor(), true)
   case('SeqLSTM, batch first, with zeros', function()
      local net = nn.SeqLSTM(3, 5)
      net.batchfirst, net.maskzero = true, true
      return net
   end, with_zeros(tensor()):transpose(1, 2):clone())
   case('SeqLSTM of first states', function() return nn.SeqLSTM(3, 5) end, { torch.randn(2, 5), torch.randn(2, 5), tensor() })
   case('SeqLSTMP', function() return nn.SeqLSTMP(3, 5, 4) end, tensor())
   case('SeqGRU', function() return nn.SeqGRU(3, 5) end, tensor())
   case('SeqGRU with zeros', function()
      local net = nn.SeqGRU(3, 5)
      net.maskzero = true
      return net
   end, with_zeros(tensor()))
   case('SeqBRNN', function() return nn.SeqBRNN(3, 5) end, tensor())
   case('LSTM with zeros', function() return nn.Sequencer(nn.LSTM(3, 5):maskZero(1)) end, with_zeros(steps()))
   if pcall(require, 'torchx') then
      case('GRU that trims zeros', function() return nn.Sequencer(nn.GRU(3, 5):trimZero(1)) end, with_zeros(steps(), true))
   end
   case('MaskZero', function() return nn.MaskZero(nn.Sequential():add(nn.Linear(3, 4)):add(nn.Tanh()), 1) end, with_zeros(steps())[2])
   case('LookupTableMaskZero', function()
      return nn.Sequential():add(nn.LookupTableMaskZero(6, 3)):add(nn.SplitTable(1)):add(nn.Sequencer(nn.GRU(3, 5)))
   end, torch.Tensor{ { 1, 0 }, { 3, 6 }, { 0, 2 } })
   case('Clip', function() return nn.Clip(-0.5, 0.7) end, tensor())
   case('FireModule', function() return nn.FireModule(3, 2, 3, 4) end, torch.randn(2, 3, 5, 6))
   case('SpatialFeatNormalization', function()
      return nn.SpatialFeatNormalization(torch.Tensor{ 1, 2, 3 }, torch.Tensor{ 0.5, 2, 1 })
   end, torch.randn(2, 3, 5, 6))
elseif which == 'later' then
   require 'rnn'
   case('RecLSTM', function() return nn.Sequencer(nn.RecLSTM(3, 5)) end, tensor())
   case('RecLSTM with projection', function() return nn.Sequencer(nn.RecLSTM(3, 5, 4)) end, tensor())
   case('RecGRU', function() return nn.Sequencer(nn.RecGRU(3, 5)) end, tensor())
   case('SeqLSTM', function() return nn.SeqLSTM(3, 5) end, tensor())
   case('SeqGRU', function() return nn.SeqGRU(3, 5) end, tensor())
   case('BiSequencer', function() return nn.BiSequencer(nn.RecLSTM(3, 5)) end, tensor())
elseif which == 'torch-rnn' then
   package.path = arg[4] .. '/jcjohnson+torch-rnn/?.lua;' .. package.path
   require 'LSTM'
   require 'VanillaRNN'
   case('LSTM', function() return nn.LSTM(3, 5) end, tensor())
   case('LSTM that remembers', function()
      local net = nn.LSTM(3, 5)
      net.remember_states = true
      return net
   end, tensor(), true)
   case('LSTM of first states', function() return nn.LSTM(3, 5) end, { torch.randn(4, 5), torch.randn(4, 5), tensor() })
   case('VanillaRNN', function() return nn.VanillaRNN(3, 5) end, tensor())
else
   package.loaded.loadcaffe = {}
   package.path = arg[4] .. '/DmitryUlyanov+texture_nets/?.lua;' .. package.path
   dofile(arg[4] .. '/DmitryUlyanov+texture_nets/src/utils.lua')
   for _, name in ipairs{ 'Gaussian', 'Uniform' } do dofile(arg[4] .. '/Kaixhin+Autoencoders/modules/' .. name .. '.lua') end
   w2nn = {}
   for _, name in ipairs{ 'ScaleTable', 'InplaceClip01', 'AuxiliaryLossTable' } do
      dofile(arg[4] .. '/nagadomi+waifu2x/lib/' .. name .. '.lua')
   end
   local function beside(layer) -- a layer that gives no gradient beside one that does
      return nn.Sequential():add(nn.ConcatTable():add(nn.Linear(3, 3)):add(layer)):add(nn.CAddTable())
   end
   case('GenNoise', function()
      return nn.Sequential():add(nn.Concat(2):add(nn.SpatialConvolution(3, 2, 1, 1)):add(nn.GenNoise(4)))
   end, torch.randn(2, 3, 5, 6))
   case('NoiseFill', function()
      return nn.Sequential():add(nn.SpatialConvolution(3, 3, 1, 1)):add(nn.NoiseFill(2))
   end, torch.randn(2, 3, 5, 6))
   case('Gaussian', function() return beside(nn.Gaussian(1, 2)) end, steps()[1])
   case('Uniform', function() return beside(nn.Uniform(-1, 2)) end, steps()[1])
   case('ScaleTable', function() return w2nn.ScaleTable() end, { torch.randn(2, 3, 4, 5), torch.randn(2, 3, 1, 1) })
   case('InplaceClip01', function()
      return nn.Sequential():add(nn.Linear(3, 4)):add(w2nn.InplaceClip01())
   end, steps()[1])
   case('AuxiliaryLossTable', function()
      return nn.Sequential():add(nn.ConcatTable():add(nn.Linear(3, 4)):add(nn.Linear(3, 4))):add(w2nn.AuxiliaryLossTable(2))
   end, steps()[1])
end

-- Numbers are drawn before the first record, which makes all later draws 0.5.
local records = {}
for k, one in ipairs(cases) do cases[k].net = one[2]() end
for _, one in ipairs(cases) do
   local ok, found = pcall(record, one.net, one[3], one[4])
   if not ok then error(one[1] .. ': ' .. tostring(found)) end
   found.name = one[1]
   records[#records + 1] = found
end
torch.save(out, records)
print(#records .. ' modules')
