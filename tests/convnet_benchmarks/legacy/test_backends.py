"""Which kernels the switches select, and that the framework's own switches are put back."""

import pytest
import torch
from torch import nn

from convnet_benchmarks.errors import UserError
from convnet_benchmarks.legacy import backends
from convnet_benchmarks.legacy.options import BenchmarkOptions, parse
from nets import registry
from nets.phases import AutogradPhases


def chosen(*arguments):
    return backends.choose(parse(BenchmarkOptions, arguments, "", ""))


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
    assert backend.class_names(False).convolution == convolution


def test_relu_cudnn_changes_the_relus_class() -> None:
    backend = chosen("-cuda", "true", "-cudnn", "true")
    assert backend.class_names(True).relu == "cudnn.ReLU"
    assert backend.class_names(False).relu == "nn.ReLU"


class Half(nn.Module):
    """Not to be traced: what it does depends on the numbers in its input."""

    def __init__(self) -> None:
        super().__init__()
        self.convolution = nn.Conv2d(16, 16, 3)

    def forward(self, x):
        return self.convolution(x / 2 if x.sum() > 0 else x)


@pytest.mark.parametrize(("arguments", "kernel"), [([], "Slow2d"), (["-convMM", "false"], "Mkldnn")])
def test_where_the_engine_cannot_the_same_kernels_run_in_autograd(arguments: list[str], kernel: str) -> None:
    net, shape = Half(), (4, 16, 12, 12)
    with (
        backends.open_phases(chosen(*arguments), net, shape, torch.float32, False) as opened,
        backends.recorded_kernels(net) as counts,
    ):
        assert isinstance(opened.phases, AutogradPhases) and "the CPU engine cannot" in opened.note
        opened.phases.updateOutput(torch.randn(shape))
    assert counts == {kernel: 1}
    assert not net.convolution._forward_pre_hooks


def test_a_forced_backend_is_not_replaced() -> None:
    forced = chosen("--backend", "mm")
    with (
        pytest.raises(UserError, match="option --backend mm"),
        backends.open_phases(forced, Half(), (4, 16, 12, 12), torch.float32, False),
    ):
        pass


def test_the_frameworks_switches_are_put_back_after_an_error() -> None:
    def state():
        return (
            torch.backends.cuda.matmul.allow_tf32,
            torch.backends.cudnn.enabled,
            torch._C._get_mkldnn_enabled(),
        )

    before = state()
    with (
        pytest.raises(KeyError),
        backends.open_phases(chosen(), Half(), (4, 16, 12, 12), torch.float32, True),
    ):
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


def test_ccn2_accepts_what_it_could_run() -> None:
    backends.check_ccn2(registry.on_meta(registry.find("alexnet_owt")), (64, 3, 224, 224))
