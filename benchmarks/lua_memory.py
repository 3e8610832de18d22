"""Peaks of memory of Lua scripts under ``th`` and under real Torch7.

    python -m benchmarks.lua_memory [--torch7 COMMAND] [--rounds 3]

Each script tells the largest resident memory of its process, as Linux has it; the output is a table of
medians in MB. PyTorch, which some of them need, takes about 200 MB.
"""

from benchmarks.lua_in_turns import medians, options

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
PEAK = """
    for line in io.lines('/proc/self/status') do
        local kb = line:match('^VmHWM:%s+(%d+)')
        if kb then print('peak\\t' .. kb / 1024) end
    end
"""


def main() -> None:
    chosen = options(__doc__, rounds=3)
    for name, script in SCRIPTS.items():
        # In a function: the end of a script is no end of its locals.
        found = medians(f"(function() {script} end)() {PEAK}", chosen.torch7, chosen.rounds)
        columns = [f"{program} {costs['peak']:6.0f}" for program, costs in found.items()]
        print(f"{name:34}{'   '.join(columns)}", flush=True)


if __name__ == "__main__":
    main()
