"""torch.nn Modules as Torch7 models: read back they compute the same, and have what real Torch7 writes.

That real Torch7 itself runs what from_torch writes was checked with the modules below and five nets when this
was written (docs/models.md).
"""

import io
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from convnet_benchmarks.nets.modules.torch7 import Concat, View
from lua_compat import t7
from lua_compat.conversion import ConversionError, from_torch, to_torch
from lua_compat.conversion.python_source.program import python_source
from lua_compat.torch_modules.tables import CAddTable
from tests.helpers.places import GOLDEN
from tests.helpers.torch_values import tensors_of, value_of

CASES = {
    f"{place}: {case['expr']}": case
    for place, case in enumerate(t7.load(GOLDEN / "models" / "models.t7").array(), 1)
}
# What a forward or backward pass leaves in a module.
SET_BY_RUNNING = {
    "iheight", "iwidth", "itime", "shared", "copiedInput", "loss", "__norm", "dimG", "table", "batchSize"
}  # fmt: skip


def read_back(model: Any) -> Any:
    file = io.BytesIO()
    t7.save(file, model)
    file.seek(0)
    return t7.load(file)


@pytest.mark.parametrize("name", CASES)
def test_what_was_read_from_torch7_is_written_for_it_again(name: str) -> None:
    case = CASES[name]
    module = to_torch(case["module"]).eval()
    again = to_torch(read_back(from_torch(module, dtype=torch.float64)))
    assert not any(part.training for part in again.modules() if not isinstance(part, nn.ModuleList))
    expected = tensors_of(module(value_of(case["input"])))
    got = tensors_of(again(value_of(case["input"])))
    assert len(expected) == len(got)
    for one, other in zip(expected, got, strict=True):
        torch.testing.assert_close(other, one, rtol=1e-12, atol=1e-12)


def same_class(case: Any) -> bool:
    return from_torch(to_torch(case["module"]), dtype=torch.float64).typename == case["module"].typename


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if same_class(case)])
def test_every_setting_that_torch7_writes_is_written(name: str) -> None:
    recorded = CASES[name]["module"]
    written = from_torch(to_torch(recorded), dtype=torch.float64)
    assert written.version == recorded.version
    for key, value in recorded.fields.items():
        if isinstance(value, bool | int | float | str) and key not in SET_BY_RUNNING:
            assert written[key] == value, key
    for key in ("weight", "bias", "gradWeight", "gradBias", "running_mean", "running_var"):
        if isinstance(recorded.get(key), t7.Tensor) and recorded[key].numel():
            assert written[key].typename == recorded[key].typename
            assert written[key].numel() == recorded[key].numel()


TORCH_MODULES = {
    "images": (
        lambda: nn.Sequential(
            nn.Conv2d(3, 4, 3, padding="same"),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(4, 8, 3, 2, 1, groups=4),
            nn.BatchNorm2d(8),
            nn.AdaptiveAvgPool2d(2),
            nn.Flatten(),
            nn.Linear(32, 5),
            nn.LogSoftmax(1),
        ),
        (2, 3, 8, 8),
    ),
    "rows": (
        lambda: nn.Sequential(nn.Linear(4, 4), nn.PReLU(), nn.Dropout(0.2), nn.Softmax(-1)),
        (3, 4),
    ),
    "dilated and transposed": (
        lambda: nn.Sequential(
            nn.Conv2d(3, 4, 3, dilation=2),
            nn.Dropout2d(0.3),
            nn.ConvTranspose2d(4, 3, 3, 2, 1, 1),
            nn.Hardtanh(),
            nn.Upsample(scale_factor=2),
            nn.AvgPool2d(2, ceil_mode=True, padding=1),
            nn.LocalResponseNorm(3),
        ),
        (2, 3, 9, 9),
    ),
    "volumes": (
        lambda: nn.Sequential(
            nn.Conv3d(2, 3, 2, padding=1), nn.BatchNorm3d(3), nn.MaxPool3d(2), nn.ELU(), nn.AvgPool3d(2)
        ),
        (2, 2, 6, 6, 6),
    ),
    "views": (
        lambda: nn.Sequential(nn.Flatten(), nn.Linear(12, 6), nn.Unflatten(1, (2, 3)), nn.Softplus()),
        (2, 3, 4),
    ),
    "resized and padded": (
        lambda: nn.Sequential(
            nn.Upsample(size=(5, 7), mode="bilinear", align_corners=True),
            nn.ReflectionPad2d((1, 2, 0, 1)),
            nn.ZeroPad2d(1),
            nn.AdaptiveMaxPool2d((2, 3)),
            nn.Threshold(0.1, -1),
        ),
        (2, 3, 4, 4),
    ),
    "branches": (
        lambda: nn.Sequential(Concat(-3, nn.Conv2d(3, 2, 1), nn.Conv2d(3, 4, 1)), View(-1, num_input_dims=3)),
        (2, 3, 4, 4),
    ),
}


