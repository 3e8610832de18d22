"""Every spelling that people type, and one clear line for what cannot be read."""

import sys
from typing import Any

import pytest

from convnet_benchmarks.errors import UserError
from convnet_benchmarks.legacy.options import BenchmarkOptions, CriterionOptions, parse


def options(*arguments: str, kind: type[Any] = BenchmarkOptions) -> Any:
    return parse(kind, arguments, "benchmark.py", "")


def test_defaults_are_the_originals() -> None:
    o = options()
    assert (o.iter, o.z, o.batch_size) == (10, None, 1)  # the net's own planes: OverFeat's 3
    assert (o.relu_inplace, o.convMM, o.sync) == (True, None, True)
    assert not any((o.cuda, o.cudnn, o.relu_cudnn, o.ccn2, o.legacy_timing))
    assert (o.x, o.y, o.tensor_4d) == (None, None, None)  # the net's own size; batched when batch_size > 1
    assert options(kind=CriterionOptions).iter == 5


@pytest.mark.parametrize(
    "spelling",
    [
        ["-batch_size", "64"],
        ["--batch_size", "64"],
        ["--batch-size", "64"],
        ["-batch-size", "64"],
        ["--batch-size=64"],
        ["-batch_size=64"],
        ["-batch_size", "1", "--batch-size", "64"],
    ],
)
def test_spellings_of_a_number(spelling: list[str]) -> None:
    assert options(*spelling).batch_size == 64


@pytest.mark.parametrize(
    ("spelling", "value"),
    [
        (["-convMM", "false"], False),
        (["-convMM", "true"], True),
        (["-convMM", "True"], True),
        (["-convMM", "FALSE"], False),
        (["--convMM"], True),
        (["--no-convMM"], False),
        (["--no-convmm"], False),
        (["--conv-mm=false"], False),
        (["-convMM", "false", "--cuda"], False),
    ],
)
def test_spellings_of_a_switch(spelling: list[str], value: bool) -> None:
    assert options(*spelling).convMM is value


def test_the_modern_command_line() -> None:
    o = options("--cuda", "--cudnn", "--batch-size", "64")
    assert (o.cuda, o.cudnn, o.batch_size) == (True, True, 64)


@pytest.mark.parametrize(("value", "meaning"), [("true", True), ("false", False), ("auto", None)])
def test_4d_tensor(value: str, meaning: bool | None) -> None:
    assert options("-4d_tensor", value).tensor_4d is meaning
    assert options("--4d-tensor", value).tensor_4d is meaning


def test_names_that_begin_with_no_are_not_negations() -> None:
    with pytest.raises(UserError, match="unknown option --no-batch-size"):
        options("--no-batch-size", "3")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-cuda", "maybe"], "option -cuda: 'maybe' is neither true nor false"),
        (["-batch_size", "0"], "option -batch_size: '0' is not a whole number from 1 up"),
        (["-batch_size", "x"], "option -batch_size: 'x' is not a whole number from 1 up"),
        (["-batch_size", "-3"], "option -batch_size: '-3' is not a whole number from 1 up"),
        (["-batch_size", "٣"], "option -batch_size: '٣' is not a whole number from 1 up"),
        (["-batch_size"], "option -batch_size needs a value (N)"),
        (["--seed", "-1"], "option --seed: '-1' is not a whole number from 0 to 4294967295"),
        (["--seed", "4294967296"], "option --seed: '4294967296' is not a whole number from 0 to 4294967295"),
        (["-threads", "9999999999"], "option -threads: '9999999999' is not a whole number from 1 to 1024"),
        (["-iter", "soon"], "option -iter: 'soon' is neither a whole number from 1 up nor 'auto'"),
        (
            ["--dtype", "int8"],
            "option --dtype: unknown value 'int8'; accepted: float32, float64, bfloat16, float16",
        ),
        (["--no-cuda=true"], "option --no-cuda takes no value"),
        (["--bacth-size", "3"], "unknown option --bacth-size (did you mean --batch-size?); see --help"),
        (["-frobnicate"], "unknown option -frobnicate; see --help"),
        (["64"], "unexpected argument '64'; options start with '-' (see --help)"),
        (["-cuda", "true", "false"], "unexpected argument 'false'; options start with '-' (see --help)"),
    ],
)
def test_bad_input_names_the_option_and_what_is_accepted(arguments: list[str], message: str) -> None:
    with pytest.raises(UserError) as error:
        options(*arguments)
    assert str(error.value) == message


def test_help_names_every_option_with_its_legacy_spelling(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        options("-help")
    assert end.value.code == 0
    text = capsys.readouterr().out
    for legacy in ("-iter", "-x", "-y", "-z", "-relu_inplace", "-convMM", "-cuda", "-sync", "-cudnn"):
        assert f" {legacy} " in text
    once = sys.version_info >= (3, 13)  # how often argparse names the value
    pair = "--batch-size, -batch_size N" if once else "--batch-size N, -batch_size N"
    for modern in (pair, "--4d-tensor", "--legacy-timing", "--relu-inplace"):
        assert modern in text
