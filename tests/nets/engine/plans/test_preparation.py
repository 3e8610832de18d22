"""Nets that are no list of the engine's operations: parts on the engine, the rest on PyTorch."""

import random
import weakref
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils._pytree import tree_flatten, tree_map

from convnet_benchmarks.nets.engine import CompileError, EnginePhases, MixedPhases, Options, prepare
from convnet_benchmarks.nets.phases import AutogradPhases, Phases


class Attention(nn.Module):
    def __init__(self, width: int, heads: int = 2) -> None:
        super().__init__()
        self.heads = heads
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        batch, steps, width = x.shape
        q, k, v = self.qkv(x).view(batch, steps, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        bias = None if mask is None else mask[:, None, None, :].to(x.dtype) * -10
        mixed = F.scaled_dot_product_attention(q, k, v, bias)
        return self.out(mixed.transpose(1, 2).reshape(batch, steps, width))


class Block(nn.Module):
    """A transformer's."""

    def __init__(self, width: int, activation: nn.Module) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width)
        self.feed = nn.Sequential(nn.Linear(width, 2 * width), activation, nn.Linear(2 * width, width))

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        x = x + self.attention(self.norm1(x), mask)
        return x + self.feed(self.norm2(x))


class Bert(nn.Module):
    """Ids and a mask, in a dict or one after the other."""

    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(20, width), nn.Embedding(5, width)
        self.blocks = nn.ModuleList(Block(width, nn.GELU()) for _ in range(2))
        self.head = nn.Linear(width, 3)

    def forward(self, inputs: Any) -> dict[str, Tensor]:
        ids, mask = (inputs["ids"], inputs["mask"]) if isinstance(inputs, dict) else inputs
        x = self.words(ids) + self.places(torch.arange(ids.shape[1]))
        for block in self.blocks:
            x = block(x, mask)
        return {"scores": self.head(x), "first": x[:, 0].tanh()}


