"""totem's comparisons and checks of modules; the memory that optnet saves."""

from pathlib import Path

import pytest

from tests.helpers.commands import run_lua

# Comparisons, and what totem gives for them under Torch7
COMPARISONS = """
    areEq(1, 1.5, 0.25) == false 'numberEQ(==) violation: max diff=0.5, tolerance=0.25'
    areEq(1, 1.25, 0.25, true) == false 'numberNE(==) violation: max diff=0.25, tolerance=0.25'
    areEq('a', 'b') == false 'stringEQ(==) violation: val1=a, val2=b'
    areEq(1, 'a') == false 'Arguments are not of the same type (got: number, expected: string)'
    areEq({ 1, { 2 } }, { 1, { 3 } }) == false 'numberEQ(==) violation: max diff=1, tolerance=0'
    areEq({ 1 }, {}, 0, true) == true 'Arguments are not of the same type (got: number, expected: nil)'
    areTensorsEq(T{ 1, 2 }, T{ 1, 2.5 }) == false 'TensorEQ(==) violation: max diff=0.5, tolerance=0'
    areTensorsEq(T{ 1 }, T{ 1 }:float()) == false 'The tensors have different types'
    areTensorsNe(T{ 1 }, T{ 2 }) == true nil
    areTensorsEq(torch.ByteTensor{ 1, 2 }, torch.ByteTensor{ 1, 3 }, 1) == true nil
    areStoragesEq(S{ 1, 2 }, S{ 1, 3 }) == false 'StorageEQ(==) violation: max diff=1, tolerance=0'
    areTablesEq({ a = T{ 1 } }, { a = T{ 1 } }) == true 'The tables are equal.'
"""


@pytest.mark.parametrize("case", COMPARISONS.strip().split("\n    "))
def test_a_comparison_says_what_totem_says(tmp_path: Path, case: str) -> None:
    call, _, wanted = case.partition(" == ")
    outcome, _, problem = wanted.partition(" ")
    run_lua(
        tmp_path,
        f"""
        local totem, T, S = require 'totem', torch.Tensor, torch.DoubleStorage
        local ok, problem = totem.{call}
        assert(ok == {outcome}, tostring(ok))
        assert(problem == {problem}, problem)
        """,
    )


def test_totem_tells_right_modules_from_wrong_ones(tmp_path: Path) -> None:
    run_lua(
        tmp_path,
        """
        arg = nil
        local totem = require 'totem'
        require 'nn'
        local Wrong, parent = torch.class('nn.Wrong', 'nn.Linear')
        function Wrong:accGradParameters(input, gradOutput, scale)
           parent.accGradParameters(self, input, gradOutput, 2 * (scale or 1))
        end
        local function problems_of(check)
           local tester, said = totem.Tester(), {}
           function tester:_assert_sub(condition, message)
              if not condition then said[#said + 1] = message end
              return condition
           end
           check(tester)
           return table.concat(said, '; ')
        end
        local function problems_with(module)
           return problems_of(function(tester)
              totem.nn.checkGradients(tester, module, torch.randn(3, 4))
              totem.nn.checkMinibatch(tester, module, torch.randn(3, 4))
              totem.nn.checkTypePreservesSharing(tester, module:clone())
              totem.nn.checkTypeCastable(tester, module:clone(), torch.randn(3, 4))
              totem.nn.checkSerializable(tester, module, torch.randn(3, 4))
           end)
        end
        assert(problems_with(nn.Linear(4, 2)) == '', problems_with(nn.Linear(4, 2)))
        assert(problems_with(nn.Wrong(4, 2)):find('wrong grad w.r.t. params', 1, true))
        local paired = problems_of(function(tester)
           totem.nn.checkGradients(tester, nn.CMulTable(), { torch.randn(2, 3), torch.randn(2, 3) })
        end)
        assert(paired == '', paired)
        """,
    )


