-- Modules on inputs with dimensions of size 1, whose strides leave open how a tensor lies in memory.
local cases = {}
local function add(expr, ...) for _, s in ipairs{ ... } do cases[#cases + 1] = { expr, { s } } end end
add("nn.SpatialBatchNormalization(3)", {4,3,1,5}, {1,3,4,5}, {1,3,1,5}, {4,3,5,1}, {2,3,1,1}, {1,3,5,1}, {2,3,4,5})
add("(function() local m=nn.SpatialBatchNormalization(3) m:evaluate() return m end)()", {4,3,1,5}, {1,3,1,5}, {4,3,5,1})
add("nn.SpatialBatchNormalization(1)", {4,1,3,5}, {4,1,1,5}, {1,1,3,2})
add("nn.VolumetricBatchNormalization(3)", {4,3,1,1,5}, {1,3,4,1,5}, {2,3,1,2,1})
add("nn.BatchNormalization(1)", {4,1}) add("nn.BatchNormalization(3)", {2,3})
add("nn.SpatialConvolution(3,2,1,1)", {4,3,1,5}, {1,3,1,5}, {4,3,5,1}, {1,3,4,4}, {3,1,5}, {3,4,1})
add("nn.SpatialConvolution(1,2,3,1)", {4,1,1,5}, {1,1,4,5}, {1,1,5}, {1,4,5})
add("nn.SpatialConvolution(3,2,3,1,1,1,1,0)", {4,3,1,5}, {1,3,1,5}, {4,3,5,1})
add("nn.SpatialConvolution(3,2,1,3,1,1,0,1)", {4,3,1,5}, {1,3,1,5}, {4,3,5,1})
add("nn.SpatialConvolutionMM(3,2,1,1)", {4,3,1,5}, {1,3,1,5}, {4,3,5,1})
add("nn.SpatialDilatedConvolution(3,2,1,1)", {4,3,1,5}, {1,3,1,5}, {4,3,5,1})
add("nn.SpatialFullConvolution(3,2,2,2,2,2)", {4,3,1,5}, {1,3,1,5}, {4,3,5,1}, {3,1,5})
add("nn.SpatialDepthWiseConvolution(3,2,1,1)", {4,3,1,5}, {1,3,1,5}, {4,3,5,1})
add("nn.SpatialMaxPooling(1,1)", {4,3,1,5}, {1,3,1,5}, {4,3,5,1}, {3,1,5})
add("nn.SpatialMaxPooling(2,1)", {4,3,1,5}, {1,3,1,5}, {1,3,5,2}, {3,1,5})
add("nn.SpatialMaxPooling(1,2)", {4,3,5,1}, {1,3,5,1}, {3,5,1})
add("nn.SpatialAveragePooling(2,1)", {4,3,1,5}, {1,3,1,5}, {1,3,5,2}, {3,1,5})
add("nn.SpatialDilatedMaxPooling(2,1)", {4,3,1,5}, {1,3,1,5}, {3,1,5})
add("nn.SpatialAdaptiveMaxPooling(2,1)", {4,3,1,5}, {1,3,1,5}, {3,1,5})
add("nn.SpatialAdaptiveAveragePooling(2,1)", {4,3,1,5}, {1,3,1,5}, {3,1,5})
add("nn.SpatialCrossMapLRN(3)", {4,3,1,5}, {1,3,1,5}, {4,3,5,1})
add("nn.SpatialUpSamplingNearest(2)", {4,3,1,5}, {1,3,1,5}, {4,3,5,1}, {4,1,3,3})
add("nn.SpatialUpSamplingBilinear(2)", {4,3,2,5}, {1,3,2,5}, {4,1,3,3})
add("nn.SpatialZeroPadding(1,1,1,1)", {4,3,1,5}, {1,3,1,5}, {4,1,3,3})
add("nn.SpatialReplicationPadding(1,1,1,1)", {4,3,1,5}, {1,3,1,5}, {4,1,3,3})
add("nn.SpatialReflectionPadding(1,1,1,1)", {4,3,2,5}, {1,3,2,5}, {4,1,3,3})
add("nn.SpatialSoftMax()", {4,3,1,5}, {1,3,1,5}, {4,1,3,3}, {3,1,5}, {3,5}, {3})
add("nn.SpatialLogSoftMax()", {4,3,1,5}, {1,3,1,5}, {4,1,3,3}, {3,1,5})
add("nn.SoftMax()", {4,3,1,5}, {1,3,1,5}, {4,1,3,3}, {3,1,5}, {3,5}, {3})
add("nn.LogSoftMax()", {3,5}, {3}, {1,5}, {5,1})
add("nn.PReLU(3)", {4,3,1,5}, {1,3,1,5}, {4,3,5}, {4,3}, {1,3})
add("nn.RReLU()", {4,3,1,5}) add("nn.ELU()", {4,3,1,5}, {1,3,1,5}) add("nn.GatedLinearUnit(2)", {4,4,1,5})
add("nn.SpatialSubSampling(3,1,1)", {4,3,1,5}, {1,3,1,5}) add("nn.SpatialLPPooling(3,2,1,1)", {3,1,5})
add("nn.PixelShuffle(2)", {2,4,1,3}, {1,4,3,1}, {1,8,1,1})
add("nn.Linear(5,3)", {1,5}, {2,5}) add("nn.Linear(1,3)", {4,1}, {1,1}) add("nn.Linear(5,1)", {4,5}, {1,5})
add("nn.TemporalConvolution(4,3,1,1)", {2,1,4}, {1,6,4}, {1,1,4}, {1,4}) add("nn.TemporalConvolution(1,3,2,1)", {2,3,1},
   {3,1})
add("nn.TemporalMaxPooling(1,1)", {2,1,4}, {1,6,4}) add("nn.TemporalSubSampling(4,1,1)", {1,4},
   {6,4}) add("nn.TemporalRowConvolution(4,1,1)", {2,1,4}, {1,6,4})
add("nn.VolumetricConvolution(2,3,1,1,1)", {2,2,1,1,3}, {1,2,1,4,1}) add("nn.VolumetricConvolution(1,3,1,2,2)",
   {2,1,1,3,3}, {1,1,2,3,3}) add("nn.VolumetricFullConvolution(2,3,1,1,1)", {2,2,1,1,3}, {1,2,1,4,1})
add("nn.VolumetricMaxPooling(1,1,2)", {2,2,1,4,1}, {1,2,1,4,1}, {2,1,4,1}) add("nn.VolumetricAveragePooling(1,1,2)",
   {2,2,1,4,1}, {1,2,1,4,1}) add("nn.VolumetricReplicationPadding(1,1,1,0,0,1)", {2,2,1,1,3})
add("nn.LayerNormalization(5)", {1,5}, {6,5}) add("nn.Normalize(2)", {1,5},
   {4,1}) add("nn.SpatialConvolutionLocal(3,4,5,1,1,1)", {2,3,1,5}, {1,3,1,5})
add("nn.Max(2)", {1,5}, {4,1}) add("nn.Min(1)", {1,5}, {4,1}) add("nn.Sum(2)", {1,5}, {4,1,2}) add("nn.Cosine(5,3)",
   {1,5}) add("nn.Euclidean(5,3)", {1,5}) add("nn.WeightedEuclidean(5,3)", {1,5})
add("nn.SpatialContrastiveNormalization(1)", {1,5,5}) add("nn.SpatialDropout(0.4)", {2,3,1,4}, {1,3,4,1})
return cases
