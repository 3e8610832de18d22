"""Peaks of memory of Lua scripts under ``th`` and under real Torch7.

    python -m benchmarks.lua_memory [--torch7 COMMAND] [--before COMMAND] [--rounds 3]

Each script tells the largest resident memory of its process, as Linux has it; the output is a table of
medians in MB. Loops tell it after their 50th round, too (in brackets). PyTorch, which some of them need,
takes about 200 MB.
"""

import sys

from benchmarks import performance
from benchmarks.helpers.lua_in_turns import commands, medians, options
from convnet_benchmarks.tables import Column, Table

# By name: what the script does
SCRIPTS = {
    "a picture scaled to 4000 x 4000": """
        require 'image' torch.setdefaulttensortype('torch.FloatTensor')
        image.scale(torch.rand(240, 240), 4000, 4000, 'bicubic')
    """,
    "a mask of 10000 x 10000": """
        require 'image' torch.setdefaulttensortype('torch.FloatTensor')
        local pattern = image.scale(torch.rand(600, 600):mul(255), 10000, 10000, 'bicubic'):div(255)
        torch.lt(pattern, 0.25):byte():sum()
    """,
    "20 clones of a language model": """
        require 'nngraph' torch.setdefaulttensortype('torch.FloatTensor')
        local word = nn.Identity()()
        local hidden = nn.Tanh()(nn.Linear(200, 200)(nn.LookupTable(10000, 200)(word)))
        local net = nn.gModule({ word }, { nn.LogSoftMax()(nn.Linear(200, 10000)(hidden)) }):double()
        net:getParameters():uniform(-0.1, 0.1)
        net = net:float()
        net:getParameters()
        local parameters, gradients = net:parameters()
        local file, clones = torch.MemoryFile('w'):binary(), {}
        file:writeObject(net)
        for i = 1, 20 do
            local reader = torch.MemoryFile(file:storage(), 'r'):binary()
            clones[i] = reader:readObject()
            reader:close()
            local p, g = clones[i]:parameters()
            for k = 1, #p do p[k]:set(parameters[k]) g[k]:set(gradients[k]) end
            collectgarbage()
        end
    """,
    "a million temporaries": """
        local a, b = torch.ones(3, 4), torch.ones(3, 4)
        for i = 1, 1e6 do local row = (a + b)[2] end
    """,
}
# By name: what a loop begins with, and what each of its rounds does; nothing that a round makes is kept.
LOOPS = {
    "copies of 32 MB": ("local t = torch.FloatTensor(8e6):fill(1)", "local u = t:clone()"),
    "copies of 100 KB": (
        "local t = torch.FloatTensor(25000):fill(1)",
        "for k = 1, 300 do local u = t:clone() end",
    ),
    "expressions of 32 MB": ("local t = torch.FloatTensor(8e6):fill(1)", "local u = (t + 1) * 2"),
    "copies of 4 MB after torch.svd": (
        "torch.svd(torch.randn(3, 3)) local t = torch.FloatTensor(1e6):fill(1)",
        "for k = 1, 5 do local u = t:clone() end",
    ),
    "sizes up to 16 MB": ("", "local u = torch.FloatTensor(torch.random(1, 4e6)):fill(1)"),
    "small tensors of ever other sizes": (
        "",
        "for k = 1, 500 do local u = torch.Tensor(round * 10):fill(1) end",
    ),
    "conversions": ("local t = torch.FloatTensor(2e6):fill(1)", "local u = t:double():int():byte():float()"),
    "cumulative sums": ("local t = torch.FloatTensor(1000, 1000):fill(1)", "local u = torch.cumsum(t, 1)"),
    "image.load": (
        """require 'image' local picture = os.tmpname() .. '.png'
        image.save(picture, image.scale(torch.rand(3, 50, 50), 1000, 1000))""",
        "local u = image.load(picture)",
    ),
    "torch.deserialize of 16 MB": (
        """local list = {} for k = 1, 8 do list[k] = torch.FloatTensor(700, 700):fill(k) end
        local text = torch.serialize(list)""",
        "local u = torch.deserialize(text)",
    ),
    "torch.save and torch.load of 16 MB": (
        "local t, file = torch.FloatTensor(4e6):fill(1), os.tmpname()",
        "torch.save(file, t) local u = torch.load(file)",
    ),
    "memory files left open": ("local t = torch.rand(5e5)", "torch.MemoryFile():binary():writeObject(t)"),
    "clones of a flattened net": (
        """require 'nn' local net = nn.Sequential() for k = 1, 20 do net:add(nn.Linear(700, 700)) end
        net:float():getParameters()""",
        "local u = net:clone()",
    ),
    "new convolutions": (
        "require 'nn' local x = torch.rand(8, 3, 48, 48)",
        """local layer = nn.SpatialConvolutionMM(3, 16, 5, 5)
        layer:backward(x, layer:forward(x))""",
    ),
    "other batch sizes": (
        "require 'nn' local layer = nn.SpatialConvolutionMM(3, 16, 5, 5)",
        "local x = torch.rand(torch.random(1, 16), 3, 48, 48) layer:backward(x, layer:forward(x))",
    ),
    "coroutines": (
        "local t = torch.FloatTensor(1e6):fill(1)",
        "coroutine.wrap(function() local u = t:clone() coroutine.yield() end)()",
    ),
    "two threads": (
        "local pool = require('threads').Threads(2)",
        """pool:addjob(function() return torch.FloatTensor(1e6):fill(1) end, function(t) end)
        pool:synchronize()""",
    ),
}
ROUNDS = 150
IN_ROUNDS = """
    {begin}
    local function one(round) {body} end
    for round = 1, {rounds} do
        one(round)
        if round == 50 then report('early') end
    end
"""
REPORT = """
    local function report(name)
        for line in io.lines('/proc/self/status') do
            local kb = line:match('^VmHWM:%s+(%d+)')
            if kb then print(name .. '\\t' .. kb / 1024) end
        end
    end
"""


def main() -> None:
    chosen = options("lua_memory", __doc__, rounds=3)
    scripts = dict(SCRIPTS)
    for name, (begin, body) in LOOPS.items():
        scripts[name] = IN_ROUNDS.format(begin=begin, body=body, rounds=ROUNDS)
    table = Table("", [Column("peak"), *(Column(name, "MB") for name in commands(chosen))])
    for name, script in scripts.items():
        # In a function, whose locals are free at its end.
        code = f"{REPORT} (function() {script} end)() report('peak')"
        table.rows.append([name, *map(_peaks, medians(code, chosen).values())])
        print(*table.texts()[-1], sep="\t", file=sys.stderr, flush=True)
    performance.report("lua_memory", table, chosen)


def _peaks(peaks: dict[str, float]) -> str:
    """Returns the peak at the end, and in brackets that of the 50th round."""
    return f"{peaks['peak']:.0f}" + (f" ({peaks['early']:.0f})" if "early" in peaks else "")


if __name__ == "__main__":
    main()
