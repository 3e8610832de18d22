"""cunn, cudnn and ccn2: layers with the CPU in the GPU's place."""

import pytest

from lua_compat.runtime.state import Runtime
from tests.lua_compat.runtime.cuda.checks import close, printed


def test_cudnn_layers_with_arguments_that_nns_do_not_have(
    runtime: Runtime, capfd: pytest.CaptureFixture[str]
) -> None:
    """The steps of pooling are its windows, and sequences can be padded."""
    code = """
        local pooling = cudnn.SpatialAveragePooling(2, 3)
        print(pooling.dW, pooling.dH, nn.SpatialAveragePooling(2, 3).dW)
        local m = cudnn.TemporalConvolution(3, 4, 3, 1, 1):cuda()
        local plain = nn.TemporalConvolution(3, 4, 3):cuda()
        plain.weight:copy(m.weight) plain.bias:copy(m.bias)
        m:zeroGradParameters() plain:zeroGradParameters()
        local x = torch.CudaTensor(2, 5, 3):normal()
        local padded = torch.CudaTensor(2, 7, 3):zero()
        padded:narrow(2, 2, 5):copy(x)
        local y = m:forward(x)
        print((y - plain:forward(padded)):abs():max() < 1e-6)
        print((m:backward(x, y) - plain:backward(padded, y):narrow(2, 2, 5)):abs():max() < 1e-5)
        print((m.gradWeight - plain.gradWeight):abs():max() < 1e-4)
    """
    assert printed(runtime, capfd, code) == "2\t3\t1\ntrue\ntrue\ntrue\n"


def test_a_net_gives_on_cuda_what_it_gives_in_float(runtime: Runtime) -> None:
    runtime.run_string("""
        torch.manualSeed(1)
        net = nn.Sequential():add(nn.SpatialConvolution(3, 8, 3, 3, 1, 1, 1, 1)):add(nn.ReLU(true))
           :add(nn.SpatialMaxPooling(2, 2, 2, 2)):add(nn.SpatialBatchNormalization(8)):add(nn.View(8 * 4 * 4))
           :add(nn.Linear(128, 5)):add(nn.LogSoftMax())
        net:zeroGradParameters()
        host, device = net:clone():float(), net:clone():cuda()
        x = torch.randn(4, 3, 8, 8):float()
        y, target = device:forward(x:cuda()), torch.Tensor{1, 2, 3, 4}
        criterion = nn.ClassNLLCriterion():cuda()
        loss = criterion:forward(y, target:cuda())
        device:backward(x:cuda(), criterion:backward(y, target:cuda()))
        local host_criterion = nn.ClassNLLCriterion():float()
        assert(math.abs(loss - host_criterion:forward(host:forward(x), target:float())) < 1e-5)
        host:backward(x, host_criterion:backward(host.output, target:float()))
    """)
    for value in ("output", "gradInput"):
        close(runtime, f"return device.{value}, host.{value}")
    close(
        runtime,
        "local _, a = device:getParameters() local _, b = host:getParameters() return a:clone(), b:clone()",
    )


def test_cudnn_convert_there_and_back(runtime: Runtime, capfd: pytest.CaptureFixture[str]) -> None:
    code = """
        local net = nn.Sequential():add(nn.SpatialConvolution(3, 4, 3, 3)):add(nn.ReLU())
           :add(nn.SpatialMaxPooling(2, 2, 2, 2)):add(nn.SpatialConvolutionMM(4, 2, 2, 2)):add(nn.Dropout(0))
        net:cuda()
        local x = torch.randn(2, 3, 8, 8):cuda()
        local before = net:forward(x):clone()
        cudnn.convert(net, cudnn, function(module) return torch.type(module):find('Pooling') end)
        print(net)
        print((net:forward(x) - before):abs():max() < 1e-6)
        cudnn.convert(net, nn)
        print(torch.type(net:get(1)), torch.type(net:get(2)), (net:forward(x) - before):abs():max() < 1e-6)
    """
    assert printed(runtime, capfd, code).splitlines()[2:] == [
        "  (1): cudnn.SpatialConvolution(3 -> 4, 3x3)",
        "  (2): cudnn.ReLU",
        "  (3): nn.SpatialMaxPooling(2x2, 2,2)",
        "  (4): cudnn.SpatialConvolution(4 -> 2, 2x2)",
        "  (5): nn.Dropout(0.000000)",
        "}",
        "true",
        "nn.SpatialConvolution\tnn.ReLU\ttrue",
    ]