@pytest.mark.parametrize("name", TORCH_MODULES)
def test_a_module_made_in_pytorch_computes_the_same_when_read_back(name: str) -> None:
    torch.manual_seed(0)
    build, shape = TORCH_MODULES[name]
    module, x = build().eval(), torch.randn(shape)
    model = read_back(from_torch(module))
    assert model["_type"] == "torch.FloatTensor"
    torch.testing.assert_close(to_torch(model)(x), module(x))
    if not any(isinstance(part, nn.Dropout | nn.Dropout2d) for part in module.modules()):
        torch.testing.assert_close(to_torch(read_back(from_torch(module.train())))(x), module(x))


def test_dropped_planes_keep_pytorchs_scale() -> None:
    drop = to_torch(from_torch(nn.Dropout2d(0.25)))
    values = drop(torch.ones(100, 10, 2, 2)).unique()
    torch.testing.assert_close(values, torch.tensor([0, 1 / 0.75]))
    torch.testing.assert_close(drop.eval()(torch.ones(1, 2, 2, 2)), torch.ones(1, 2, 2, 2))


def test_parameters_share_their_memory_with_the_file_that_is_written() -> None:
    layer = nn.Linear(3, 2)
    model = from_torch(layer)
    layer.weight.data.fill_(7)
    assert (model["weight"].numpy() == 7).all()
    assert model["gradWeight"].size == (2, 3)
    assert not model["gradWeight"].numpy().any()


def test_tied_weights_stay_tied() -> None:
    one, other = nn.Linear(3, 3), nn.Linear(3, 3)
    other.weight = one.weight
    model = read_back(from_torch(nn.Sequential(one, nn.Tanh(), other)))
    first, third = model["modules"][1], model["modules"][3]
    assert first["weight"].storage is third["weight"].storage
    assert first["gradWeight"].storage is third["gradWeight"].storage
    assert first["bias"].storage is not third["bias"].storage
    net = to_torch(model)
    assert net[0].weight is net[2].weight


def test_views_of_one_vector_share_its_storage() -> None:
    flat = torch.randn(8)
    layer = nn.Linear(2, 2)
    layer.weight, layer.bias = nn.Parameter(flat[:4].view(2, 2)), nn.Parameter(flat[4:6])
    model = read_back(from_torch(layer))
    assert model["weight"].storage is model["bias"].storage
    assert model["bias"].storage_offset == 5


def test_each_module_keeps_its_mode() -> None:
    net = nn.Sequential(nn.Linear(2, 2), nn.Dropout())
    net[1].eval()
    model = from_torch(net)
    assert (model["train"], model["modules"][1]["train"], model["modules"][2]["train"]) == (True, True, False)


class Subclass(nn.Sequential):
    """As torchvision's blocks: a Sequential with a constructor of its own."""


class OtherForward(nn.Linear):
    def forward(self, input: Tensor) -> Tensor:
        return super().forward(input) * 2


class OtherCall(nn.Tanh):
    def __call__(self, input: Tensor) -> Any:
        return super().__call__(input) * 2


class OtherStep(nn.Conv2d):
    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        return super()._conv_forward(input, weight * 2, bias)


