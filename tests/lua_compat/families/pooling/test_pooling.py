"""Pooling: LuaJIT's results are PyTorch's."""

import pytest

from lua_compat.runtime.state import Runtime
from tests.lua_compat.families.two_ways import made_for

test_both_ways_agree, test_both_ways_agree_on_much_more = made_for(__file__)


@pytest.mark.parametrize("way", ["any", "pytorch"])
def test_a_window_without_a_maximum_has_torch7_s_place_and_no_gradient(way: str) -> None:
    """Torch7 splits place -1 by the width of the window; it adds the gradient to whatever lies before."""
    Runtime(notes=False, way=way).run_string(
        """
        require 'nn'
        for _, T in ipairs{ 'torch.FloatTensor', 'torch.DoubleTensor' } do
           local x = torch.range(1, 24):view(1, 4, 6):type(T)
           x:narrow(2, 1, 2):narrow(3, 1, 3):fill(-1 / 0)
           local function places(columns)
              local module = nn.SpatialAdaptiveMaxPooling(columns, 2):type(T)
              local y = module:forward(x)
              local gradient = module:updateGradInput(x, torch.ones(y:size()):type(T))
              assert(gradient:sum() == y:nElement() - columns / 2)
              return module.indices:clone():view(2, -1)
           end
           assert(places(2):equal(torch.LongTensor{ { 1, 2, 2, 2 }, { 0, 3, 3, 3 } }))
           local single = places(6):narrow(2, 1, 6)
           assert(single:equal(torch.LongTensor{ { 0, 0, 0, 2, 2, 2 }, { 1, 1, 1, 1, 1, 1 } }))
        end
        """
    )


@pytest.mark.parametrize("way", ["any", "pytorch"])
def test_gradients_of_volumes_have_a_last_window_that_begins_outside(way: str) -> None:
    """In ceil mode and without padding Torch7 has such a window; it has no maximum."""
    code = """
        require 'nn'
        local images = torch.range(1, 16):view(1, 4, 4)
        local of_images = nn.SpatialMaxPooling(1, 1, 2, 2):ceil()
        local of_volumes = nn.VolumetricMaxPooling(1, 1, 1, 1, 2, 2):ceil()
        local dilated = nn.VolumetricDilatedMaxPooling(1, 1, 1, 1, 2, 2, 0, 0, 0, 1, 2, 2):ceil()
        local maxima = of_images:forward(images)
        local gradient = of_images:backward(images, maxima:clone():fill(1))
        assert(maxima:size(2) == 3 and gradient:sum() == 4)
        for _, net in ipairs{ of_volumes, dilated } do
           local volumes = images:view(1, 1, 4, 4)
           assert(net:forward(volumes):equal(maxima:view(1, 1, 3, 3)))
           assert(net:backward(volumes, net.output:clone():fill(1)):equal(gradient:view(1, 1, 4, 4)))
        end
    """
    assert Runtime(way=way).run_string(code) == 0


@pytest.mark.parametrize("way", ["any", "pytorch"])
def test_a_gradient_with_the_sizes_of_no_result_of_averages_is_refused(way: str) -> None:
    """In Torch7's words, which name the first dimension that differs."""
    code = """
        require 'nn'
        local function refuse(net, input, axis, size, ...)
           net:forward(input)
           local fine, text = pcall(net.updateGradInput, net, input, torch.rand(...))
           local words = 'Need gradOutput of dimension %d and gradOutput.size[%d] == %d but got'
           assert(not fine and text:find(words:format(input:dim(), axis, size), 1, true), text)
        end
        local pool, ceil = nn.SpatialAveragePooling(2, 2), nn.SpatialAveragePooling(2, 2, 3, 3):ceil()
        refuse(pool, torch.rand(2, 3, 4, 4), 2, 3, 2, 3, 2, 3)
        refuse(pool, torch.rand(3, 4, 4), 2, 3, 3, 3, 2)
        refuse(ceil, torch.rand(1, 3, 3), 1, 2, 1, 1, 1) -- its last windows begin outside
        local volumes = nn.VolumetricAveragePooling(2, 2, 2)
        refuse(volumes, torch.rand(1, 4, 4, 4), 3, 2, 1, 2, 2, 3)
        refuse(volumes, torch.rand(1, 4, 4, 4), 0, 1, 2, 2, 2, 2)
    """
    assert Runtime(way=way).run_string(code) == 0
