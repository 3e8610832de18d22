"""Runs Lua scripts under our th: compares a net with the Python net, and a file with a recorded one."""

import shlex
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from convnet_benchmarks.commands.crosscheck.tensors import Comparison, Tolerance, compare_trees
from convnet_benchmarks.commands.crosscheck.tree import Entry, ResultTree, load_results, tree_of
from convnet_benchmarks.errors import UserError
from convnet_benchmarks.nets import registry

if TYPE_CHECKING:
    import torch

OUT = "{out}"  # stands for the file to be written, among a script's arguments

# Run in double precision: in single precision an element that is nearly zero, or nearly the largest of its
# window, may take the other way through ReLU or pooling, and gradients differ from there on.
RELATIVE_TOLERANCES = {"float64": 1e-9}

# arg: the script, the file to write, the seed, the sizes of the input.
_DRIVER = """
require 'nn'
torch.setdefaulttensortype('torch.FloatTensor')
local script, out, seed = arg[1], arg[2], tonumber(arg[3])
local sizes = torch.LongStorage(#arg - 3)
for i = 4, #arg do sizes[i - 3] = tonumber(arg[i]) end

local function is_module(value) return torch.isTypeOf(value, 'nn.Module') end

arg = { [0] = script }
package.path = (script:match('^(.*/)[^/]*$') or './') .. '?.lua;' .. package.path
torch.manualSeed(seed)
local net = dofile(script)
if type(net) == 'function' then
    torch.manualSeed(seed)
    net = net{ nn.SpatialConvolutionMM, nn.SpatialMaxPooling, nn.ReLU, 'BDHW', 'nn' }
end
if net == nil then net = is_module(model) and model or _G.net end
if not is_module(net) then
    error('it returns ' .. torch.type(net) .. ': return an nn.Module, or a function that returns one', 0)
end

torch.manualSeed(seed + 1)
local input = torch.FloatTensor(sizes):normal():double()
net:double()
net:training()
net:apply(function(module) if torch.type(module):find('Dropout') then module.p = 0 end end)
-- Such a module computes no gradient of its input, which a Concat around it leaves undefined.
local without = {}
net:apply(function(module)
    if module.gradInput == nil then
        without[#without + 1] = torch.type(module)
        module.gradInput = torch.DoubleTensor()
    end
end)
local parameters, gradParameters = net:parameters()
net:zeroGradParameters()
local output = net:forward(input)
if not torch.isTensor(output) then error('its output is a ' .. torch.type(output) .. ', not a tensor', 0) end
local gradOutput = torch.FloatTensor(output:size()):normal():double()
local gradInput = net:backward(input, gradOutput)
torch.save(out, { parameters = parameters or {}, gradParameters = gradParameters or {}, output = output,
    gradInput = gradInput, without = table.concat(without, ', ') })
"""


def compare_with_recorded(
    recorded: str, script: str, arguments: str, tolerance: Tolerance, only: tuple[str, ...]
) -> list[Comparison]:
    """Returns the file ``recorded`` against the one that ``script`` writes now.

    ``arguments``: the script's, as in a shell; ``{out}`` among them stands for the file. Raises UserError
    for a script that fails or writes nothing.
    """
    try:
        words = shlex.split(arguments)
    except ValueError as error:
        raise UserError(f"option --lua-args: {error}; accepted: words as in a shell") from None
    if not any(OUT in word for word in words):
        raise UserError(f"option --lua-args: {OUT} is missing, the file that the script is to write")
    expected = load_results(recorded)
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / f"out{Path(recorded).suffix}"
        _run_lua(script, [script, *(word.replace(OUT, str(out)) for word in words)])
        if not out.is_file():
            raise UserError(f"{script}: it wrote no file where --lua-args has {OUT}")
        return compare_trees(expected, load_results(str(out)), tolerance, only)


