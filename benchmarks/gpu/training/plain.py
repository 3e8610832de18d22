"""The programs' nets, trained by PyTorch as one writes it today: autograd, torch.optim, no autocast.

Each function trains without end; the meter is told of every evaluation of the loss, as it is under th.
"""

import contextlib
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from benchmarks.gpu.training.meter import Meter
from benchmarks.gpu.training.programs import Size
from convnet_benchmarks.nets import registry
from lua_compat.runtime.cuda import Cuda

DEVICE = "cuda"


class Enough(Exception):
    """The meter has seen enough."""


def _evaluated(meter: Meter, loss: Callable[[], Tensor]) -> Tensor:
    if meter.begins():
        raise Enough
    value = loss()
    meter.gave(value.item())
    return value


def _train_classifier(
    net: nn.Module, meter: Meter, batch: int, size: int, classes: int, momentum: bool
) -> None:
    """The batch is copied to the device in each step and the scores back, as the programs do."""
    net = net.to(DEVICE).train()
    pictures, labels = torch.randn(batch, 3, size, size), torch.randint(classes, (batch,))
    optimizer = torch.optim.SGD(net.parameters(), 0.01, momentum=0.9, weight_decay=1e-4, nesterov=momentum)
    while True:
        x, y = pictures.to(DEVICE), labels.to(DEVICE)

        def loss(x: Tensor = x, y: Tensor = y) -> Tensor:
            scores = net(x)
            value = functional.cross_entropy(scores, y)
            optimizer.zero_grad()
            value.backward()
            scores.detach().cpu()
            return value

        _evaluated(meter, loss)
        optimizer.step()


def _resnet(depth: int) -> Callable[[Meter, Size, bool], None]:
    def train(meter: Meter, size: Size, small: bool) -> None:
        # The program's 3x3 convolutions stride, and none has a bias.
        net = registry.build(registry.NETS["resnet18_v1" if depth == 18 else "resnet50_deepmark"], 1)
        for module in net.modules():
            if isinstance(module, nn.Conv2d):
                module.bias = None
        if small:
            net = nn.Sequential(
                nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.LazyLinear(10)
            )
            net(torch.zeros(2, 3, 32, 32))
        _train_classifier(net, meter, size.batch, 32 if small else 224, 10 if small else 1000, True)

    return train


def _alexnet(meter: Meter, size: Size, small: bool) -> None:
    net = registry.build(registry.NETS["alexnet_owt"], 1)
    _train_classifier(net, meter, size.batch, 224, 1000, False)


def _dcgan(meter: Meter, size: Size, small: bool) -> None:
    generator, discriminator = (
        registry.build(registry.NETS[f"dcgan_{part}"], 1).to(DEVICE).train()
        for part in ("generator", "discriminator")
    )
    batch = 2 * size.batch
    pictures = torch.rand(batch, 3, 64, 64) * 2 - 1
    real, fake = (torch.full((batch, 1), label, device=DEVICE) for label in (1.0, 0.0))
    noise = torch.empty(batch, 100, 1, 1, device=DEVICE)
    of_generator, of_discriminator = (
        torch.optim.Adam(net.parameters(), 2e-4, betas=(0.5, 0.999)) for net in (generator, discriminator)
    )
    kept: list[Tensor] = []

    def loss_of_discriminator() -> Tensor:
        of_discriminator.zero_grad()
        on_real = functional.binary_cross_entropy(discriminator(pictures.to(DEVICE)), real)
        on_real.backward()
        made = generator(noise.normal_())
        on_fake = functional.binary_cross_entropy(discriminator(made.detach()), fake)
        on_fake.backward()
        kept.append(made)
        return on_real + on_fake

    def loss_of_generator() -> Tensor:
        of_generator.zero_grad()
        value = functional.binary_cross_entropy(discriminator(kept.pop()), real)
        value.backward()
        return value

    while True:
        _evaluated(meter, loss_of_discriminator)
        of_discriminator.step()
        _evaluated(meter, loss_of_generator)
        of_generator.step()


