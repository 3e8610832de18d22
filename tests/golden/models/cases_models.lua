-- More cases for probe_models.lua: models, and classes and options that cases_nn.lua leaves out.
local function net_of(layers) -- a residual net in the way of fb.resnet.torch
   local block = nn.Sequential()
      :add(nn.ConcatTable()
         :add(nn.Sequential()
            :add(nn.SpatialConvolution(4, 4, 3, 3, 1, 1, 1, 1)):add(nn.SpatialBatchNormalization(4)):add(nn.ReLU(true))
            :add(nn.SpatialConvolution(4, 4, 3, 3, 1, 1, 1, 1)):add(nn.SpatialBatchNormalization(4)))
         :add(nn.Identity()))
      :add(nn.CAddTable(true)):add(nn.ReLU(true))
   return nn.Sequential():add(nn.SpatialConvolution(3, 4, 3, 3, 1, 1, 1, 1)):add(block)
      :add(nn.SpatialAveragePooling(6, 6, 1, 1)):add(nn.View(-1):setNumInputDims(3)):add(nn.Linear(4, 3)):add(nn.LogSoftMax())
end
local function graph_of_two_inputs()
   local a, b = nn.Identity()(), nn.Identity()()
   local h = nn.Tanh()(nn.CAddTable()({ nn.Linear(5, 4)(a), nn.Linear(3, 4)(b) }))
   local one, two = nn.SplitTable(2)(nn.Reshape(2, 2)(h)):split(2)
   return nn.gModule({ a, b }, { nn.CMulTable()({ one, two }), h })
end
local function graph_of_one_input()
   local x = nn.Identity()()
   local y = nn.Linear(4, 4)(x)
   return nn.gModule({ x }, { nn.JoinTable(2)({ nn.Sigmoid()(y), nn.CSubTable()({ x, y }) }) })
end
local function tied_autoencoder()
   local encoder, decoder = nn.Linear(4, 4), nn.Linear(4, 4)
   decoder:share(encoder, 'weight', 'gradWeight')
   return nn.Sequential():add(encoder):add(nn.Tanh()):add(decoder)
end
local function flattened()
   local net = nn.Sequential():add(nn.Linear(4, 3)):add(nn.Tanh()):add(nn.Linear(3, 2))
   net:getParameters()
   return net
end
local function one_module_twice()
   local layer = nn.Linear(3, 3)
   return nn.Sequential():add(layer):add(nn.Tanh()):add(layer)
end
local function in_place_before_a_branch()
   return nn.ConcatTable():add(nn.ReLU(true)):add(nn.Identity())
end
local function summed_windows()
   local pool = nn.SpatialAveragePooling(2, 2, 2, 2)
   pool.divide = false
   return pool
end
CASES_MODELS = { net_of = net_of, two = graph_of_two_inputs, one = graph_of_one_input, tied = tied_autoencoder,
   flat = flattened, twice = one_module_twice, branch = in_place_before_a_branch, summed = summed_windows }