def compare_net(
    script: str, name: str | None, seed: int, batch: int, tolerance: Tolerance, only: tuple[str, ...]
) -> tuple[list[Comparison], str, list[str]]:
    """Returns the net that ``script`` defines against the Python net called ``name`` (None: as the file),
    its name, and notes: parameters from ``seed``, output, gradInput and gradParameters on an input of
    ``seed`` + 1.
    """
    net = _find(script, name)
    shape = (batch, *net.input_size)
    with tempfile.TemporaryDirectory() as folder:
        driver, out = Path(folder) / "driver.lua", Path(folder) / "net.t7"
        driver.write_text(_DRIVER)
        _run_lua(script, [str(driver), script, str(out), str(seed), *map(str, shape)])
        lua = load_results(str(out))
        without = lua.entries.pop("without").value
        ours, names = _python_results(net, seed, shape)
        comparisons = _compare(lua, ours, names, tolerance, only)
    notes = [f"{script} sets gradInput to nil in {without}: computed here all the same"] if without else []
    return comparisons, net.name, notes


def _find(script: str, name: str | None) -> registry.Net:
    option = "option --net" if name else f"{script}: without --net its name is the net's"
    try:
        net = registry.find(name or Path(script).stem.replace("-", "_").lower())
    except KeyError as error:
        raise UserError(f"{option}: {error.args[0]}") from None
    if net.tokens or net.own_parameters:
        what = "takes token ids" if net.tokens else "brings parameters of its own"
        raise UserError(f"{option}: {net.name} {what}; accepted: nets of images whose parameters are drawn")
    return net


def _run_lua(script: str, words: Sequence[str]) -> None:
    """Runs ``th words...`` in a process of its own; what it prints goes to our stderr."""
    result = subprocess.run(
        [sys.executable, "-m", "lua_compat", *words],
        stdout=sys.stderr.fileno(),
        stderr=subprocess.PIPE,
        text=True,
    )
    if result.returncode:
        lines = [line for line in result.stderr.splitlines() if line.strip()]
        reason = lines[0].removeprefix("th: ") if lines else f"exit code {result.returncode}"
        raise UserError(f"{script}: {reason}")


def _python_results(net: registry.Net, seed: int, shape: tuple[int, ...]) -> tuple[ResultTree, list[str]]:
    """Returns what the Python net computes, as the driver has it, and the names of its parameters in
    order.
    """
    import torch

    from convnet_benchmarks.nets.torch7.initialisation import normal_input
    from convnet_benchmarks.nets.torch7.random import Generator

    module = registry.build(net, seed).double().train()
    for child in module.modules():
        if isinstance(child, torch.nn.modules.dropout._DropoutNd):
            child.p = 0.0
    generator = Generator(seed + 1)
    input = normal_input(shape, generator).double().requires_grad_()
    output = module(input)
    grad_output = normal_input(tuple(output.shape), generator).double()
    output.backward(grad_output)
    named = dict(module.named_parameters())
    values = {
        "parameters": [parameter.detach() for parameter in named.values()],
        "gradParameters": [_gradient(parameter) for parameter in named.values()],
        "output": output.detach(),
        "gradInput": _gradient(input),
    }
    return tree_of(values), list(named)


def _gradient(tensor: "torch.Tensor") -> "torch.Tensor":
    import torch

    return torch.zeros_like(tensor) if tensor.grad is None else tensor.grad


def _compare(
    lua: ResultTree, ours: ResultTree, names: Sequence[str], tolerance: Tolerance, only: tuple[str, ...]
) -> list[Comparison]:
    """Parameters under the names they have in Python; a weight kept as a matrix counts as its 4-D self."""
    a, b = ResultTree(), ResultTree()
    for tree, renamed in ((lua, a), (ours, b)):
        for path, entry in tree.entries.items():
            renamed.entries[_named(path, names)] = entry
    for path, entry in a.entries.items():
        other = b.entries.get(path)
        if other is not None and path.startswith(("parameters.", "gradParameters.")):
            a.entries[path] = _shaped_like(entry, other)
    kinds = ("parameters", "output", "gradInput", "gradParameters")
    a.entries = dict(sorted(a.entries.items(), key=lambda item: kinds.index(item[0].partition(".")[0])))
    return compare_trees(a, b, tolerance, only)


def _named(path: str, names: Sequence[str]) -> str:
    kind, _, place = path.partition(".")
    index = int(place) - 1 if place.isdigit() else -1
    return f"{kind}.{names[index]}" if 0 <= index < len(names) else path


def _shaped_like(entry: Entry, other: Entry) -> Entry:
    same_output = entry.value.shape[:1] == other.value.shape[:1]
    if entry.value.size == other.value.size and same_output and entry.value.ndim == 2:
        return Entry(entry.value.reshape(other.value.shape), entry.precision)
    return entry