class Detector(nn.Module):
    """Several outputs, at several sizes, from an image and numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(3, 6, 3, padding=1), nn.BatchNorm2d(6), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 8, 3)
        )
        self.smaller = nn.Sequential(nn.Conv2d(8, 8, 3, stride=2), nn.SiLU())
        self.boxes = nn.Conv2d(8, 4, 3, padding=1)
        self.numbers = nn.Linear(5, 8)

    def forward(self, inputs: tuple[Tensor, Tensor]) -> tuple[Tensor, list[Tensor]]:
        image, numbers = inputs
        large = self.body(image) * self.numbers(numbers).sigmoid()[:, :, None, None]
        small = self.smaller(large)
        return self.boxes(large), [self.boxes(small), small.amax((2, 3))]


class Branches(nn.Module):
    """Depends on the data."""

    def __init__(self) -> None:
        super().__init__()
        self.one, self.other = nn.Linear(6, 6), nn.Linear(6, 6)
        self.out = nn.Linear(6, 2)

    def forward(self, x: Tensor) -> Tensor:
        x = self.one(x)
        return self.out(self.other(x) if x.sum() > 0 else self.one(x.tanh()))


class Overwrites(nn.Module):
    """Changes what its layers give."""

    def __init__(self) -> None:
        super().__init__()
        self.one, self.two = nn.Linear(6, 6), nn.Sequential(nn.Linear(6, 9), nn.ReLU(), nn.Linear(9, 6))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        x = F.relu_(self.one(x))
        y = self.two(x)
        y += 1
        return x.sin(), y


class Graph(nn.Module):
    """Two layers along the edges of a graph, a sparse matrix."""

    edges: Tensor

    def __init__(self) -> None:
        super().__init__()
        edges = torch.tensor([[0.0, 2.0, 0.0], [0.0, 0.0, 1.0], [3.0, 0.0, 1.0]]).double().to_sparse()
        self.register_buffer("edges", edges)
        self.one, self.two = nn.Linear(6, 8), nn.Linear(8, 2)

    def forward(self, x: Tensor) -> Tensor:
        return torch.sparse.mm(self.edges, self.two(F.relu(torch.sparse.mm(self.edges, self.one(x)))))


class Force(nn.Module):
    """The gradient of an energy, as nets for physics give it: training differentiates it once more."""

    def __init__(self) -> None:
        super().__init__()
        self.one, self.norm, self.two = nn.Linear(6, 8), nn.LayerNorm(8), nn.Linear(8, 1)
        self.calls = 0

    def forward(self, x: Tensor) -> Tensor:
        self.calls += 1
        with torch.enable_grad():
            x = x if x.requires_grad else x.detach().requires_grad_()
            energy = self.two(torch.tanh(self.norm(self.one(x)))).sum()
            (force,) = torch.autograd.grad(energy, x, create_graph=True)
        return force * self.calls


IDS = {"ids": torch.tensor([[1, 2, 3, 19], [0, 5, 5, 7]]), "mask": torch.tensor([[0, 0, 1, 1], [0, 0, 0, 1]])}
NETS: dict[str, tuple[nn.Module, Any]] = {
    "a dict of ids and mask": (Bert(), IDS),
    "a tuple of ids and mask": (Bert(), tuple(IDS.values())),
    "images and numbers": (Detector(), (torch.rand(2, 3, 12, 12), torch.rand(2, 5))),
    "data decides": (Branches(), torch.rand(3, 6)),
    "what is overwritten": (Overwrites(), torch.rand(3, 6)),
    "sequences": (nn.Sequential(Block(8, nn.SiLU()), nn.Linear(8, 4), nn.ReLU()), torch.rand(2, 5, 8)),
    "PyTorch's own transformer": (
        nn.TransformerEncoderLayer(8, 2, 16, 0.0, batch_first=True),
        torch.rand(2, 5, 8),
    ),
    "an LSTM": (nn.Sequential(nn.Linear(4, 6), nn.LSTM(6, 5, batch_first=True)), torch.rand(2, 3, 4)),
    "a volume": (
        nn.Sequential(nn.Conv3d(2, 3, 2), nn.Flatten(), nn.Linear(24, 4)),
        torch.rand(2, 2, 3, 3, 3),
    ),
    "ids": (
        nn.Sequential(nn.Embedding(9, 6), nn.Linear(6, 4), nn.GELU(), nn.Linear(4, 2)),
        torch.tensor([[1, 8]]),
    ),
}


def in_double(input: Any) -> Any:
    return tree_map(lambda leaf: leaf.double() if leaf.is_floating_point() else leaf, input)


def ran(phases: Phases, module: nn.Module, input: Any, seed: int) -> list[Tensor]:
    """Returns outputs, gradients of the inputs, and those of the parameters, of two passes."""
    found: list[Tensor] = []
    generator = torch.Generator().manual_seed(seed)
    for _ in range(2):
        phases.zeroGradParameters()
        output = phases.updateOutput(input)
        found += [leaf.clone() for leaf in tree_flatten(output)[0]]
        given = tree_map(lambda leaf: torch.randn(leaf.shape, generator=generator, dtype=leaf.dtype), output)
        found += [leaf.clone() for leaf in tree_flatten(phases.updateGradInput(input, given))[0]]
        assert not any(p.grad is not None and p.grad.any() for p in module.parameters())
        phases.accGradParameters(input, given)
        found += [torch.zeros(0) if p.grad is None else p.grad.clone() for p in module.parameters()]
    return found


def check(module: nn.Module, input: Any, backend: str = "mm", seed: int = 0) -> EnginePhases | MixedPhases:
    module, input = module.double(), in_double(input)
    for parameter in module.parameters():
        parameter.grad = None
    buffers = [buffer.clone() for buffer in module.buffers()]
    with prepare(module, input, backend=backend) as phases:
        for buffer, before in zip(module.buffers(), buffers, strict=True):
            assert torch.equal(buffer, before)
        assert all(parameter.grad is None for parameter in module.parameters())
        got = ran(phases, module, input, seed)
    for buffer, before in zip(module.buffers(), buffers, strict=True):
        buffer.copy_(before)
    assert not any("forward" in vars(part) for part in module.modules())
    with AutogradPhases(module) as stock:
        expected = ran(stock, module, input, seed)
    for have, want in zip(got, expected, strict=True):
        torch.testing.assert_close(have, want)
    return phases


@pytest.mark.parametrize("backend", ["mm", "direct", "stock"])
@pytest.mark.parametrize("name", NETS)
def test_the_phases_are_autograds(name: str, backend: str) -> None:
    torch.manual_seed(0)
    check(*NETS[name], backend)


def algorithms(phases: EnginePhases | MixedPhases) -> dict[str, set[str]]:
    return {
        layer.name: {one.partition("(")[0] for one in layer.algorithms.values()}
        for layer in phases.report().layers
    }


def test_the_report_says_which_layers_ran_where() -> None:
    module, input = NETS["a dict of ids and mask"]
    with prepare(module.double(), input, backend="mm") as phases:
        report = phases.report()
    found = algorithms(phases)
    assert found["words"] == found["blocks.0.norm1"] == found["blocks.1.feed.1"] == {"stock"}
    assert found["blocks.0.attention.qkv"] == found["blocks.1.feed.2"] == found["head"] == {"mm"}
    assert report.note == "PyTorch's autograd joins the engine's layers: it takes several inputs"
    module, input = NETS["images and numbers"]
    with prepare(module.double(), in_double(input), backend="mm") as phases:
        assert {"body.0", "body.3", "smaller.0", "smaller.1", "boxes", "numbers"} < set(algorithms(phases))


def test_what_cannot_be_traced_is_told_in_one_line() -> None:
    with prepare(Branches().double(), torch.rand(3, 6).double(), backend="mm") as phases:
        (note,) = phases.report().note.splitlines()
    assert "Branches: its forward cannot be traced" in note and note.endswith("control flow)")


def by_autograd(net: nn.Module, input: Tensor) -> list[Tensor]:
    """Returns output, the input's gradient and the parameters', the output being its own gradient."""
    leaf = input.clone().requires_grad_()
    output = net(leaf)
    return [output, *torch.autograd.grad(output, [leaf, *net.parameters()], output, allow_unused=True)]


def by_phases(phases: Phases, net: nn.Module, input: Tensor) -> list[Tensor | None]:
    for parameter in net.parameters():
        parameter.grad = None
    output = phases.updateOutput(input).clone()
    gradient = phases.updateGradInput(input, output)
    phases.accGradParameters(input, output)
    return [output, gradient, *(parameter.grad for parameter in net.parameters())]


@pytest.mark.parametrize("backend", ["mm", "auto"])
def test_a_sparse_buffer(backend: str) -> None:
    torch.manual_seed(0)
    net, input = Graph().double(), torch.randn(3, 6).double()
    wanted = by_autograd(net, input)
    with prepare(net, input, backend=backend) as phases:
        torch.testing.assert_close(by_phases(phases, net, input), wanted)


@pytest.mark.parametrize("backend", ["mm", "auto", None])
def test_a_forward_that_computes_gradients(backend: str | None) -> None:
    torch.manual_seed(0)
    net, input = Force().double(), torch.randn(3, 6).double()
    wanted = by_autograd(net, input)
    net.calls = 0
    with AutogradPhases(net) if backend is None else prepare(net, input, backend=backend) as phases:
        assert net.calls == 0
        torch.testing.assert_close(by_phases(phases, net, input), wanted)
        assert net.calls == 1


class Borrowed(nn.Module):
    """Runs one net with parameters of its own, and with those that another net computes."""

    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.LayerNorm(4))
        self.own = nn.ParameterList(torch.rand_like(one) for one in self.net.parameters())
        self.maker = nn.Linear(4, 16)

    def forward(self, x: Tensor) -> Tensor:
        names = [name for name, _ in self.net.named_parameters()]
        x = torch.func.functional_call(self.net, dict(zip(names, self.own, strict=True)), (self.net(x),))
        weight = self.maker(x.mean(0)).view(4, 4)
        return x + torch.func.functional_call(self.net, {names[0]: weight, names[2]: weight[0]}, (x,))


@pytest.mark.parametrize("backend", ["mm", "auto", None])
def test_layers_with_the_parameters_of_others(backend: str | None) -> None:
    torch.manual_seed(0)
    net, input = Borrowed().double(), torch.randn(3, 4).double()
    wanted = by_autograd(net, input)
    with AutogradPhases(net) if backend is None else prepare(net, input, backend=backend) as phases:
        for _ in range(2):
            torch.testing.assert_close(by_phases(phases, net, input), wanted)


class Cast(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv, self.body, self.head = nn.Conv1d(1, 2, 3), nn.Linear(4, 6), nn.Linear(12, 2)

    def forward(self, x: Tensor) -> Tensor:
        with torch.autocast("cpu", torch.bfloat16):
            x = self.body(self.conv(x[:, None]))
        return self.head(x.float().flatten(1))


@pytest.mark.parametrize("backend", ["mm", "auto", None])
def test_autocast_within_a_forward(backend: str | None) -> None:
    torch.manual_seed(0)
    net, input = Cast(), torch.randn(3, 6)
    wanted = by_autograd(net, input)
    with AutogradPhases(net) if backend is None else prepare(net, input, backend=backend) as phases:
        torch.testing.assert_close(by_phases(phases, net, input), wanted)


class Hidden(nn.Module):
    """Keeps a layer in a plain list, as beginners do."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.others = nn.Linear(6, 6), [nn.Linear(6, 6).double()]

    def forward(self, x: Tensor) -> Tensor:
        return self.others[0](self.first(x))


