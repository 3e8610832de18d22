"""What is there of fbnn, fbcunn and fblualib, and rex_pcre."""

from pathlib import Path

from tests.helpers.commands import run_lua


def test_hierarchical_softmax(tmp_path: Path) -> None:
    """Against the definition: log p(cluster) + log p(class within it), slopes by differences."""
    run_lua(
        tmp_path,
        """
        require 'fbnn'
        torch.manualSeed(1)
        local mapping = { { 1, 1 }, { 2, 1 }, { 2, 2 }, { 1, 2 }, { 2, 3 } }
        local hsm = nn.HSM(mapping, 4)
        local input, target = torch.randn(6, 4), torch.LongTensor{ 1, 2, 3, 4, 5, 2 }
        local starts = { 1, 3 }
        local function expected()
           local sum = 0
           for i = 1, 6 do
              local cluster, place = unpack(mapping[target[i]])
              local of_clusters = nn.LogSoftMax():forward(hsm.cluster_weight * input[i] + hsm.cluster_bias)
              local size = cluster == 1 and 2 or 3
              local weight = hsm.class_weight:narrow(1, starts[cluster], size)
              local bias = hsm.class_bias:narrow(1, starts[cluster], size)
              local within = nn.LogSoftMax():forward(weight * input[i] + bias)
              sum = sum - of_clusters[cluster] - within[place]
           end
           return sum
        end
        local loss, count = hsm:forward(input, target)
        assert(count == 6 and math.abs(loss - expected()) < 1e-9)
        hsm:zeroGradParameters()
        local gradInput = hsm:backward(input, target):clone()
        local parameters, gradients = hsm:parameters()
        local function check(tensor, gradient)
           local flat, of_flat = tensor:view(-1), gradient:view(-1)
           for i = 1, flat:size(1) do
              local kept = flat[i]
              flat[i] = kept + 1e-5
              local above = expected()
              flat[i] = kept - 1e-5
              local below = expected()
              flat[i] = kept
              assert(math.abs((above - below) / 2e-5 - of_flat[i]) < 1e-6)
           end
        end
        check(input, gradInput)
        for i = 1, #parameters do check(parameters[i], gradients[i]) end

        -- one sample, an update of the parameters themselves, behind a module
        local alone = hsm:forward(input[1], target:narrow(1, 1, 1))
        assert(hsm:backward(input[1], target:narrow(1, 1, 1)):dim() == 1)
        hsm:accGradParameters(input[1], target:narrow(1, 1, 1), -0.1, true)
        assert(hsm:forward(input[1], target:narrow(1, 1, 1)) < alone)
        local both = nn.SequentialCriterion(nn.LinearNB(4, 4), hsm:clone())
        assert(#both:parameters() == 5 and both.module.bias == nil)
        local before = both:forward(input, target)
        both:zeroGradParameters()
        both:backward(input, target)
        both:accGradParameters(input, target)
        both:updateParameters(0.01)
        assert(both:forward(input, target) < before)
        for _, bad in ipairs{ { { 1, 1 }, { 3, 1 } }, { { 1, 1 }, { 1, 1 } }, { { 1, 1 }, { 1, 3 } } } do
           local ok, problem = pcall(nn.HSM, bad, 2)
           assert(not ok and problem:find('bad mapping'))
        end
        """,
    )


