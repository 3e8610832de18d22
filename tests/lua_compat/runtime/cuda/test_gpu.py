"""cutorch, cunn and cudnn on a real GPU."""

import tempfile
from pathlib import Path

import pytest
import torch

from tests.helpers.commands import run_th


def test_the_gpu_s_convolutions_agree_with_the_cpu_s() -> None:
    """The convolutions for a GPU run anywhere: here they are compared with im2col."""
    from convnet_benchmarks.nets.engine.shapes import ConvolutionShape
    from lua_compat.kernels.nn.convolution import im2col, operators
    from lua_compat.kernels.workspace import Workspace

    shape = ConvolutionShape(2, 3, 4, (9, 8), (3, 2), (2, 1), (1, 0), torch.float64)
    x, weight, bias = torch.randn(2, 3, 9, 8).double(), torch.randn(4, 18).double(), torch.randn(4).double()
    batch, height, width, planes = shape.output_shape
    grad_out, workspace = torch.randn(batch, planes, height, width).double(), Workspace()
    outs = [torch.empty_like(grad_out) for _ in range(2)]
    operators.forward(shape, x, weight, bias, outs[0])
    im2col.forward(workspace, shape, x, weight, bias, outs[1])
    grads = [torch.empty_like(x) for _ in range(2)]
    operators.input_gradient(shape, x, grad_out, weight, grads[0])
    im2col.input_gradient(workspace, shape, grad_out, weight, grads[1])
    sums = [torch.ones_like(weight) for _ in range(2)]
    operators.weight_gradient(shape, x, grad_out, sums[0])
    im2col.weight_gradient(workspace, shape, x, grad_out, sums[1])
    for ours, theirs in (outs, grads, sums):
        torch.testing.assert_close(ours, theirs)


@pytest.mark.gpu
def test_on_a_gpu_the_recurrent_layers_give_what_the_cpu_gives() -> None:
    code = """
        require 'cunn' require 'cudnn'
        for _, name in ipairs{'LSTM', 'GRU', 'RNNTanh', 'BLSTM'} do
           local m, x = cudnn[name](3, 4, 2), torch.randn(5, 2, 3):cuda()
           m:zeroGradParameters()
           m:backward(x, m:forward(x))
           torch.save(arg[1] .. name, { m.weight:float(), x:float(), m.output:float(), m.gradWeight:float() })
        end
    """
    check = """
        require 'cunn' require 'cudnn'
        for _, name in ipairs{'LSTM', 'GRU', 'RNNTanh', 'BLSTM'} do
           local m, all = cudnn[name](3, 4, 2), torch.load(arg[1] .. name)
           m.weight:copy(all[1])
           m:zeroGradParameters()
           m:backward(all[2]:cuda(), m:forward(all[2]:cuda()))
           assert((m.output:float() - all[3]):abs():max() < 1e-5)
           assert((m.gradWeight:float() - all[4]):abs():max() < 1e-4)
        end
    """
    with tempfile.TemporaryDirectory() as folder:
        scripts = [Path(folder, name) for name in ("write.lua", "check.lua")]
        for path, text in zip(scripts, (code, check), strict=True):
            path.write_text(text, encoding="utf-8")
        for words in ([str(scripts[0]), folder + "/"], ["--cpu-as-cuda", str(scripts[1]), folder + "/"]):
            result = run_th(*words)
            assert result.returncode == 0, result.stderr


@pytest.mark.gpu
def test_on_a_gpu_tensors_are_there() -> None:
    code = """
        require 'cunn' require 'cudnn'
        local t = torch.randn(4, 3, 16, 16):cuda()
        t[1][1][1][1] = 5
        assert(t[1][1][1][1] == 5 and t:getDevice() == 1 and t:float():sum() - t:sum() < 1e-3)
        local net = nn.Sequential():add(cudnn.SpatialConvolution(3, 8, 3, 3)):add(cudnn.ReLU(true)):cuda()
        net:forward(t) net:backward(t, net.output)
        cutorch.synchronize()
        print(net.output:type())
    """
    result = run_th("-e", code)
    assert (result.returncode, result.stdout) == (0, "torch.CudaTensor\n"), result.stderr