def test_layers_in_a_plain_list() -> None:
    phases = check(Hidden(), torch.rand(3, 6), "mm")
    assert algorithms(phases) == {"first": {"mm"}}


def test_a_list_of_operations_gets_a_plan() -> None:
    module = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU()).double()
    assert isinstance(prepare(module, torch.rand(2, 3, 6, 6).double(), backend="mm"), EnginePhases)


def test_what_does_not_run_is_refused() -> None:
    with pytest.raises(CompileError, match="Given groups=1"):
        prepare(nn.Sequential(nn.Conv2d(4, 3, 1)), torch.rand(2, 3, 5, 5), backend="mm")
    with pytest.raises(CompileError, match="takes several inputs"):
        prepare(nn.Linear(3, 2), (torch.rand(2, 3), torch.rand(2, 3)), backend="mm")
    with pytest.raises(ValueError, match="unknown backend"):
        prepare(nn.Linear(3, 2), torch.rand(2, 3), backend="fast")


class Complex(nn.Module):
    """Complex layers, and a real one after them."""

    def __init__(self) -> None:
        super().__init__()
        self.rows = nn.Linear(6, 6, dtype=torch.complex128)
        self.waves = nn.Conv1d(1, 2, 3, dtype=torch.complex128)
        self.head = nn.Linear(8, 2, dtype=torch.float64)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.waves(self.rows(x)[:, None]).abs().flatten(1))


