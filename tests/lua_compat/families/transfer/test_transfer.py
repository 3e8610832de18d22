"""Transfer functions: LuaJIT's results are PyTorch's."""

from pathlib import Path

from tests.helpers.commands import run_lua
from tests.lua_compat.families.two_ways import made_for

test_both_ways_agree, test_both_ways_agree_on_much_more = made_for(__file__)


def test_the_gradient_of_drawn_slopes_looks_at_train_and_the_bounds(tmp_path: Path) -> None:
    run_lua(
        tmp_path,
        """
        require 'nn'
        local x, g = torch.Tensor{ 1, -2, 0, -3, 0 / 0 }, torch.Tensor{ 1, 2, 3, -7, 4 }
        local function check(module, expected)
           local got = module:updateGradInput(x, g:clone())
           assert((got - torch.Tensor(expected)):abs():max() < 1e-12, tostring(got))
        end
        local drawn = { 1, 0.45021319906227, 1.1974663273199, -2.2126814275049, 4 }
        local mean = { 1, 0.5, 0.75, -1.75, 4 }
        for _, inplace in ipairs{ false, true } do
           torch.manualSeed(1)
           local module = nn.RReLU(0.1, 0.4, inplace)
           module:forward(x:clone())
           check(module, drawn)
           module.lower, module.upper = 0.5, 0.7
           check(module, drawn)
           module.upper = 0.5 + 1e-7
           check(module, { 1, 1.0000001, 1.50000015, -3.50000035, 4 })
           module.lower, module.upper, module.train = 0.1, 0.4, false
           check(module, mean)
           local noise = module.noise:clone()
           assert(module:forward(torch.Tensor{ -2, 3 })[1] == -0.5 and module.noise:equal(noise))
           assert(not pcall(module.updateGradInput, module, x, torch.ones(4)))
           module.lower = 'x'
           assert(not pcall(module.updateGradInput, module, x, g))
        end
        """,
    )


def test_fields_of_transfer_functions_are_looked_at_where_torch7_looks(tmp_path: Path) -> None:
    run_lua(
        tmp_path,
        """
        require 'nn'
        local function near(t, expected)
           t = t:narrow(1, 1, #expected)
           assert((t - torch.Tensor(expected)):abs():max() < 1e-12, tostring(t))
        end
        local x = torch.Tensor{ -3, 0.5, 2, 3 }
        for _, count in ipairs{ 1, 20000 } do -- in LuaJIT and in PyTorch
           local soft, inputs = nn.SoftPlus(1, 7), x:repeatTensor(count)
           assert(soft.threshold == 20)
           soft.threshold = 2
           near(soft:forward(inputs), { 0.04858735157374206, 0.9740769841801067, 2.1269280110429727, 3 })
           near(soft:backward(inputs, inputs), { -0.1422776195327003, 0.3112296656009273, 2, 3 })
           soft.threshold = 0
           near(soft:backward(inputs, inputs), { -3, 0.5, 2, 3 })
        end
        local limited = nn.HardTanh(-2, 2.5)
        limited.max_val = false
        near(limited:forward(x), { -2, 0.5, 1, 1 })
        assert(limited.max_val == 1)

        local prelu, images = nn.PReLU(3), torch.range(-6, 5):view(4, 3)
        local allowed = { [3] = true, [3.7] = true, [0] = true, [-1] = false, [2] = false, ['3'] = false }
        for planes, works in pairs(allowed) do
           prelu.nOutputPlane = planes
           for _, name in ipairs{ 'updateOutput', 'updateGradInput', 'accGradParameters' } do
              assert(pcall(prelu[name], prelu, images, images, 1) == works, planes)
           end
        end
        local sign, double = nn.SoftSign(), torch.Tensor{ 1, -2 }
        sign:forward(double)
        near(sign:updateGradInput(double, torch.FloatTensor{ 1, 2 }), { 0.25, 2 / 9 })
        assert(not pcall(sign.updateOutput, sign, double:float()))
        """,
    )
