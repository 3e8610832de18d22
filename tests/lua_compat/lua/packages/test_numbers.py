"""Packages of functions: cephes, randomkit, signal."""

from pathlib import Path

import numpy as np

from lua_compat import run, t7
from tests.helpers.commands import run_lua, run_th
from tests.helpers.lua_golden import differences
from tests.helpers.places import GOLDEN

PACKAGES = GOLDEN / "packages"


def test_what_cephes_computed() -> None:
    result = run_th(PACKAGES / "probe_cephes.lua")
    assert result.stdout == (PACKAGES / "cephes.txt").read_text(), result.stderr


def test_what_cephes_complained_of() -> None:
    result = run_th(PACKAGES / "probe_cephes_errors.lua")
    assert result.stdout == (PACKAGES / "cephes_errors.txt").read_text(), result.stderr


def test_what_signal_computed(tmp_path: Path) -> None:
    out = tmp_path / "out.t7"
    assert run(PACKAGES / "probe_signal.lua", [str(out)]) == 0
    expected, got = t7.load(PACKAGES / "signal.t7").array(), t7.load(out).array()
    assert len(expected) == len(got) == 160
    for number, (a, b) in enumerate(zip(expected, got, strict=True)):
        assert not list(differences(a, b, 1e-5)), f"{a['name']}, case {number}"


def test_cephes_where_it_differs_from_the_library(tmp_path: Path) -> None:
    """The compiled original has a wrong constant in radian, E_n of small numbers is minus infinity there."""
    run_lua(
        tmp_path,
        """
        require 'cephes'
        assert(math.abs(cephes.radian(180, 0, 0) - math.pi) < 1e-12)
        assert(math.abs(cephes.expn(2, 0.6) - 0.2761839342) < 1e-9)
        cephes.setErrorLevel('warning')
        assert(cephes.getErrorLevel() == 'warning' and cephes.ndtri(2) ~= cephes.ndtri(2))
        local ok, problem = pcall(function() return cephes.polrt end)
        assert(not ok and problem:find('cephes.polrt is not among'))
        assert(not pcall(cephes.gamma, nil) and not pcall(cephes.gamma, 'x'))
        assert(cephes.sincos(30, { }, { }, 0) == 0)
        assert(cephes.ffi.chdtr(3, 2.5) == cephes.chdtr(3, 2.5)) -- the compiled functions have this name, too
        """,
    )


def test_randomkit_draws_what_numpy_draws(tmp_path: Path) -> None:
    """randomkit's own suite has numpy's values, too: both are the same formulas over the same stream."""
    seed = 1234567890
    calls = {
        "beta": (0.1, 0.9), "binomial": (100, 0.456), "chisquare": (50,), "exponential": (1.1234,),
        "f": (12, 77),
        "gamma": (5, 3), "geometric": (0.123456789,), "gumbel": (0.12, 2), "hypergeometric": (10, 5, 14),
        "laplace": (0.12, 2), "logistic": (0.12, 2), "lognormal": (0.12, 2), "logseries": (0.92,),
        "negative_binomial": (100, 0.12345), "noncentral_chisquare": (5, 5), "noncentral_f": (5, 2, 1),
        "normal": (0.12, 2), "pareto": (0.12,), "poisson": (0.12,), "power": (0.12,), "rayleigh": (10,),
        "standard_cauchy": (), "standard_gamma": (3,), "standard_t": (10,), "triangular": (5, 10, 20),
        "uniform": (1.23, 10.5), "vonmises": (1.23, 1.54), "wald": (1.23, 1.54), "weibull": (1.23,),
        "zipf": (1.23,),
        "standard_exponential": (), "standard_normal": (), "random_sample": (),
    }  # fmt: skip
    script = tmp_path / "draw.lua"
    script.write_text(
        "require 'randomkit'\nlocal results = {}\n"
        + "".join(
            f"torch.manualSeed({seed}) results.{name} = randomkit.{name}"
            f"({', '.join(['torch.Tensor(3, 2)', *map(str, values)])})\n"
            for name, values in calls.items()
        )
        + "torch.save(arg[1], results)\n"
    )
    out = tmp_path / "out.t7"
    assert run(script, [str(out)]) == 0
    drawn = t7.load(out)
    for name, values in calls.items():
        expected = getattr(np.random.RandomState(seed), name)(*values, size=(3, 2))
        assert np.array_equal(drawn[name].numpy(), expected), name


def test_randomkit_as_it_is_called(tmp_path: Path) -> None:
    run_lua(
        tmp_path,
        """
        require 'randomkit'
        local seed = 1234567890
        torch.manualSeed(seed)
        local bytes = randomkit.bytes(torch.ByteTensor(10))
        assert(bytes:equal(torch.ByteTensor{ 130, 85, 105, 158, 255, 151, 43, 87, 102, 165 }))
        torch.manualSeed(seed)
        local first = randomkit.gauss()
        local second = randomkit.gauss() -- of the same pair
        torch.manualSeed(seed)
        assert(randomkit.normal(0, 1) == first and randomkit.gauss() == second)
        randomkit.gauss()
        local state = torch.getRNGState() -- with the number that waits
        local drawn = randomkit.gauss(torch.Tensor(3))
        torch.setRNGState(state)
        assert(randomkit.gauss(torch.Tensor(3)):equal(drawn) and not pcall(torch.setRNGState, 1))
        local t = randomkit.gamma(torch.Tensor{ 1, 5 }, torch.Tensor{ 2, 3 })
        assert(t:size(1) == 2 and type(randomkit.binomial(10, 0.5)) == 'number')
        assert(torch.random() ~= nil and not pcall(randomkit.gamma, torch.Tensor(2), torch.Tensor(3), 1))
        assert(not pcall(randomkit.gamma, 1) and not pcall(randomkit.bytes, torch.Tensor(2)))
        """,
    )