def test_complex_numbers_run_on_pytorch() -> None:
    torch.manual_seed(0)
    net, input = Complex(), torch.randn(3, 6, dtype=torch.complex128)
    with prepare(net, input, backend="auto") as phases:
        output = phases.updateOutput(input)
        found = phases.updateGradInput(input, output)
        phases.accGradParameters(input, output)
        assert phases.report().note == (
            "PyTorch's autograd runs it all: it computes with complex numbers, "
            "for which the engine has no layers"
        )
    leaf = input.clone().requires_grad_()
    wanted = torch.autograd.grad(net(leaf), [leaf, *net.parameters()], output)
    torch.testing.assert_close((found, *(one.grad for one in net.parameters())), wanted)


def test_parameters_of_other_number_types_run_on_pytorch() -> None:
    net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.Flatten(), nn.Linear(64, 2)).double()
    net[2].float().register_forward_pre_hook(lambda layer, inputs: inputs[0].float())
    with prepare(net, torch.rand(2, 3, 6, 6).double(), backend="mm") as phases:
        assert algorithms(phases) == {"0": {"mm"}, "1": {"stock"}, "2": {"stock"}}
        assert phases.report().note.endswith(
            "joins the engine's layers: 2.weight: a parameter of "
            "torch.float32; a plan in torch.float64 needs torch.float64"
        )


