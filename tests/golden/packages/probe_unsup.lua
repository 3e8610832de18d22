-- What unsup computes: a line for each result, of tensors their sizes and two sums. Signs of eigenvectors are LAPACK's,
-- so sums of what depends on them are of absolute values.
require 'unsup'
torch.manualSeed(7)
nn.hessian.enable()

local function text(value)
   if not torch.isTensor(value) then return type(value) == 'number' and ('%.9g'):format(value) or tostring(value) end
   return ('%s %.9g %.9g'):format(table.concat(value:size():totable(), 'x'), value:sum(), value:norm())
end
local function line(label, ...)
   local texts = { label }
   for i = 1, select('#', ...) do texts[#texts + 1] = text((select(i, ...))) end
   print(table.concat(texts, ' '))
end

local x = torch.randn(60, 6)
local values, vectors = unsup.pcacov(x)
line('pcacov', values, torch.abs(vectors))
values, vectors = unsup.pca(x)
line('pca', values, torch.abs(vectors))
line('kmeans', unsup.kmeans(x, 4, 5, 13))
line('kmeans of images', unsup.kmeans(torch.randn(40, 2, 3), 3, 4, nil, function(i, centroids, counts)
   line('callback', i, centroids, counts)
   return i == 2
end))

for _, kind in ipairs{ 'zca', 'pca' } do
   for _, data in ipairs{ x, torch.randn(50, 2, 3) } do
      local white, means, P, invP = unsup[kind .. '_whiten'](data)
      line(kind, torch.abs(white), means, torch.abs(P), torch.abs(invP))
      line('coloured', (unsup[kind .. '_colour'](white, means, P, invP)))
      local layer = unsup[kind .. '_layer'](data)
      line('layer', torch.abs(layer:forward(data)))
      line('inverse', unsup['inv_' .. kind .. '_layer'](data, means, P, invP):forward(layer:forward(data)))
   end
end
line('epsilon', torch.abs((unsup.zca_whiten(x, nil, nil, nil, 0.1))))

local fista = unsup.LinearFistaL1(6, 10, 0.1, { maxiter = 30 })
for i = 1, 3 do
   local cost, history = fista:updateOutput(x[i])
   line('LinearFistaL1', cost, #history, fista.code, fista.params.L)
   fista:zeroGradParameters()
   fista:accGradParameters(x[i])
   fista:updateParameters(0.01)
   fista:normalize()
   line('dictionary', fista.D.weight, fista.D.bias)
end

-- Samples of rows, which are their own targets
local function of(rows)
   return setmetatable({}, { __index = function(_, i)
      local row = rows[(i - 1) % rows:size(1) + 1]
      return { row, row }
   end })
end
local function train(label, module, data, params)
   module:initDiagHessianParameters()
   local trainer = unsup.UnsupTrainer(module, of(data))
   function trainer.hookSample(_, age, _, result) line('sample', age, result[1]) end
   trainer:train(params)
   line(label, trainer.parameters[1], module.decoder.code)
end
local images = torch.randn(20, 1, 8, 8)
for _, encoder in ipairs{ 'linear', 'tanh', 'tanh_shrink' } do
   train('LinearPSD', unsup.LinearPSD(6, 10, 0.2, 1, { encoderType = encoder }), x,
      { eta = 0.01, maxiter = 6, statinterval = 3, etadecay = 0.1 })
   train('ConvPSD', unsup.ConvPSD(nn.tables.full(1, 4), 3, 3, 8, 8, 0.3, 1, { encoderType = encoder, maxiter = 15 }),
      images, { eta = 0.002, maxiter = 4, statinterval = 2, hessian = true, hessiansamples = 5, maxhessian = 100 })
end

local function encoder() return nn.Sequential():add(nn.Linear(6, 4)):add(nn.Tanh()):add(nn.Diag(4)) end
for _, module in ipairs{
   unsup.AutoEncoder(encoder(), nn.Linear(4, 6), 0.7),
   unsup.AutoEncoder(encoder(), nn.Linear(4, 6), 0.7, nil, 0.2, nn.L1Cost()),
   unsup.SparseAutoEncoder(encoder(), nn.Linear(4, 6), 0.7, 0.2),
} do
   module:reset()
   module:initDiagHessianParameters()
   module.normalized = true
   local parameters, gradients, diagonal = module:getParameters()
   for i = 1, 2 do
      line(torch.typename(module), module:updateOutput(x[i], x[i]))
      module:zeroGradParameters()
      line('gradInput', module:updateGradInput(x[i], x[i]))
      module:accGradParameters(x[i], x[i])
      diagonal:zero()
      line('diagHessianInput', module:updateDiagHessianInput(x[i], x[i]))
      module:accDiagHessianParameters(x[i], x[i])
      line('gradients', gradients, diagonal)
      module:updateParameters{ 0.1, 0.05 }
      line(pcall(module.normalize, module) and 'normalized' or 'not normalized', parameters)
   end
end

local gains, planes = nn.Diag(3), torch.randn(3, 4, 2)
gains.weight:copy(torch.randn(3))
gains.gradWeight:zero()
line('Diag', gains:forward(planes), gains:updateGradInput(planes, planes))
gains:accGradParameters(planes, planes, 0.5)
line('gradWeight', gains.gradWeight)
line('Diag of a vector', gains:forward(torch.randn(3)))
