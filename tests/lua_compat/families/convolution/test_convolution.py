"""Convolutions: LuaJIT's results are PyTorch's."""

from pathlib import Path

from tests.helpers.commands import run_lua
from tests.lua_compat.families.two_ways import made_for

test_both_ways_agree, test_both_ways_agree_on_much_more = made_for(__file__)


def test_sizes_in_fields_must_be_those_of_the_weight(tmp_path: Path) -> None:
    run_lua(
        tmp_path,
        """
        require 'nn'
        -- backward: whether THNN's gradients take the fields, too
        local function check(module, x, names, backward)
           local y = module:forward(x):clone()
           for name in names:gmatch('%S+') do
              local right = module[name]
              for _, wrong in ipairs{ right + 1, right - 1, tostring(right), {}, 0 / 0 } do
                 module[name] = wrong
                 assert(not pcall(module.forward, module, x), torch.type(module) .. name)
                 for _, method in ipairs{ 'updateGradInput', 'accGradParameters' } do
                    local ok = pcall(module[method], module, x, y)
                    assert(ok == (backward == false), torch.type(module) .. name)
                 end
              end
              module[name] = right
           end
           module:backward(x, y)
        end
        check(nn.SpatialDilatedConvolution(3, 4, 3, 2, 1, 1, 2, 2, 2, 2), torch.rand(3, 9, 9), 'kW kH')
        check(nn.SpatialFullConvolution(3, 4, 3, 2, 2, 2), torch.rand(3, 5, 5), 'kW kH')
        check(nn.SpatialConvolutionLocal(3, 4, 7, 6, 3, 2), torch.rand(3, 6, 7),
           'kW kH oW oH nInputPlane nOutputPlane')
        check(nn.VolumetricConvolution(2, 3, 2, 3, 1), torch.rand(2, 4, 6, 6), 'kT kW kH')
        check(nn.VolumetricDilatedConvolution(2, 3, 2, 3, 1), torch.rand(2, 4, 6, 6), 'kT kW kH')
        check(nn.TemporalConvolution(4, 3, 2), torch.rand(6, 4), 'inputFrameSize outputFrameSize', false)
        check(nn.TemporalSubSampling(4, 2), torch.rand(6, 4), 'inputFrameSize', false)
        check(nn.TemporalRowConvolution(4, 2), torch.rand(6, 4), 'kW')
        local full, x = nn.VolumetricFullConvolution(2, 3, 2, 3, 1), torch.rand(2, 4, 6, 6)
        local y = full:forward(x):clone()
        full.kT, full.kW = 7, {} -- only the weight's sizes count
        assert(full:forward(x):equal(y))
        """,
    )


def test_the_weight_of_a_local_convolution_may_have_other_sizes(tmp_path: Path) -> None:
    run_lua(
        tmp_path,
        """
        require 'nn'
        torch.manualSeed(1)
        for _, n in ipairs{ 7, 64 } do -- few multiplications, which LuaJIT computes, and many
            local module, x = nn.SpatialConvolutionLocal(2, 3, n, n, 2, 3), torch.randn(2, n, n)
            module:zeroGradParameters()
            local wanted = module:forward(x):clone()
            local gradient = module:backward(x, wanted):clone()
            local of_weight = module.gradWeight:clone()
            module.weight = module.weight:view(-1, 3, 12)
            assert(module:forward(x):equal(wanted))
            module:zeroGradParameters()
            assert(module:backward(x, wanted):equal(gradient))
            assert(module.gradWeight:equal(of_weight))
        end
        """,
    )