@pytest.mark.parametrize("faster", ["the engine", "PyTorch"])
def test_auto_takes_what_is_faster_and_says_so(faster: str, monkeypatch: pytest.MonkeyPatch) -> None:
    times = [1.0, 2.0] if faster == "the engine" else [2.0, 1.0]
    monkeypatch.setattr("convnet_benchmarks.nets.engine.preparation._times", lambda *_: times)
    phases = check(*NETS["a dict of ids and mask"], "auto")
    stock = all(found == {"stock"} for found in algorithms(phases).values())
    assert stock == (faster == "PyTorch")
    note = phases.report().note
    assert note.startswith("PyTorch alone runs it, in 0.50 of the time") == (faster == "PyTorch")


@pytest.mark.parametrize("faster", ["the engine", "PyTorch"])
def test_auto_weighs_plans_with_layers_of_pytorchs(faster: str, monkeypatch: pytest.MonkeyPatch) -> None:
    times = [1.0, 2.0] if faster == "the engine" else [2.0, 1.0]
    monkeypatch.setattr("convnet_benchmarks.nets.engine.preparation._times", lambda *_: times)
    module = nn.Sequential(nn.Conv2d(3, 4, 1), nn.GELU(), nn.Conv2d(4, 2, 1))
    phases = check(module, torch.rand(2, 3, 8, 8), "auto")
    assert isinstance(phases, EnginePhases) == (faster == "the engine")


class Overwriting(nn.Module):
    """What ``layer`` reads, a ReLU overwrites afterwards, if in place. ``joined``: traced as a whole."""

    def __init__(self, layer: nn.Module, joined: bool) -> None:
        super().__init__()
        self.first, self.layer, self.relu, self.joined = nn.Conv2d(2, 3, 1), layer, nn.ReLU(), joined

    def forward(self, x: Tensor) -> Tensor:
        y = self.first(x)
        read, rest = self.layer(y), self.relu(y)
        if not self.joined and read.sum() > 1e9:  # cannot be traced
            return read
        return (read + rest).flatten(1).sum(1, keepdim=True)


@pytest.mark.parametrize("backend", ["mm", "auto"])
@pytest.mark.parametrize("joined", [True, False])
def test_gradients_are_those_of_what_a_layer_read(joined: bool, backend: str) -> None:
    torch.manual_seed(0)
    layer = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.Conv2d(4, 3, 1))
    module, input = Overwriting(layer, joined).double(), torch.randn(2, 2, 5, 5).double()
    with AutogradPhases(module) as stock:
        expected = ran(stock, module, input, 0)
    module.relu.inplace = True
    with pytest.raises(RuntimeError, match="modified by an inplace operation"), AutogradPhases(module) as one:
        ran(one, module, input, 0)
    for parameter in module.parameters():
        parameter.grad = None
    with prepare(module, input, backend=backend, tuning="quick") as phases:
        for have, want in zip(ran(phases, module, input, 0), expected, strict=True):
            torch.testing.assert_close(have, want)