def test_a_subclass_counts_as_its_base_only_with_the_bases_forward() -> None:
    assert from_torch(Subclass(nn.Tanh())).typename == "nn.Sequential"
    with pytest.raises(ConversionError, match="OtherForward: the tensor weight is used outside a layer"):
        from_torch(OtherForward(2, 2))
    with pytest.raises(ConversionError, match="OtherStep: the tensor weight is used outside a layer"):
        from_torch(OtherStep(2, 2, 1))
    with pytest.raises(ConversionError, match="OtherCall has a __call__ of its own"):
        from_torch(OtherCall())


@pytest.mark.parametrize(
    ("module", "message"),
    [
        (
            nn.Sequential(nn.Tanh(), nn.Sequential(nn.LSTM(2, 2))),
            "net.modules[2].modules[1]: LSTM has no counterpart",
        ),
        (nn.Sequential(nn.LazyLinear(2)), "net.0: LazyLinear has no parameters yet; run the net once first"),
        (nn.Conv3d(4, 4, 3, groups=2), "net: Conv3d: 2 groups"),
        (nn.Conv2d(4, 4, 3, padding=1, padding_mode="circular"), "net: Conv2d: padding_mode='circular'"),
        (nn.BatchNorm1d(3, track_running_stats=False), "net: BatchNorm1d: track_running_stats=False"),
        (nn.BatchNorm2d(3, momentum=None), "net: BatchNorm2d: a cumulative average"),
        (nn.Softmax(dim=0), "net: Softmax: dim=0 is not the dimension of nn.SoftMax"),
        (nn.MaxPool2d(2, return_indices=True), "net: MaxPool2d: return_indices"),
        (nn.MaxPool2d(1, 2, ceil_mode=True), "net: MaxPool2d: ceil mode with steps larger"),
        (nn.AvgPool2d(2, divisor_override=3), "net: AvgPool2d: divisor_override=3"),
        (nn.Upsample(scale_factor=1.5), "net: Upsample: only a whole scale_factor"),
        (nn.Upsample(scale_factor=2, mode="bicubic"), "net: Upsample: mode='bicubic'"),
        (nn.LSTM(3, 2), "net: LSTM has no counterpart"),
        ({"a": nn.Linear(2, 2)}, "net: a torch.nn.Module is expected, not dict"),
        (nn.Linear(2, 2, device="meta"), "net: the module is on PyTorch's meta device, without memory"),
        (nn.Linear(2, 2).bfloat16(), "net: Torch7 has no tensors of torch.bfloat16"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_torch7_cannot_express_names_its_place(module: Any, message: str) -> None:
    with pytest.raises(ConversionError) as caught:
        from_torch(module, "net")
    assert str(caught.value).startswith(message)


def test_a_table_layer_gets_tables() -> None:
    model = from_torch(CAddTable())
    assert isinstance(model["gradInput"], t7.LuaTable)
    assert isinstance(model["output"], t7.Tensor)


def _linear(decorate: Any) -> nn.Module:
    layer = decorate(nn.Linear(4, 3))
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.mul_(1.5)  # not yet seen by a pass, which computes the weight
    return nn.Sequential(layer).eval()


@pytest.mark.filterwarnings("ignore:.*weight_norm.*:FutureWarning")
@pytest.mark.parametrize("decorate", [nn.utils.weight_norm, nn.utils.spectral_norm])
def test_weights_that_hooks_compute_are_written_as_a_pass_computes_them(decorate: Any) -> None:
    net, x = _linear(decorate), torch.randn(5, 4)
    written = to_torch(from_torch(net))
    with torch.no_grad():
        torch.testing.assert_close(written(x), net(x))


@pytest.mark.parametrize("kind", ["register_forward_hook", "register_forward_pre_hook"])
@pytest.mark.parametrize("write", [from_torch, lambda net: python_source(net, "net", "net.pt")])
def test_other_forward_hooks_are_refused(kind: str, write: Any) -> None:
    net = nn.Sequential(nn.Linear(4, 3))
    getattr(net[0], kind)(lambda *given: None)
    with pytest.raises(ConversionError, match="0: Linear has a forward hook; remove it first"):
        write(net)


def test_arguments_of_any_number_are_refused() -> None:
    class AnyNumber(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(4, 3)

        def forward(self, *given: Tensor) -> Any:
            return self.layer(given[0])

    with pytest.raises(ConversionError, match=r"its forward takes \*given"):
        from_torch(AnyNumber())
