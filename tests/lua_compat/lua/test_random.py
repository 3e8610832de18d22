"""Torch7's distributions in Lua against those of convnet_benchmarks.nets.torch7.random, to the last bit."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from convnet_benchmarks.nets.torch7.random import Generator
from lua_compat import run, t7
from lua_compat.runtime.state import Runtime

N = 1001  # more than a block of the generator, and odd: a normal number waits

Draw = Callable[[Generator], object]
CASES: dict[str, Draw] = {
    "t:uniform()": lambda g: g.uniform(N),
    "t:uniform(-2, 5)": lambda g: g.uniform(N, -2, 5),
    "t:normal()": lambda g: g.normal(N),
    "t:normal(3, 0.5)": lambda g: g.normal(N, 3, 0.5),
    "t:cauchy(1, 2)": lambda g: g.cauchy(N, 1, 2),
    "t:logNormal(0.5, 0.25)": lambda g: g.log_normal(N, 0.5, 0.25),
    "t:exponential(3)": lambda g: g.exponential(N, 3),
    "t:geometric(0.3)": lambda g: g.geometric(N, 0.3),
    "t:bernoulli(0.3)": lambda g: g.bernoulli(N, 0.3),
    "t:random()": lambda g: g.random(N),
    "t:random(9)": lambda g: g.random(N, 1, 9),
    "t:random(-5, 2^20)": lambda g: g.random(N, -5, 2**20),
    "t:copy(torch.rand(t:nElement()))": lambda g: g.uniform(N),
    "t:copy(torch.randperm(t:nElement()))": lambda g: g.randperm(N),
    "t:copy(torch.multinomial(torch.range(1, 50), t:nElement(), true))": lambda g: g.multinomial(
        np.arange(1.0, 51.0), N, True
    ),
    "t:copy(torch.multinomial(torch.range(1, 1500), t:nElement()))": lambda g: g.multinomial(
        np.arange(1.0, 1501.0), N
    ),
}


@pytest.mark.parametrize("seed", [1, 2**32 - 1])
def test_the_same_numbers_as_in_python(seed: int, tmp_path: Path) -> None:
    lines = [f"torch.manualSeed({seed}) torch.normal()", f"local results, t = {{}}, torch.Tensor({N})"]
    for call in CASES:
        lines += [call, "results[#results + 1] = t:clone()"]
    out = tmp_path / "out.t7"
    lines += ["results[#results + 1] = torch.Tensor{ torch.normal(2, 3), torch.random() }"]
    script = tmp_path / "draw.lua"
    script.write_text("\n".join([*lines, f"torch.save('{out}', results)"]))
    assert run(script) == 0
    results = [np.array(tensor.numpy()) for tensor in t7.load(out).values()]
    generator = Generator(seed)
    generator.normal(1)
    for (call, draw), got in zip(CASES.items(), results, strict=False):
        np.testing.assert_array_equal(got, np.asarray(draw(generator), dtype=np.float64), err_msg=call)
    assert results[-1].tolist() == [generator.normal(1, 2, 3)[0], generator.random(1)[0]]


def test_aliases_are_what_torch7_drew(capfd: pytest.CaptureFixture[str]) -> None:
    Runtime().run_string(
        "torch.manualSeed(5)\n"
        "local state, out = torch.multinomialAliasSetup(torch.rand(9)), torch.LongTensor(3, 4)\n"
        "for i = 1, 2 do torch.multinomialAlias(out:t():select(2, i), state) end\n"
        "torch.multinomialAlias(out[3], torch.multinomialAliasSetup(torch.rand(9), state))\n"
        "print(table.concat(out:view(-1):totable(), ' '), state[1]:sum())\n"
        "print(pcall(torch.multinomialAlias, out[1], { torch.LongTensor(2), torch.rand(3) }))"
    )
    drawn, refused = capfd.readouterr().out.splitlines()
    assert drawn == "1 4 4 5 9 8 6 8 3 6 6 6\t8"
    assert refused == "false\tinconsistent tensor size"  # Torch7 reads what lies behind