def test_timing_leaves_no_trace() -> None:
    module, input = Detector().double(), in_double(NETS["images and numbers"][1])
    module.boxes.weight.grad = before = torch.ones_like(module.boxes.weight)
    buffers, state = [buffer.clone() for buffer in module.buffers()], torch.get_rng_state()
    with prepare(module, input, backend="auto"):
        assert module.boxes.weight.grad is before and before.eq(1).all()
        assert module.numbers.weight.grad is None and torch.equal(torch.get_rng_state(), state)
        for buffer, kept in zip(module.buffers(), buffers, strict=True):
            assert torch.equal(buffer, kept)


def test_inference_of_several_inputs() -> None:
    module, input = NETS["a dict of ids and mask"]
    module = module.double().eval()
    with prepare(module, input, backend="mm", inference=True) as phases:
        for _ in range(3):
            found = phases.updateOutput(input)
            with torch.no_grad():
                expected = module(input)
            torch.testing.assert_close(found, expected)
        assert "mm" in {one for names in algorithms(phases).values() for one in names}


@pytest.mark.parametrize("inference", [False, True])
def test_a_forward_that_changes_the_mode(inference: bool) -> None:
    """As of Monte Carlo dropout; random numbers are PyTorch's then."""

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear, self.dropout = nn.Sequential(nn.Linear(8, 8), nn.ReLU()), nn.Dropout()

        def forward(self, x: Tensor) -> Tensor:
            self.dropout.train()
            self.linear.eval()
            return self.dropout(self.linear(x))

    net, x = Net().train(not inference), torch.randn(3, 8)
    torch.manual_seed(1)
    expected = net(x).detach()
    net.train(not inference)
    with prepare(net, x, backend="auto", inference=inference) as phases:
        for _ in range(2):
            torch.manual_seed(1)
            torch.testing.assert_close(phases.updateOutput(x), expected)