class _Cell(nn.Module):
    """One layer of char-rnn's LSTM, for one character."""

    def __init__(self, inputs: int, units: int) -> None:
        super().__init__()
        self.of_input, self.of_state = nn.Linear(inputs, 4 * units), nn.Linear(units, 4 * units)

    def forward(self, x: Tensor, state: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        cell, hidden = state
        enter, forget, leave, new = (self.of_input(x) + self.of_state(hidden)).chunk(4, 1)
        cell = torch.sigmoid(forget) * cell + torch.sigmoid(enter) * torch.tanh(new)
        return cell, torch.sigmoid(leave) * torch.tanh(cell)


def _char_rnn(meter: Meter, size: Size, small: bool) -> None:
    kinds, units, length, batch = (65, 8, 5, 8) if small else (65, 128, 50, 50)
    cells = nn.ModuleList([_Cell(kinds, units), _Cell(units, units)]).to(DEVICE)
    decoder = nn.Linear(units, kinds).to(DEVICE)
    parameters = [*cells.parameters(), *decoder.parameters()]
    optimizer = torch.optim.RMSprop(parameters, 2e-3, alpha=0.95)
    letters = torch.randint(kinds, (length + 1, batch))
    states = [tuple(torch.zeros(batch, units, device=DEVICE) for _ in range(2)) for _ in cells]
    one_hot = torch.eye(kinds, device=DEVICE)
    while True:
        text = letters.to(DEVICE)

        def loss(text: Tensor = text) -> Tensor:
            value = torch.zeros((), device=DEVICE)
            for t in range(length):
                x = one_hot[text[t]]
                for k, cell in enumerate(cells):
                    states[k] = cell(x, states[k])
                    x = states[k][1]
                value = value + functional.nll_loss(functional.log_softmax(decoder(x), 1), text[t + 1])
            value = value / length
            optimizer.zero_grad()
            value.backward()
            torch.nn.utils.clip_grad_value_(parameters, 5)
            states[:] = [tuple(one.detach() for one in state) for state in states]
            return value

        _evaluated(meter, loss)
        optimizer.step()


_STYLE_AFTER = (1, 6, 11, 20, 29)  # ReLUs of VGG-19's features
_CONTENT_AFTER = 22


def _gram(x: Tensor) -> Tensor:
    flat = x[0].flatten(1)
    return flat @ flat.t() / x.numel()


def _neural_style(meter: Meter, size: Size, small: bool) -> None:
    side = 32 if small else 512
    net: Any = registry.build(registry.NETS["vgg19"], 1)
    features = net[0][:30].to(DEVICE).requires_grad_(False)

    def kept(x: Tensor) -> tuple[list[Tensor], Tensor]:
        grams = []
        for place, layer in enumerate(features):
            x = layer(x)
            if place in _STYLE_AFTER:
                grams.append(_gram(x))
            if place == _CONTENT_AFTER:
                content = x
        return grams, content

    with torch.no_grad():
        styles, _ = kept(torch.rand(1, 3, side, side, device=DEVICE) * 256)
        _, contents = kept(torch.rand(1, 3, side, side, device=DEVICE) * 256)
    picture = (torch.randn(1, 3, side, side, device=DEVICE) * 0.001).requires_grad_()
    optimizer = torch.optim.LBFGS([picture], 1, 1000, 2000, -1, -1, 100)

    def loss() -> Tensor:
        optimizer.zero_grad()
        grams, content = kept(picture)
        value = 5 * functional.mse_loss(content, contents)
        for gram, style in zip(grams, styles, strict=True):
            value = value + 100 * functional.mse_loss(gram, style)
        across, down = picture.diff(dim=3), picture.diff(dim=2)
        value = value + 1e-3 * (across.square().sum() + down.square().sum()) / 2
        value.backward()
        return value

    while True:
        optimizer.step(lambda: _evaluated(meter, loss))


_TRAIN: dict[str, Callable[[Meter, Size, bool], None]] = {
    "fb.resnet.torch, ResNet-18": _resnet(18),
    "fb.resnet.torch, ResNet-50": _resnet(50),
    "imagenet-multiGPU.torch": _alexnet,
    "dcgan.torch": _dcgan,
    "char-rnn": _char_rnn,
    "neural-style": _neural_style,
}


def train(name: str, meter: Meter, size: Size, small: bool) -> None:
    """Trains until the meter has seen enough. In float32 without TF32, cuDNN's kernels timed, as th does."""
    cuda = Cuda(DEVICE)  # turns TF32 off
    cuda.cudnn_benchmark(name not in ("imagenet-multiGPU.torch", "neural-style"))  # those do not ask for it
    with contextlib.suppress(Enough):
        _TRAIN[name](meter, size, small)