def test_groups_are_separate_convolutions(runtime: Runtime) -> None:
    runtime.run_string("""
        whole = cudnn.SpatialConvolution(4, 6, 3, 3, 2, 2, 1, 1, 2):cuda()
        x, parts = torch.randn(2, 4, 7, 7):cuda(), {}
        g = torch.randn(2, 6, 4, 4):cuda()
        for i = 1, 2 do
           local part = nn.SpatialConvolution(2, 3, 3, 3, 2, 2, 1, 1):cuda()
           part.weight:copy(whole.weight:narrow(1, 3 * i - 2, 3))
           part.bias:copy(whole.bias:narrow(1, 3 * i - 2, 3))
           part:zeroGradParameters()
           part:forward(x:narrow(2, 2 * i - 1, 2))
           part:backward(x:narrow(2, 2 * i - 1, 2), g:narrow(2, 3 * i - 2, 3))
           parts[i] = part
        end
        whole:zeroGradParameters()
        whole:forward(x)
        whole:backward(x, g)
    """)
    for field, dimension in (("output", 2), ("gradInput", 2), ("gradWeight", 1), ("gradBias", 1)):
        close(runtime, f"return whole.{field}, torch.cat(parts[1].{field}, parts[2].{field}, {dimension})")


def test_ccn2_has_the_batch_last(runtime: Runtime) -> None:
    runtime.run_string("""
        m = ccn2.SpatialConvolution(3, 16, 3, 2, 1):cuda()
        n = nn.SpatialConvolution(3, 16, 3, 3, 2, 2, 1, 1):cuda()
        n.weight:copy(m.weight:t()) n.bias:copy(m.bias)
        x, g = torch.randn(3, 7, 7, 32):cuda(), torch.randn(16, 4, 4, 32):cuda()
        for _, module in ipairs{m, n} do module:zeroGradParameters() end
        m:forward(x) m:backward(x, g)
        local images = x:permute(4, 1, 2, 3):contiguous()
        n:forward(images) n:backward(images, g:permute(4, 1, 2, 3):contiguous())
        p = ccn2.SpatialMaxPooling(3, 2):cuda() p:forward(x)
    """)
    close(runtime, "return m.output, n.output:permute(2, 3, 4, 1)")
    close(runtime, "return m.gradInput, n.gradInput:permute(2, 3, 4, 1)")
    close(runtime, "return m.gradWeight, n.gradWeight:view(16, 27):t()")
    close(
        runtime,
        "return p.output, nn.SpatialMaxPooling(3, 3, 2, 2):cuda():ceil()"
        ":forward(x:permute(4, 1, 2, 3):contiguous()):permute(2, 3, 4, 1)",
    )


def test_data_parallel_table_on_two_devices_that_are_one(runtime: Runtime) -> None:
    """Both parts of the batch, gathered: what the module gives alone."""
    runtime.run_string("""
        local inner = nn.Sequential():add(nn.Linear(3, 4)):add(nn.Tanh()):cuda()
        alone = inner:clone()
        parallel = nn.DataParallelTable(1):add(inner, {1, 1})
        x, g = torch.randn(5, 3):cuda(), torch.randn(5, 4):cuda()
        for _, module in ipairs{alone, parallel} do
           for _ = 1, 2 do
              module:zeroGradParameters()
              module:forward(x)
              module:backward(x, g)
              module:updateParameters(0.1)
           end
           module:zeroGradParameters()
           module:forward(x)
           module:backward(x, g)
        end
    """)
    for field in ("output", "gradInput"):
        close(runtime, f"return parallel.{field}, alone.{field}")
    close(
        runtime,
        "local _, a = parallel:parameters() local _, b = alone:parameters() return a[1], b[1]",
    )