# Bytes of outputs, gradInputs and parameters, recorded with Torch7 and optnet
MEMORY = {
    "inference": "46176 78912 37088",
    "training": "68160 17368 74176",
}


@pytest.mark.parametrize("mode", MEMORY)
def test_optnet_saves_what_it_saves_under_torch7(tmp_path: Path, mode: str) -> None:
    run_lua(
        tmp_path,
        f"""
        local mode, wanted = '{mode}', '{MEMORY[mode]}'
        require 'nn'
        torch.manualSeed(3)
        local optnet = require 'optnet'
        local function convolution(from, to, k)
           return nn.SpatialConvolution(from, to, k, k, 1, 1, (k - 1) / 2, (k - 1) / 2)
        end
        local function net_and_input()
           local both = nn.Concat(2)
              :add(nn.Sequential():add(convolution(2, 3, 3)):add(nn.ReLU()):add(convolution(3, 4, 1)))
              :add(nn.Sequential():add(nn.SpatialMaxPooling(3, 3, 1, 1, 1, 1)):add(convolution(2, 5, 1))
                 :add(nn.Tanh()))
           local residual = nn.ConcatTable():add(nn.Identity())
              :add(nn.Sequential():add(convolution(9, 9, 3)):add(nn.ReLU()):add(convolution(9, 9, 3)))
           return nn.Sequential():add(both):add(nn.SpatialBatchNormalization(9)):add(nn.ReLU(true))
              :add(nn.SpatialMaxPooling(2, 2, 2, 2)):add(residual):add(nn.CAddTable(true)):add(nn.ReLU())
              :add(nn.View(-1):setNumInputDims(3)):add(nn.Linear(144, 20)):add(nn.ReLU())
              :add(nn.Linear(20, 6))
              :add(nn.Sigmoid()):add(nn.Linear(6, 4)):add(nn.LogSoftMax()), torch.randn(3, 2, 8, 8)
        end
        local net, input = net_and_input()
        if mode == 'inference' then net:evaluate() end
        local output = net:forward(input):clone()
        net:backward(input, torch.ones(output:size()))
        local before = optnet.countUsedMemory(net)
        optnet.optimizeMemory(net, input, {{ mode = mode }})
        assert((net:forward(input) - output):abs():max() == 0)
        local now = optnet.countUsedMemory(net)
        local got = ('%d %d %d'):format(now.outputs, now.gradInputs, now.params)
        assert(got == wanted, got)
        if mode == 'inference' then
           for _, method in ipairs{{ 'backward', 'getParameters' }} do
              local ok, problem = pcall(net[method], net, input, output)
              assert(not ok and problem:find('Call optnet.removeOptimization(net)', 1, true), problem)
           end
        end
        optnet.removeOptimization(net)
        assert((net:forward(input) - output):abs():max() == 0)
        net:backward(input, output)
        assert(optnet.countUsedMemory(net).params == before.params)
        """,
    )


def test_the_graph_of_a_net(tmp_path: Path) -> None:
    run_lua(
        tmp_path,
        """
        require 'nn'
        local graph_of = require 'optnet.graphgen'
        local net = nn.Sequential():add(nn.Linear(3, 2)):add(nn.ReLU(true)):add(nn.Linear(2, 1))
        local g = graph_of(net, torch.randn(4, 3), { displayProps = { shape = 'ellipse' } })
        local names = {}
        for _, node in ipairs(g.nodes) do
           names[#names + 1] = node:graphNodeName() .. '/' .. node.data
           assert(node:graphNodeAttributes().shape == 'ellipse')
        end
        table.sort(names)
        assert(#g.edges == 3, #g.edges)
        local wanted = 'Input/Storage id: 1, nn.Linear(2 -> 1)/Storage id: 3, '
           .. 'nn.Linear(3 -> 2)/Storage id: 2, nn.ReLU/Storage id: 2'
        assert(table.concat(names, ', ') == wanted, table.concat(names, ', '))
        assert(rawget(net, 'updateOutput') == nil)
        """,
    )