return {
   {"CASES_MODELS.net_of", {{2,3,6,6}}}, {"CASES_MODELS.two", {{2,5},{2,3}}}, {"CASES_MODELS.one", {{2,4}}},
   {"CASES_MODELS.tied", {{2,4}}}, {"CASES_MODELS.flat", {{2,4}}}, {"CASES_MODELS.twice", {{2,3}}},
   {"CASES_MODELS.branch", {{2,3}}, {forward_only=true}}, {"CASES_MODELS.summed", {{2,3,6,6}}},
   {"nn.SpatialBatchNormalization(3)", {{1,3,5,5}}}, {"nn.BatchNormalization(4)", {{1,4}}}, {"nn.VolumetricBatchNormalization(2)", {{1,2,3,4,4}}},
   {"nn.SpatialMaxPooling(1,1,2,2):ceil()", {{1,2,4,5}}, {forward_only=true}}, {"nn.SpatialMaxPooling(3,2,2,3,1,1):ceil()", {{2,3,7,8}}},
   {"nn.SpatialMaxPooling(2,2,2,2):ceil()", {{3,7,7}}}, {"nn.SpatialAveragePooling(3,3,2,2,1,1):ceil()", {{2,3,12,12}}},
   {"nn.SpatialAveragePooling(3,3,2,2,1,1):ceil():setCountExcludePad()", {{2,3,12,12}}},
   {"nn.VolumetricDilatedConvolution(2,3,2,3,3,1,1,1,0,1,1,1,2,2)", {{2,2,4,8,8}}}, {"nn.VolumetricDilatedMaxPooling(2,2,2,1,1,1,0,0,0,2,1,2)", {{2,2,5,6,6}}},
   {"nn.VolumetricMaxPooling(2,2,2,2,2,2):ceil()", {{2,2,5,7,7}}}, {"nn.VolumetricFullConvolution(2,3,2,2,2,2,2,2,0,1,1,1,0,1)", {{2,2,3,3,3}}},
   {"nn.SpatialFullConvolution(3,4,3,3,2,2,1,1)", {{2,3,5,5},{2,4,10,9}}},
   {"nn.SpatialConvolutionLocal(3,4,7,6,3,2,2,1,1,0)", {{3,6,7}}}, {"nn.SpatialDepthWiseConvolution(3,2,3,3,1,1,1,1):noBias()", {{2,3,6,6}}},
   {"nn.SpatialConvolutionMap(nn.tables.full(3,4),3,3,2,1)", {{2,3,7,7}}}, {"nn.TemporalRowConvolution(4,2,1,true)", {{2,4,6}}},
   {"nn.TemporalConvolution(4,3,2,2)", {{7,4}}}, {"nn.TemporalDynamicKMaxPooling(2,0.4)", {{2,7,3}}}, {"nn.TemporalSubSampling(4,3,2)", {{7,4}}},
   {"nn.UpSampling(2)", {{2,3,4,4}}}, {"nn.UpSampling(2,'bilinear')", {{2,3,4,4}}}, {"nn.UpSampling({odepth=4,owidth=7,oheight=5},'trilinear')", {{2,3,2,4,3}}},
   {"nn.SpatialUpSamplingBilinear({owidth=7,oheight=5})", {{3,4,4}}}, {"nn.SpatialUpSamplingNearest(3)", {{3,4,4}}},
   {"nn.SpatialReflectionPadding(1,2,1,0)", {{3,4,4}}}, {"nn.Collapse(2)", {{3,4,5}}}, {"nn.Collapse(3)", {{3,4,5}}},
   {"nn.Constant(torch.randn(3),1)", {{4,5}}, {forward_only=true}}, {"nn.OneHot(6)", {{3,2}}, {labels=6, forward_only=true}},
   {"nn.Index(1)", {{}}, {input=function() return {torch.randn(5,3), torch.LongTensor{2,5,2}} end, forward_only=true}},
   {"nn.MaskedSelect()", {{}}, {input=function() return {torch.randn(5), torch.ByteTensor{1,0,0,1,1}} end, forward_only=true}},
   {"nn.ZipTable()", {{}}, {input=function() return {{torch.randn(2), torch.randn(2)}, {torch.randn(2), torch.randn(2)}} end, forward_only=true}},
   {"nn.ZipTableOneToMany()", {{}}, {input=function() return {torch.randn(2), {torch.randn(2), torch.randn(3)}} end, forward_only=true}},
   {"nn.CAddTensorTable()", {{}}, {input=function() return {torch.randn(2), {torch.randn(2), torch.randn(2)}} end, forward_only=true}},
   {"nn.MixtureTable(2)", {{}}, {input=function() return {torch.sigmoid(torch.randn(4,2)), {torch.randn(4,5), torch.randn(4,5)}} end, forward_only=true}},
   {"nn.FlattenTable()", {{}}, {input=function() return {torch.randn(2), {torch.randn(3), {torch.randn(1)}}} end, forward_only=true}},
   {"nn.Narrow(2,-1,2)", {{4,5}}}, {"nn.Narrow(-1,2,-2)", {{4,5}}}, {"nn.Select(-1,2)", {{4,5}}}, {"nn.SelectTable(-1)", {{4,5},{4,2}}},
   {"nn.Padding(1,2,1,0.5,2)", {{4,5}}}, {"nn.Padding(2,-1,2,0,3)", {{4,5}}}, {"nn.Squeeze(1,2)", {{3,1,5}}}, {"nn.Squeeze(nil,2)", {{1,1,5}}},
   {"nn.Unsqueeze(1,1)", {{4,5}}}, {"nn.Replicate(3,1,1)", {{4,5}}}, {"nn.Transpose({1,2}):setNumInputDims(2)", {{3,4,5}}},
   {"nn.View(-1,2)", {{4,6}}}, {"nn.View(5)", {{1,5}}}, {"nn.Reshape(5,4,false)", {{4,5}}}, {"nn.Reshape(5)", {{1,5}}},
   {"nn.Max(1,1)", {{4,5}}}, {"nn.Min(-1)", {{4,5}}}, {"nn.Max(1)", {{5}}}, {"nn.Mean(1,1)", {{4,5}}}, {"nn.Sum(2,2,false,false)", {{3,4,5}}},
   {"nn.SoftMax()", {{3,4,4}}}, {"nn.LogSoftMax()", {{2,3,4,4}}}, {"nn.SoftMin()", {{3,4,4}}}, {"nn.PReLU(4)", {{3,4,4}}}, {"nn.PReLU(3)", {{2,3,4,4}}}, {"nn.PReLU(5)", {{5}}},
   {"nn.SoftPlus(2)", {{4,5}}}, {"nn.CReLU(3)", {{2,3,4,4}}}, {"nn.CReLU(3)", {{3,4,4}}}, {"nn.GatedLinearUnit(1)", {{4,5}}},
   {"nn.MulConstant(2.5,true)", {{4,5}}}, {"nn.AddConstant(2.5,true)", {{4,5}}}, {"nn.AddConstant(torch.randn(5))", {{4,5}}, {forward_only=true}}, {"nn.ELU(0.7,true)", {{4,5}}},
   {"nn.Sqrt()", {{4,5}}, {input=function() return torch.Tensor{0,1,4} end}},
   {"nn.Normalize(math.huge)", {{4,5}}}, {"nn.Normalize(2)", {{5}}}, {"nn.PairwiseDistance(1)", {{4,5},{4,5}}}, {"nn.CosineDistance()", {{5},{5}}},
   {"nn.Bilinear(4,5,3,false)", {{6,4},{6,5}}}, {"nn.Add(4)", {{3,4}}}, {"nn.CAdd(4)", {{3,4}}}, {"nn.CMul(2,3)", {{5,2,3}}}, {"nn.Cosine(5,3)", {{5}}},
   {"nn.Euclidean(5,3)", {{5}}}, {"nn.WeightedEuclidean(5,3)", {{5}}}, {"nn.LinearWeightNorm(5,3,false)", {{4,5}}},
   {"nn.WeightNorm(nn.SpatialConvolution(3,4,3,3))", {{2,3,5,5}}}, {"nn.WeightNorm(nn.SpatialFullConvolution(3,4,3,3),2)", {{2,3,5,5}}},
   {"nn.LookupTable(10,4,3)", {{6}}, {labels=10}}, {"nn.LookupTable(10,4,0,0.5)", {{3,5}}, {labels=10, forward_only=true}},
   {"nn.L1Penalty(0.1,true,false)", {{4,5}}}, {"nn.Bottle(nn.Linear(5,3))", {{4,5}}}, {"nn.Bottle(nn.View(6):setNumInputDims(2),3,2)", {{2,4,3,2}}, {forward_only=true}},
   {"nn.MapTable():add(nn.Sequential():add(nn.Linear(5,3)):add(nn.Tanh()))", {{4,5},{2,5},{3,5}}},
   {"nn.DepthConcat(1):add(nn.SpatialConvolution(3,2,3,3)):add(nn.SpatialConvolution(3,2,4,5))", {{3,9,9}}},
   {"nn.SpatialContrastiveNormalization(3, torch.ones(5))", {{2,3,9,9}}}, {"nn.SpatialDivisiveNormalization(3, torch.ones(3,5), 0.5)", {{2,3,9,9}}},
   {"nn.SpatialSubtractiveNormalization(2, torch.ones(5))", {{2,7,9}}},
   {"nn.SpatialCrossMapLRN(5,0.5)", {{7,4,4}}}, {"nn.Dropout(0.3,true)", {{4,5}}}, {"nn.SpatialDropout(0.4)", {{3,4,4}}}, {"nn.RReLU()", {{4,5}}},
   {"nn.Copy('torch.DoubleTensor','torch.FloatTensor')", {{4,5}}, {forward_only=true}},
   {"nn.DontCast(nn.Linear(3,2))", {{4,3}}}, {"nn.ZeroGrad()", {{4,3}}},
}