def test_layers_without_a_half_kernel_compute_in_float(
    runtime: Runtime, capfd: pytest.CaptureFixture[str]
) -> None:
    """PyTorch has no such kernels on a CPU; the results lie in halves, rounded once."""
    code = """
        local function both(make, size, target)
           torch.manualSeed(1)
           local x = torch.CudaTensor(unpack(size)):normal():cudaHalf()
           local results = {}
           for i, type in ipairs{ 'torch.CudaHalfTensor', 'torch.CudaTensor' } do
              local module, input = make():type(type), x:type(type)
              local output = module:forward(input, target)
              results[i] = { output, module:backward(input, target or output) }
           end
           local half, full = unpack(results)
           print(torch.type(half[2]), (half[2]:cuda() - full[2]):abs():max() < 2e-3)
        end
        both(function() return nn.VolumetricAveragePooling(2, 2, 2) end, { 2, 3, 4, 4, 4 })
        both(nn.MultiMarginCriterion, { 3, 4 }, torch.CudaTensor{ 1, 2, 4 })
        both(nn.MultiLabelMarginCriterion, { 4 }, torch.CudaTensor{ 1, 2, 0, 0 })
    """
    assert printed(runtime, capfd, code) == "torch.CudaHalfTensor\ttrue\n" * 3


def test_cudnn_s_softmaxes_and_means_are_not_nns(runtime: Runtime) -> None:
    """The softmax of a sample is over its elements, a volume's over its planes; means count the padding."""
    runtime.run_string("""
        local x = torch.randn(2, 3, 4, 5):cuda()
        local function check(layer, input, expected, seen)
           local y = layer:cuda():forward(input)
           local g = y.new(y:size()):normal()
           assert(y:isSameSizeAs(input) and (y - expected:forward(seen):viewAs(y)):abs():max() < 1e-6)
           local gradient = expected:backward(seen, g:viewAs(expected.output)):viewAs(input)
           assert((layer:backward(input, g) - gradient):abs():max() < 1e-6)
        end
        for _, name in ipairs{ 'SoftMax', 'LogSoftMax' } do
           local rows = nn[name]():cuda()
           check(cudnn[name](), x, rows, x:view(2, -1))
           check(cudnn[name](), x[1], rows, x[1]:view(-1))
           check(cudnn[name](), x[1][1], rows, x[1][1])
           local volume = cudnn['Volumetric' .. name]()
           check(volume, x, nn['Spatial' .. name]():cuda(), x:view(2, 12, 5)) -- of 2 planes
        end
        local mean = nn.SpatialAveragePooling(2, 2, 2, 2, 1, 1):setCountExcludePad()
        local converted = cudnn.convert(mean, cudnn):cuda()
        local counted = nn.SpatialAveragePooling(2, 2, 2, 2, 1, 1):cuda()
        assert((converted:forward(x) - counted:forward(x)):abs():max() < 1e-6)
        local back = cudnn.convert(converted, nn)
        assert(back.divide and not back.count_include_pad)
    """)


def test_cudnn_s_functions_give_what_its_layers_give(runtime: Runtime) -> None:
    runtime.run_string("""
        local f, handle = cudnn.functional, cudnn.getHandle()
        local function near(a, b) assert((a - b):abs():max() < 1e-5) end
        local layer = cudnn.SpatialConvolution(3, 4, 3, 2, 2, 1, 1, 0):cuda()
        local x = torch.CudaTensor(2, 3, 6, 7):normal()
        layer:zeroGradParameters()
        local y = layer:forward(x):clone()
        local g = y:clone():normal()
        local dx = layer:backward(x, g):clone()
        local sides = { layer.dH, layer.dW, layer.padH, layer.padW }
        local out = y:clone():zero()
        f.Convolution2D_updateOutput(handle, x, layer.weight, out, unpack(sides))
        f.bias2D_updateOutput(handle, layer.bias, out)
        near(out, y)
        local back = x:clone():normal()
        f.Convolution2D_updateGradInput(handle, x, layer.weight, y, g, back, unpack(sides))
        near(back, dx)
        local w, b = layer.gradWeight:clone():fill(1), layer.gradBias:clone():fill(1)
        sides[5], sides[6] = 2, 0.5
        f.Convolution2D_accGradParameters(handle, x, w, g, unpack(sides))
        f.bias2D_accGradParameters(handle, g, b, 2, 0.5)
        near(w, layer.gradWeight * 2 + 0.5)
        near(b, layer.gradBias * 2 + 0.5)
        assert(not pcall(f.Convolution2D_updateOutput, handle, x, layer.weight, x:clone(), unpack(sides)))
        for name, kind in pairs{ MaxPooling2D = 'Max', AveragePooling2D = 'Average' } do
           local pool = cudnn['Spatial' .. kind .. 'Pooling'](3, 2, 2, 1, 1, 1):cuda()
           local y = pool:forward(x):clone()
           local g = y:clone():normal()
           local out, back = y:clone():zero(), x:clone():zero()
           f[name .. '_updateOutput'](handle, x, out, 2, 3, 1, 2, 1, 1)
           f[name .. '_updateGradInput'](handle, x, out, g, back, 2, 3, 1, 2, 1, 1)
           near(out, y) near(back, pool:backward(x, g))
        end
        for _, name in ipairs{ 'ReLU', 'Tanh', 'Sigmoid', 'SoftMax', 'LogSoftMax' } do
           local layer = cudnn[name]():cuda()
           local y = layer:forward(x):clone()
           local g, out, back = y:clone():normal(), torch.CudaTensor(), torch.CudaTensor()
           f[name .. '_updateOutput'](handle, x, out)
           f[name .. '_updateGradInput'](handle, x, out, g, back)
           near(out, y) near(back, layer:backward(x, g))
        end
    """)