class DifferentiatesItself(nn.Module):
    """With a penalty on its gradient."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Sequential(nn.Linear(8, 8), nn.Tanh()), nn.Linear(8, 1)

    def forward(self, x: Tensor) -> Tensor:
        with torch.enable_grad():
            x = x.detach().requires_grad_()
            y = self.second(self.first(x))
            (gradient,) = torch.autograd.grad(y.sum(), x, create_graph=True)
        return y + gradient.square().sum(1, keepdim=True)


def test_inference_of_a_forward_that_differentiates_itself() -> None:
    net, x = DifferentiatesItself().eval(), torch.randn(3, 8)
    with prepare(net, x, backend="mm", inference=True) as phases:
        for _ in range(2):
            torch.testing.assert_close(phases.updateOutput(x), net(x))


def test_inference_keeps_nothing_of_what_runs_with_gradients() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(8, 8)

        def forward(self, x: Tensor) -> Any:
            with torch.enable_grad():
                return {"y": self.linear(x)}

    net, x = Net().eval(), torch.randn(3, 8)
    with prepare(net, x, backend="mm", inference=True) as phases:
        for _ in range(5):
            output = weakref.ref(phases.updateOutput(x)["y"])
        phases.updateOutput(x)
        assert output() is None


def test_the_mode_is_fixed() -> None:
    module, input = Branches().double(), torch.rand(3, 6).double()
    with prepare(module, input, backend="mm") as phases:
        module.eval()
        with pytest.raises(RuntimeError, match="compile it again"):
            phases.updateOutput(input)


class Random(nn.Module):
    """A net of known and unknown operations on rows, images and sequences, drawn anew for each seed."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        rng = random.Random(seed)
        torch.manual_seed(seed)
        self.images = nn.ModuleList(self._image(rng) for _ in range(rng.randint(1, 4)))
        self.words = nn.Embedding(7, 6)
        self.rows = nn.ModuleList(self._row(rng) for _ in range(rng.randint(1, 5)))
        self.uses = [rng.randrange(len(self.rows)) for _ in range(rng.randint(1, 6))]
        self.lstm = nn.LSTM(6, 6, batch_first=True) if rng.random() < 0.3 else None
        self.scale = nn.Parameter(torch.rand(6)) if rng.random() < 0.5 else None
        self.residual = rng.random() < 0.5
        self.as_dict = rng.random() < 0.5
        self.tied = nn.Linear(6, 7, bias=False) if rng.random() < 0.4 else None
        if self.tied is not None:
            self.tied.weight = self.words.weight
        for parameter in self.parameters():
            parameter.requires_grad_(rng.random() < 0.85)
        if rng.random() < 0.2:
            hooked = rng.choice([*self.images, *self.rows])
            hooked.register_forward_hook(lambda module, inputs, output: output * 2)

    @staticmethod
    def _image(rng: random.Random) -> nn.Module:
        kernel = rng.choice([1, 3])
        layers: list[nn.Module] = [nn.Conv2d(6, 6, kernel, padding=kernel // 2)]
        layers += [nn.ReLU(inplace=True)] if rng.random() < 0.3 else []
        more = [
            nn.BatchNorm2d(6),
            nn.ReLU(),
            nn.GELU(),
            nn.Hardswish(),
            nn.GroupNorm(2, 6),
            nn.Tanh(),
        ]
        more += [nn.AvgPool2d(3, 1, 1), nn.Conv2d(6, 6, 3, padding=1, groups=6)]
        return nn.Sequential(*layers, *rng.sample(more, rng.randint(0, 3)))

    @staticmethod
    def _row(rng: random.Random) -> nn.Module:
        kinds: list[Any] = [
            lambda: nn.Linear(6, 6), lambda: nn.Sequential(nn.Linear(6, 9), nn.ReLU(), nn.Linear(9, 6)),
            lambda: nn.LayerNorm(6), nn.GELU, nn.SiLU, lambda: Block(6, nn.ReLU(inplace=True)),
            lambda: nn.Sequential(nn.Linear(6, 6), nn.Mish()), lambda: nn.ReLU(inplace=True),
        ]  # fmt: skip
        made: nn.Module = rng.choice(kinds)()
        return made

    def forward(self, inputs: Any) -> Any:
        image, ids = inputs.values() if isinstance(inputs, dict) else inputs
        for part in self.images:
            image = image + part(image.clone()) if self.residual else part(image.clone())
        x = image.flatten(2).mT + self.words(ids)
        for place in self.uses:
            x = self.rows[place](x.clone()) + (x if self.residual else 0)
        if self.lstm is not None:
            x, _ = self.lstm(x)
        if self.scale is not None:
            x = x * self.scale
        if self.tied is not None:
            x = self.tied(x)
        return {"x": x, "image": image.mean((2, 3))} if self.as_dict else (x, [image.amax((2, 3))])


def _random_case(seed: int) -> None:
    rng = random.Random(seed)
    images, ids = torch.randn(2, 6, 3, 4), torch.randint(7, (2, 12))
    input = {"image": images, "ids": ids} if rng.random() < 0.5 else (images, ids)
    check(Random(seed), input, rng.choice(["mm", "direct", "winograd"]), seed)


def test_random_nets_of_known_and_unknown_operations() -> None:
    first = random.randrange(10**6)
    print("seed", first)
    for seed in range(first, first + 12):
        _random_case(seed)


@pytest.mark.slow
def test_many_random_nets_of_known_and_unknown_operations() -> None:
    first = random.randrange(10**6)
    print("seed", first)
    for seed in range(first, first + 300):
        _random_case(seed)


@pytest.mark.parametrize(
    ("choices", "told"),
    [
        ({"backend": "fast"}, "unknown backend 'fast'; accepted: auto, mm, direct, winograd, fft, stock"),
        ({"tuning": "lazy"}, "unknown tuning 'lazy'; accepted: quick, thorough"),
    ],
)
def test_unknown_names_of_options_are_refused(choices: dict[str, str], told: str) -> None:
    with pytest.raises(ValueError, match=f"^{told}$"):
        Options(**choices)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="tunings"):
        prepare(nn.Linear(3, 2), torch.rand(2, 3), tunings="quick")  # type: ignore[call-arg]
