"""Measures what the Lua package threads costs: empty jobs, threads, handing over a batch of images.

    python -m benchmarks.lua_threads [--torch7 COMMAND] [--before COMMAND] [--rounds 5] [--waiting 0 1]

The commands run a Lua script under real Torch7 with its package threads and an older th, which take turns
with th; the output shows the medians over the rounds, in microseconds. ``--waiting``: what it costs instead
that PyTorch's threads wait for each other, beside so many programs that compute without end.
"""

from benchmarks import performance
from benchmarks.helpers.lua_in_turns import in_turns, medians, parser_of_rounds
from benchmarks.helpers.waiting_threads import waiting_costs

SCRIPT = """
require 'torch'
local threads = require 'threads'
threads.Threads.serialization('threads.sharedserialize')
local timer = torch.Timer()
local function measure(name, n, f)
    f(math.ceil(n / 10)) -- warm-up
    timer:reset()
    f(n)
    print(('%s\\t%.1f'):format(name, timer:time().real / n * 1e6))
end
local pool = threads.Threads(2)
local sum = 0
local function job(x) return x end
local function add(x) sum = sum + x end
measure('a job, many at a time', 2000, function(n)
    for i = 1, n do pool:addjob(job, add, i) end
    pool:synchronize()
end)
measure('a job, one at a time', 1000, function(n)
    for i = 1, n do
        pool:addjob(job, add, i)
        pool:synchronize()
    end
end)
local batch = torch.FloatTensor(32, 3, 224, 224):fill(1)
measure('a job with a shared batch', 1000, function(n)
    for i = 1, n do pool:addjob(function(x) return x end, function(x) assert(x:dim() == 4) end, batch) end
    pool:synchronize()
end)
pool:terminate()
measure('a thread made and ended', 40, function(n)
    for i = 1, n / 2 do threads.Threads(2):terminate() end
end)
"""


def main() -> None:
    parser = parser_of_rounds("lua_threads", __doc__, rounds=5)
    parser.add_argument("--waiting", type=int, nargs="+", metavar="BUSY", help="busy programs beside it")
    given = parser.parse_args()
    if given.waiting:
        table = waiting_costs(given.waiting, given.rounds)
    else:
        table = in_turns("us", medians(SCRIPT, given))
    performance.report("lua_threads", table, given)


if __name__ == "__main__":
    main()