def test_layers_of_other_packages_run_on_their_tensors_device(runtime: Runtime) -> None:
    runtime.run_string("""
        require 'inn' require 'stn'
        torch.manualSeed(1)
        local images = torch.rand(2, 3, 8, 8)
        local function both(layer, input)
           local results = {}
           for i, kind in ipairs{ 'torch.DoubleTensor', 'torch.CudaTensor' } do
              torch.manualSeed(2)
              local x = nn.utils.recursiveType(input, kind)
              local made = layer():type(kind)
              local output = made:forward(x)
              local gradients = made:backward(x, output)
              gradients = torch.type(gradients) == 'table' and gradients[1] or gradients
              results[i] = torch.cat(output:double():view(-1), gradients:double():view(-1), 1)
           end
           assert((results[1] - results[2]):abs():max() < 1e-5)
        end
        local regions = torch.Tensor{ { 1, 1, 1, 4, 4 }, { 2, 2, 3, 8, 7 } }
        both(function() return inn.ROIPooling(3, 2) end, { images, regions })
        both(function() return inn.SpatialStochasticPooling(2, 2, 2, 2) end, images)
        both(function() return inn.SpatialSameResponseNormalization(3, 2, 0.5) end, images)
        both(function() return nn.BilinearSamplerBHWD() end,
           { images:transpose(2, 4):contiguous(), torch.rand(2, 4, 4, 2):mul(2):add(-1) })
    """)


def test_cudnns_batch_normalization_is_not_nns(runtime: Runtime, capfd: pytest.CaptureFixture[str]) -> None:
    code = """
        local m = cudnn.SpatialBatchNormalization(2):cuda()
        m.weight:fill(1)
        local x = torch.CudaTensor(1, 2, 3, 3):copy(torch.range(1, 18))
        -- a batch of one has statistics of its own
        print(math.abs(m:forward(x)[1][1]:mean()) < 1e-6, m.running_mean[1])
        -- nn gives the same of that image twice
        local plain = nn.SpatialBatchNormalization(2):cuda()
        plain.weight:fill(1)
        local g = torch.CudaTensor(1, 2, 3, 3):normal()
        m:zeroGradParameters() plain:zeroGradParameters()
        plain:forward(torch.cat(x, x, 1))
        local gradient = plain:backward(torch.cat(x, x, 1), torch.cat(g, g, 1))
        print((m:backward(x, g)[1] - gradient[1]):abs():max() < 1e-6)
        print((m.gradWeight * 2 - plain.gradWeight):abs():max() < 1e-4)
        print(torch.isTypeOf(m, 'cudnn.BatchNormalization'), torch.isTypeOf(m, 'nn.BatchNormalization'))
        print((pcall(cudnn.SpatialBatchNormalization, 2, 1e-3, 0.1, false)))
        m:evaluate()
        m:forward(x)
        print((pcall(m.backward, m, x, x)), (pcall(m.forward, m, x[1])))
    """
    assert printed(runtime, capfd, code) == ("true\t0.5\ntrue\ntrue\ntrue\tfalse\nfalse\nfalse\tfalse\n")