def test_layers_of_fbcunn(tmp_path: Path) -> None:
    run_lua(
        tmp_path,
        """
        require 'fbcunn'
        local x = torch.Tensor{ { 3, 1 }, { 1, 5 }, { 4, 2 }, { 2, 7 } }
        local pool = nn.TemporalKMaxPooling(2)
        assert(pool:forward(x):equal(torch.Tensor{ { 3, 5 }, { 4, 7 } }))
        assert(pool.indices:equal(torch.Tensor{ { 0, 1 }, { 2, 3 } }))
        assert(pool:backward(x, torch.Tensor{ { 1, 2 }, { 3, 4 } }):equal(
           torch.Tensor{ { 1, 0 }, { 0, 2 }, { 3, 0 }, { 0, 4 } }))
        assert(nn.TemporalKMaxPooling(1, 0.6):forward(x:view(1, 4, 2)):size(2) == 3)
        assert(not pcall(function() nn.TemporalKMaxPooling(5):forward(x) end))

        local lookup, known = nn.LookupTableGPU(6, 3), nn.LookupTable(6, 3)
        known.weight:copy(lookup.weight)
        local numbers = torch.LongTensor{ { 1, 5 }, { 5, 2 } }
        assert(lookup:forward(numbers):equal(known:forward(numbers)))
        local gradOutput = torch.randn(2, 2, 3)
        for _, one in ipairs{ lookup, known } do
           one:zeroGradParameters()
           one:backward(numbers, gradOutput)
        end
        assert((lookup.gradWeight - known.gradWeight):abs():max() < 1e-12)
        local turned = nn.LookupTableGPU(6, 3, true)
        turned.weight:copy(lookup.weight)
        assert(turned:forward(numbers):equal(lookup.output:transpose(2, 3)))
        turned:zeroGradParameters()
        turned:backward(numbers, gradOutput:transpose(2, 3):clone())
        assert((turned.gradWeight - known.gradWeight):abs():max() < 1e-12)
        lookup.unk_index = 0
        assert(lookup:forward(torch.LongTensor{ 0, 2 })[1]:abs():sum() == 0)
        lookup:zeroGradParameters()
        lookup:backward(torch.LongTensor{ 0, 2 }, gradOutput[1])
        assert(lookup.gradWeight[2]:equal(gradOutput[1][2]) and lookup.gradWeight:ne(0):sum() == 3)
        """,
    )


def test_vectors_outside_of_luas_memory(tmp_path: Path) -> None:
    run_lua(
        tmp_path,
        """
        local ffivector = require 'fb.ffivector'
        local words, numbers = ffivector.new_string(), ffivector.new_int(2)
        for i = 1, 20 do
           words[#words + 1] = 'w' .. i
           numbers[#numbers + 1] = i * i
        end
        assert(#words == 20 and words[20] == 'w20' and #numbers == 20 and numbers[7] == 49)
        words[3], numbers[3] = 'three', 3
        assert(words[3] == 'three' and numbers[3] == 3 and numbers:capacity() >= 20)
        numbers:resize(30)
        assert(#numbers == 30 and numbers[30] == 0 and not pcall(function() return numbers[31] end))
        assert(not pcall(function() words[30] = 'far' end))
        local function double(x) return tonumber(x) * 2 end
        local own = ffivector.new('double', 0, double, function(x) return x + 1 end)
        own[1] = 3
        assert(own[1] == 8 and type(require('fb.debugger').enter) == 'function')
        """,
    )


def test_regular_expressions(tmp_path: Path) -> None:
    """The calls of Lrexlib's manual."""
    run_lua(
        tmp_path,
        r"""
        local rex = require 'rex_pcre'
        local first, last, a, b = rex.find('one two', [[(\w+) (x)?]])
        assert(first == 1 and last == 4 and a == 'one' and b == false)
        assert(rex.find('abc', 'z') == nil and rex.match('a1b22', [[\d+]], 3) == '22')
        assert(rex.count('a, b. c!', rex.new('[[:punct:][:digit:]]')) == 3 and rex.count('aaa', 'x*') == 4)
        assert(rex.match('ABC', 'b', 1, 'i') == 'B' and rex.new('b(c)', 'i'):match('aBC') == 'C')
        local words = {}
        for word in rex.gmatch('three small words', [[\w+]]) do words[#words + 1] = word end
        assert(table.concat(words, '-') == 'three-small-words')
        assert(rex.gsub('hello world', [[(\w+)]], '<%1>') == '<hello> <world>')
        assert(rex.gsub('abc', [[\w]], { a = '1', b = 2 }) == '12c')
        local text, count = rex.gsub('aaa', 'a', function(x) return x .. '.' end, 2)
        assert(text == 'a.a.a' and count == 2)
        local pieces = {}
        for piece in rex.split('a, b;c', [[[,;]\s*]]) do pieces[#pieces + 1] = piece end
        assert(table.concat(pieces, '|') == 'a|b|c')
        local ok, problem = pcall(rex.new, '(')
        assert(not ok and problem:find('pattern %('))
        """,
    )
