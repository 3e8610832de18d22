-- Declarations of the classes in nn/criterions/init.lua; nn/declarations.lua explains the format.
return {
   kernels = {
      elementwise_loss = 'tt function:text sizeAverage:flag',
      elementwise_loss_gradient = 'ott function:text sizeAverage:flag',
      loss = 'ttt function:text sizeAverage:flag ... number:number',
      loss_gradient = 'ottt function:text sizeAverage:flag ... number:number',
   },
   ClassNLLCriterion = {
      help = 'The negative log-likelihood of the target class, for an input of log-probabilities.',
      arguments = 'weights:tensor? sizeAverage:flag=true ignoreIndex:index=-100',
      takes = 'sizeAverage ignoreIndex',
      kernels = { class_nll = 'tttt takes', class_nll_gradient = 'otttt takes' },
      thnn = {
         updateOutput = 'input target output sizeAverage weights total_weight_tensor ignoreIndex',
         updateGradInput = 'input target gradInput sizeAverage weights total_weight_tensor ignoreIndex',
      },
      torch_nn = 'NLLLoss',
   },
   CrossEntropyCriterion = {
      help = 'LogSoftMax and ClassNLLCriterion in one.',
      arguments = 'weights:tensor? sizeAverage:flag=true',
      torch_nn = 'CrossEntropyLoss',
   },
   DistKLDivCriterion = {
      help = 'The Kullback-Leibler divergence of log-probabilities from target probabilities.',
      fields = 'sizeAverage:flag=true',
      takes = 'sizeAverage',
      thnn = {
         updateOutput = 'input target output sizeAverage',
         updateGradInput = 'input target gradInput sizeAverage',
      },
      torch_nn = 'KLDivLoss',
   },
   MSECriterion = {
      help = 'The mean squared difference of input and target.',
      arguments = 'sizeAverage:flag=true',
      takes = 'sizeAverage',
      thnn = {
         updateOutput = 'input target output sizeAverage',
         updateGradInput = 'input target gradInput sizeAverage',
      },
      torch_nn = 'MSELoss',
   },
   AbsCriterion = {
      help = 'The mean absolute difference of input and target.',
      arguments = 'sizeAverage:flag=true',
      takes = 'sizeAverage',
      thnn = {
         updateOutput = 'input target output sizeAverage',
         updateGradInput = 'input target gradInput sizeAverage',
      },
      torch_nn = 'L1Loss',
   },
   SmoothL1Criterion = {
      help = 'Squared differences near zero, absolute ones beyond.',
      arguments = 'sizeAverage:flag=true',
      takes = 'sizeAverage',
      thnn = {
         updateOutput = 'input target output sizeAverage',
         updateGradInput = 'input target gradInput sizeAverage',
      },
      torch_nn = 'SmoothL1Loss',
   },
   SoftMarginCriterion = {
      help = 'The logistic loss of scores for targets 1 and -1.',
      fields = 'sizeAverage:flag=true',
      takes = 'sizeAverage',
      thnn = {
         updateOutput = 'input target output sizeAverage',
         updateGradInput = 'input target gradInput sizeAverage',
      },
      torch_nn = 'SoftMarginLoss',
   },
   BCECriterion = {
      help = 'Binary cross-entropy of probabilities and targets between 0 and 1.',
      arguments = 'weights:tensor? sizeAverage:flag=true',
      takes = 'sizeAverage',
      kernels = { binary_cross_entropy = 'ttt takes', binary_cross_entropy_gradient = 'ottt takes' },
      thnn = {
         updateOutput = 'input target output sizeAverage weights',
         updateGradInput = 'input target gradInput sizeAverage weights',
      },
      torch_nn = 'BCELoss',
   },
   MarginCriterion = {
      help = 'The hinge loss of scores for targets 1 and -1.',
      arguments = 'margin:number=1',
      fields = 'sizeAverage:flag=true',
      absent = 'sizeAverage=true',
      takes = 'sizeAverage ... margin',
      thnn = {
         updateOutput = 'input target output sizeAverage margin',
         updateGradInput = 'input target gradInput sizeAverage margin',
      },
   },
   HingeEmbeddingCriterion = {
      help = 'A loss on distances: small for target 1, above a margin for -1.',
      arguments = 'margin:scalar=1',
      fields = 'sizeAverage:exact=true',
      absent = 'sizeAverage=true',
      takes = 'sizeAverage ... margin',
      torch_nn = 'HingeEmbeddingLoss',
   },
   MultiMarginCriterion = {
      help = 'A hinge loss between the score of the target class and the others.',
      arguments = 'p:number=1 weights:tensor? margin:number=1',
      fields = 'sizeAverage:flag=true',
      absent = 'sizeAverage=true',
      takes = 'sizeAverage ... p margin',
      thnn = {
         updateOutput = 'input target output sizeAverage p weights margin',
         updateGradInput = 'input target gradInput sizeAverage p weights margin',
      },
      torch_nn = 'MultiMarginLoss',
   },
   MultiLabelMarginCriterion = {
      help = 'A hinge loss for examples of several classes.',
      fields = 'sizeAverage:flag=true isTarget:Tensor',
      absent = 'sizeAverage=true',
      takes = 'sizeAverage',
      thnn = {
         updateOutput = 'input target output isTarget sizeAverage',
         updateGradInput = 'input target gradInput isTarget sizeAverage',
      },
      torch_nn = 'MultiLabelMarginLoss',
   },
   MultiLabelSoftMarginCriterion = {
      help = 'Binary cross-entropy of scores, for examples of several classes.',
      arguments = 'weights:tensor? sizeAverage:truth=true',
      takes = 'sizeAverage',
      torch_nn = 'MultiLabelSoftMarginLoss',
   },
   L1Cost = {
      help = 'The sum of the absolute values of the input.',
      base = 'Criterion',
      thnn = {
         updateOutput = 'input output',
         updateGradInput = 'input _ gradInput',
      },
   },
   SpatialClassNLLCriterion = {
      help = 'ClassNLLCriterion at each pixel.',
      arguments = 'weights:tensor? sizeAverage:flag=true',
      thnn = {
         updateOutput = 'input target output sizeAverage weights total_weight_tensor',
         updateGradInput = 'input target gradInput sizeAverage weights total_weight_tensor',
      },
      torch_nn = 'NLLLoss',
   },
   WeightedMSECriterion = {
      help = 'MSECriterion with a weight for each element.',
      base = 'MSECriterion',
      arguments = 'weight:tensor',
      fields = 'sizeAverage:flag=true',
   },
   SpatialAutoCropMSECriterion = {
      help = 'MSECriterion after cropping the larger image to the smaller one.',
      base = 'MSECriterion',
   },
   ClassSimplexCriterion = {
      help = 'The distance to the corner of a simplex that stands for the target class.',
      base = 'MSECriterion',
      arguments = 'nClasses:whole',
      fields = 'sizeAverage:flag=true',
   },
   MarginRankingCriterion = {
      help = 'A loss that wants one of two scores above the other by a margin.',
      arguments = 'margin:number=1',
      fields = 'sizeAverage:flag=true',
      torch_nn = 'MarginRankingLoss',
   },
   L1HingeEmbeddingCriterion = {
      help = 'A hinge loss on the 1-norm distance of two inputs.',
      arguments = 'margin:number=1',
   },
   CosineEmbeddingCriterion = {
      help = 'A loss on the cosine of two inputs: near 1 for target 1, below a margin for -1.',
      arguments = 'margin:scalar=0',
      fields = 'sizeAverage:truth=true',
      takes = 'margin sizeAverage',
      kernels = { cosine_embedding = 'ttt takes', cosine_embedding_gradients = 'oottt takes' },
      torch_nn = 'CosineEmbeddingLoss',
   },
   DistanceRatioCriterion = {
      help = 'A loss on the ratio of the distances to a similar and to a dissimilar example.',
      arguments = 'sizeAverage:flag=true',
   },
   MultiCriterion = {
      help = 'A weighted sum of several criterions on the same input and target.',
   },
   ParallelCriterion = {
      help = 'A weighted sum of criterions, one for each element of a table.',
      arguments = 'repeatTarget:flag?',
   },
   ModuleCriterion = {
      help = 'Runs modules on input and target before a criterion.',
      arguments = 'criterion:module inputModule:module? targetModule:module? castTarget:flag=true',
   },
}
