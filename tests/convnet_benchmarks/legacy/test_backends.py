"""Which kernels the switches select, and that the framework's own switches are put back."""

from contextlib import AbstractContextManager
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from convnet_benchmarks.commands import benchmark
from convnet_benchmarks.errors import UserError
from convnet_benchmarks.legacy import backends
from convnet_benchmarks.legacy.options import BenchmarkOptions, parse
from convnet_benchmarks.nets import engine, registry
from convnet_benchmarks.nets.cudnn import MOST_TRIED, MOST_TRIED_THOROUGHLY
from convnet_benchmarks.nets.phases import AutogradPhases
from convnet_benchmarks.workload.backends import BACKENDS, LEGACY_BACKENDS, Backend
from convnet_benchmarks.workload.kernels import Opened, open_training, recorded_kernels


def chosen(*arguments: str) -> Backend:
    return backends.choose(parse(BenchmarkOptions, arguments, "", ""))


def opened(module: nn.Module, *arguments: str) -> AbstractContextManager[Opened]:
    """The kernels that a command line opens for ``module``; what the engine cannot run autograd does."""
    dtype = next(module.parameters()).dtype
    input, device = torch.randn(4, 16, 12, 12, dtype=dtype), torch.device("cpu")
    return open_training(chosen(*arguments), module, input, device, autograd_instead=True)


@pytest.mark.parametrize(
    ("net", "name"),
    [("overfeat_accurate", "mm"), ("googlenet", "mm"), ("resnet50_v1", "stock"), ("mine.py:net", "stock")],
)
def test_nets_that_are_not_the_originals_run_on_pytorchs_own_kernels(net: str, name: str) -> None:
    assert chosen("--net", net).name == chosen("--net", net, "--cuda").name == name
    for words, wanted in (("-convMM true", "mm"), ("-convMM false", "direct"), ("--backend auto", "auto")):
        assert chosen("--net", net, *words.split()).name == wanted
    assert chosen("--net", net, "--cuda", "--cudnn").name == "cudnn"


def test_the_original_nets_are_those_of_the_lua_benchmarks() -> None:
    originals = {name for name, net in registry.NETS.items() if net.original}
    assert originals == {"overfeat_accurate", "overfeat_fast", "alexnet_owt", "vgg_a", "googlenet"}


def test_thorough_tuning_has_cudnn_try_more_kernels() -> None:
    tries = [chosen("--cuda", "--cudnn", *words).cudnn_tries for words in ((), ("--tuning", "thorough"))]
    assert tries == [MOST_TRIED, MOST_TRIED_THOROUGHLY]


@pytest.mark.parametrize(
    ("arguments", "name", "convolution"),
    [
        ([], "mm", "nn.SpatialConvolutionMM"),
        (["-convMM", "false"], "direct", "nn.SpatialConvolution"),
        (["-cuda", "true", "-cudnn", "true"], "cudnn", "cudnn.SpatialConvolution"),
        (["-cuda", "true", "-convMM", "false", "-cudnn", "true"], "cudnn", "cudnn.SpatialConvolution"),
        (["-cuda", "true", "-cudnn", "true", "-ccn2", "true"], "ccn2", "ccn2.SpatialConvolution"),
    ],
)
def test_switches_select_as_the_original_did(arguments: list[str], name: str, convolution: str) -> None:
    backend = chosen(*arguments)
    assert backend.name == name
    assert backends.class_names(backend, False).convolution == convolution


def test_relu_cudnn_changes_the_relus_class() -> None:
    backend = chosen("-cuda", "true", "-cudnn", "true")
    assert backends.class_names(backend, True).relu == "cudnn.ReLU"
    assert backends.class_names(backend, False).relu == "nn.ReLU"


class Half(nn.Module):
    """In a number format that the CPU engine does not have."""

    def __init__(self) -> None:
        super().__init__()
        self.convolution = nn.Conv2d(16, 16, 3).half()

    def forward(self, x: Tensor) -> Tensor:
        return self.convolution(x / 2)


@pytest.mark.parametrize(("arguments", "onednn"), [([], False), (["-convMM", "false"], True)])
def test_where_the_engine_cannot_the_same_kernels_run_in_autograd(arguments: list[str], onednn: bool) -> None:
    net = Half()
    with opened(net, *arguments) as found, recorded_kernels(net) as counts:
        assert isinstance(found.phases, AutogradPhases) and "the CPU engine cannot" in found.note
        found.phases.updateOutput(torch.randn(4, 16, 12, 12).half())
        assert torch._C._get_mkldnn_enabled() is onednn
    assert sum(counts.values()) == 1
    assert not net.convolution._forward_pre_hooks


def test_a_forced_backend_is_not_replaced(capsys: pytest.CaptureFixture[str]) -> None:
    assert benchmark.command(["--net", "recognize_digits", "--dtype", "float16", "--backend", "mm"]) == 2
    assert "option --backend mm: the CPU engine cannot run this net" in capsys.readouterr().err


def test_the_frameworks_switches_are_put_back_after_an_error() -> None:
    def state() -> tuple[Any, ...]:
        return (
            torch.backends.cuda.matmul.allow_tf32,
            torch.backends.cudnn.enabled,
            torch._C._get_mkldnn_enabled(),
        )

    before = state()
    with pytest.raises(KeyError), opened(Half(), "--tf32"):
        assert state() != before
        raise KeyError
    assert state() == before


@pytest.mark.parametrize(
    ("net", "shape", "message"),
    [
        ("alexnet_owt", (16, 3, 224, 224), "multiple of 32 samples"),
        ("alexnet_owt", (3, 224, 224), "multiple of 32 samples"),
        ("alexnet_owt", (32, 3, 224, 230), "square inputs"),
        ("overfeat_accurate", (32, 3, 221, 221), "4096 -> 1000.*multiple of 16 output planes"),
    ],
)
def test_ccn2s_constraints(net: str, shape: tuple[int, ...], message: str) -> None:
    with pytest.raises(UserError, match=message):
        backends.check_ccn2(registry.on_meta(registry.find(net)), shape)


def test_backend_names_have_one_home() -> None:
    """Those of the engine, and so of --backend, are the names that convnet_benchmarks lists."""
    from_engine = {name for name, backend in BACKENDS.items() if backend.engine == name}
    assert from_engine | {"stock"} == set(engine.BACKENDS) == set(LEGACY_BACKENDS)
    assert chosen("-cuda", "true") is not BACKENDS["mm"] and chosen("-cuda", "true").devices == ("cuda",)


def test_ccn2_accepts_what_it_could_run() -> None:
    backends.check_ccn2(registry.on_meta(registry.find("alexnet_owt")), (64, 3, 224, 224))
