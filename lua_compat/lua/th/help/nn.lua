-- What the prompt's ? says on the classes of nn: a sentence for each, and the arguments that cannot be
-- read from the code, optional ones in brackets.
return [[
Abs () The absolute value of each element.
AbsCriterion The mean absolute difference of input and target.
Add Adds a learnt bias, one for each input or one for all.
AddConstant Adds a fixed number.
BCECriterion Binary cross-entropy of probabilities and targets between 0 and 1.
BatchNormalization Brings each feature to mean 0 and variance 1 over the batch, then scales and shifts it.
Bilinear A bilinear form of two inputs, with learnt weights.
Bottle Folds several dimensions into one for a module that takes fewer.
CAdd (sizes) Adds a learnt tensor of any size that fits the input.
CAddTable Adds the tensors of a table.
CAddTensorTable Adds one tensor to each tensor of a table.
CDivTable Divides the first tensor of a table by the second.
CMaxTable The largest element at each place of a table's tensors.
CMinTable The smallest element at each place of a table's tensors.
CMul (sizes) Multiplies by a learnt tensor of any size that fits the input.
CMulTable Multiplies the tensors of a table.
CReLU The positive parts of the input and of its negative, one after the other.
CSubTable Subtracts the second tensor of a table from the first.
Clamp Brings each element between two bounds.
ClassNLLCriterion The negative log-likelihood of the target class, for an input of log-probabilities.
ClassSimplexCriterion The distance to the corner of a simplex that stands for the target class.
Collapse Folds the dimensions before the last few into one.
Concat Runs modules on one input and joins their outputs along a dimension.
ConcatTable Runs modules on one input and puts their outputs in a table.
Constant Always gives the same tensor, whatever the input.
Container () The class that all modules with modules in them inherit from.
Contiguous Copies the input where its elements do not follow one another in memory.
Convert Turns the input's layout or type into that of another one.
Copy Copies the input, into another type if one is given.
Cosine The cosine of the angle between the input and each of the learnt weight vectors.
CosineDistance () The cosine of the angle between the two tensors of a table.
CosineEmbeddingCriterion A loss on the cosine of two inputs: near 1 for target 1, below a margin for -1.
Criterion The class that all losses inherit from.
CriterionTable Lets a criterion take input and target from a table.
CrossEntropyCriterion LogSoftMax and ClassNLLCriterion in one.
Decorator The class of modules that pass everything on to one module in them.
DepthConcat Concat for outputs of different sizes: the smaller ones are padded with zeros.
DistKLDivCriterion The Kullback-Leibler divergence of log-probabilities from target probabilities.
DistanceRatioCriterion A loss on the ratio of the distances to a similar and to a dissimilar example.
DontCast Keeps the type of the module in it, and converts inputs and outputs.
DotProduct () The dot product of the two tensors of a table.
Dropout Sets elements to zero at random in training, and scales the others.
ELU ([alpha, inplace]) The exponential linear unit: x above zero, alpha * (exp(x) - 1) below.
Euclidean The distance of the input to each of the learnt centres.
Exp () The exponential function of each element.
FeatureLPPooling (width, [stride, power, batch_mode]) The p-norm of neighbouring features.
FlattenTable A table in tables as one table without any.
GPU Runs the module in it on one GPU, wherever its input lies.
GatedLinearUnit ([dimension]) One half of the input times the sigmoid of the other.
GradientReversal Passes the input on, and the gradient with the other sign.
HardShrink ([lambda]) Sets elements between -lambda and lambda to zero.
HardTanh ([minimum, maximum, inplace]) Brings each element between two bounds, -1 and 1 by default.
HingeEmbeddingCriterion ([margin]) A loss on distances: small for target 1, above a margin for -1.
Identity Passes its input on.
Index Picks places of a tensor along a dimension, by a tensor of places.
IndexLinear A linear layer for sparse inputs given as places and values.
JoinTable Joins the tensors of a table along a dimension.
Kmeans Clusters its input around learnt centres.
L1Cost The sum of the absolute values of the input.
L1HingeEmbeddingCriterion A hinge loss on the 1-norm distance of two inputs.
L1Penalty Passes its input on and adds a penalty on its absolute values to the gradient.
LayerNormalization Brings the features of each example to mean 0 and variance 1, then scales and shifts them.
LeakyReLU ([slope, inplace]) x above zero, a small multiple of x below.
Linear A fully connected layer: a matrix times the input, plus a bias.
LinearWeightNorm A linear layer whose weight vectors are kept as direction and length.
Log () The natural logarithm of each element.
LogSigmoid () The logarithm of the sigmoid of each element.
LogSoftMax The logarithm of the softmax over the features.
LookupTable A learnt vector for each whole number of the input.
MM The matrix product of the two tensors of a table.
MSECriterion The mean squared difference of input and target.
MV The product of the matrix and the vector of a table.
MapTable Runs one module on each element of a table, with shared weights.
MarginCriterion ([margin]) The hinge loss of scores for targets 1 and -1.
MarginRankingCriterion A loss that wants one of two scores above the other by a margin.
MaskedSelect Picks the elements where a mask is nonzero.
Max The largest elements along a dimension.
Maxout The largest of several linear layers' outputs.
Mean The mean along a dimension.
Min The smallest elements along a dimension.
MixtureTable Adds the outputs of several experts, weighted by a gate.
Module The class that all modules inherit from.
ModuleCriterion Runs modules on input and target before a criterion.
Mul Multiplies by one learnt number.
MulConstant Multiplies by a fixed number.
MultiCriterion A weighted sum of several criterions on the same input and target.
MultiLabelMarginCriterion () A hinge loss for examples of several classes.
MultiLabelSoftMarginCriterion ([weights]) Binary cross-entropy of scores, for examples of several classes.
MultiMarginCriterion ([p, weights, margin]) A hinge loss between the score of the target class and the others.
NaN Checks the module in it for NaN, and stops with an error where there is one.
Narrow A part of a tensor along a dimension.
NarrowTable A part of a table.
Normalize (p, [epsilon]) Brings each example to p-norm 1.
OneHot A one at the place of each whole number of the input, zeros elsewhere.
PReLU ([nOutputPlane]) x above zero, a learnt multiple of x below.
Padding Adds places of one value at the beginning or end of a dimension.
PairwiseDistance (p) The p-norm distance of the two tensors of a table.
Parallel Runs a module on each slice of a dimension and joins the outputs.
ParallelCriterion A weighted sum of criterions, one for each element of a table.
ParallelTable Runs a module on each element of a table.
PartialLinear A linear layer of which only some outputs are computed.
PixelShuffle (upscaleFactor) Turns groups of planes into larger images.
Power (exponent) Raises each element to a power.
PrintSize Prints the sizes of what passes through it.
Profile (module, [print_interval, name]) Times the module in it and prints the time.
RReLU A leaky ReLU whose slope below zero is drawn at random in training.
ReLU The positive part of each element.
ReLU6 ([inplace]) The positive part of each element, at most 6.
Replicate Repeats the input along a new dimension without copying.
Reshape (sizes, [batchMode]) The input in other sizes.
Select One slice along a dimension.
SelectTable One element of a table.
Sequential () Runs modules one after the other.
Sigmoid () 1 / (1 + exp(-x)) of each element.
SmoothL1Criterion Squared differences near zero, absolute ones beyond.
SoftMarginCriterion The logistic loss of scores for targets 1 and -1.
SoftMax Exponentials over their sum: positive numbers that add up to 1.
SoftMin The softmax of the negative input.
SoftPlus ([beta]) A smooth ReLU: log(1 + exp(beta * x)) / beta.
SoftShrink ([lambda]) Moves elements towards zero by lambda, and stops there.
SoftSign () x / (1 + |x|) of each element.
SparseLinear A linear layer for inputs given as pairs of place and value.
SpatialAdaptiveAveragePooling (outputWidth, outputHeight) Averages over windows that give an output of the size asked for.
SpatialAdaptiveMaxPooling (outputWidth, outputHeight) Maxima over windows that give an output of the size asked for.
SpatialAutoCropMSECriterion MSECriterion after cropping the larger image to the smaller one.
SpatialAveragePooling (kW, kH, [dW, dH, padW, padH]) Averages over windows of an image.
SpatialBatchNormalization BatchNormalization for images: over the batch and all pixels of a plane.
SpatialClassNLLCriterion ClassNLLCriterion at each pixel.
SpatialContrastiveNormalization Subtracts the local mean of an image and divides by its local deviation.
SpatialConvolution A convolution of images.
SpatialConvolutionLocal (nInputPlane, nOutputPlane, iW, iH, kW, kH, [dW, dH, padW, padH]) A convolution with weights of its own at each pixel.
SpatialConvolutionMM A convolution of images by a matrix product.
SpatialConvolutionMap A convolution with a table of which planes feed which.
SpatialCrossMapLRN (size, [alpha, beta, k]) Divides by the energy of neighbouring planes, as AlexNet did.
SpatialDepthWiseConvolution (nInputPlane, nOutputPlane, kW, kH, [dW, dH, padW, padH]) A convolution of each plane by itself.
SpatialDilatedConvolution (nInputPlane, nOutputPlane, kW, kH, [dW, dH, padW, padH, dilationW, dilationH]) A convolution whose kernel has gaps.
SpatialDilatedMaxPooling Max-pooling whose windows have gaps.
SpatialDivisiveNormalization Divides an image by its local deviation.
SpatialDropout Dropout of whole planes.
SpatialFractionalMaxPooling (kW, kH, outputWidth, outputHeight) Max-pooling over windows of random sizes, for outputs of any size.
SpatialFullConvolution (nInputPlane, nOutputPlane, kW, kH, [dW, dH, padW, padH, adjW, adjH]) A transposed convolution, which enlarges images.
SpatialFullConvolutionMap A transposed convolution with a table of which planes feed which.
SpatialLPPooling (nInputPlane, pnorm, kW, kH, [dW, dH]) The p-norm over windows of an image.
SpatialLogSoftMax LogSoftMax over the planes, at each pixel.
SpatialMaxPooling (kW, kH, [dW, dH, padW, padH]) Maxima over windows of an image.
SpatialMaxUnpooling Puts values back where a max-pooling took them from.
SpatialReflectionPadding (left, [right, top, bottom]) Pads an image with its mirror image.
SpatialReplicationPadding (left, [right, top, bottom]) Pads an image with its border pixels.
SpatialSoftMax SoftMax over the planes, at each pixel.
SpatialSubSampling (nInputPlane, kW, kH, [dW, dH]) Sums over windows, times a learnt weight for each plane, plus a bias.
SpatialSubtractiveNormalization Subtracts the local mean of an image.
SpatialUpSamplingBilinear (scale) Enlarges images by bilinear interpolation.
SpatialUpSamplingNearest (scale) Enlarges images by repeating pixels.
SpatialZeroPadding (left, [right, top, bottom]) Pads an image with zeros, or crops it.
SplitTable Cuts a tensor along a dimension into a table of slices.
Sqrt () The square root of each element.
Square () The square of each element.
Squeeze Leaves out dimensions of size 1.
StochasticGradient Trains a module on a dataset, one example at a time.
Sum The sum along a dimension.
Tanh () The hyperbolic tangent of each element.
TanhShrink () x - tanh(x) of each element.
TemporalConvolution (inputFrameSize, outputFrameSize, kW, [dW]) A convolution of sequences.
TemporalDynamicKMaxPooling The k largest elements of a sequence, in their order.
TemporalMaxPooling (kW, [dW]) Maxima over windows of a sequence.
TemporalRowConvolution (inputFrameSize, kW, [dW, featFirst]) A convolution of each feature of a sequence by itself.
TemporalSubSampling (inputFrameSize, kW, [dW]) Sums over windows of a sequence, times a learnt weight for each feature, plus a bias.
Threshold ([threshold, value, inplace]) Replaces elements that are not above a threshold.
Transpose ({dimension1, dimension2}, [more pairs]) Swaps pairs of dimensions.
Unsqueeze Adds a dimension of size 1.
UpSampling (scale, [mode]) Enlarges images or volumes, by repeating elements or by interpolation.
View (sizes) The input in other sizes, without copying.
VolumetricAveragePooling (kT, kW, kH, [dT, dW, dH, padT, padW, padH]) Averages over windows of a volume.
VolumetricBatchNormalization BatchNormalization for volumes.
VolumetricConvolution (nInputPlane, nOutputPlane, kT, kW, kH, [dT, dW, dH, padT, padW, padH]) A convolution of volumes.
VolumetricDilatedConvolution (nInputPlane, nOutputPlane, kT, kW, kH, [dT, dW, dH, padT, padW, padH, dilationT, dilationW, dilationH]) A convolution of volumes whose kernel has gaps.
VolumetricDilatedMaxPooling (kT, kW, kH, [dT, dW, dH, padT, padW, padH, dilationT, dilationW, dilationH]) Max-pooling of volumes whose windows have gaps.
VolumetricDropout Dropout of whole volumes.
VolumetricFractionalMaxPooling (kT, kW, kH, outputTime, outputWidth, outputHeight) Max-pooling of volumes over windows of random sizes.
VolumetricFullConvolution (nInputPlane, nOutputPlane, kT, kW, kH, [dT, dW, dH, padT, padW, padH, adjT, adjW, adjH]) A transposed convolution of volumes.
VolumetricMaxPooling Maxima over windows of a volume.
VolumetricMaxUnpooling Puts values back where a max-pooling of volumes took them from.
VolumetricReplicationPadding (left, [right, top, bottom, front, back]) Pads a volume with its border elements.
WeightNorm Keeps the weights of the module in it as directions and lengths.
WeightedEuclidean The distance to each learnt centre, with a learnt weight for each feature.
WeightedMSECriterion MSECriterion with a weight for each element.
WhiteNoise Adds normally distributed noise in training.
ZeroGrad Passes its input on, and a gradient of zeros back.
ZipTable Turns a table of tables on its side.
ZipTableOneToMany Pairs one tensor with each element of a table.
]]
