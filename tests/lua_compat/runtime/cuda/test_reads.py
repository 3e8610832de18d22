"""How often a step of training reads the device: each time the host waits for all that is under way."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from torch.overrides import TorchFunctionMode

from lua_compat.runtime.cuda import Cuda
from lua_compat.runtime.state import Runtime
from tests.lua_compat.runtime.cuda.checks import printed

# Functions whose result, or its size, the host has to know.
_READING = {
    *(
        "item",
        "tolist",
        "cpu",
        "numpy",
        "__bool__",
        "__int__",
        "__float__",
        "equal",
        "allclose",
        "is_nonzero",
    ),
    *("nonzero", "masked_select", "bincount", "unique", "repeat_interleave"),
}


class Reads(TorchFunctionMode):
    """``count``: how often a tensor of the device was looked at."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = getattr(func, "__name__", "")
        if name in _READING:
            self.count += args[0].is_cuda
        elif name == "copy_":
            self.count += args[1].is_cuda and not args[0].is_cuda
        return func(*args, **(kwargs or {}))


@contextmanager
def reads() -> Iterator[Reads]:
    """Counts what is read while it is open: by PyTorch, and by Lua element by element."""
    counter = Reads()
    move = Cuda._move

    def counted(self: Cuda, *arguments: int) -> None:
        counter.count += 1
        move(self, *arguments)

    with pytest.MonkeyPatch.context() as patch, counter:
        patch.setattr(Cuda, "_move", counted)
        yield counter


_STEPS = Path(__file__).with_name("training_steps.lua")


@pytest.mark.parametrize(
    ("kind", "optimizer", "losses"),
    [
        ("classifier", "sgd", 1),
        ("recurrent", "rmsprop", 3),
        ("adversarial", "adam", 2),
        ("regression", "adagrad", 1),
        ("regression", "rprop", 1),
    ],
)
def test_a_step_reads_the_device_once_for_each_loss(
    runtime: Runtime, kind: str, optimizer: str, losses: int
) -> None:
    runtime.run_string(f"step = dofile('{_STEPS}')('{kind}', '{optimizer}') step()")
    with reads() as found:
        runtime.run_string("step() step()")
    assert found.count == 2 * losses


def test_looking_at_a_device_is_counted(runtime: Runtime) -> None:
    for code in (
        "t:sum()",
        "t:norm()",
        "t[1]",
        "t:max()",
        "t:equal(t)",
        "t:nonzero()",
        "t:float()",
        "t:totable()",
    ):
        runtime.run_string("t = torch.CudaTensor{ 1, 2 }")
        with reads() as found:
            runtime.run_string(f"local x = {code}")
        assert found.count >= 1, code


_LOSS = """
    local weights = %s
    local criterion, x = nn.ClassNLLCriterion(weights, %s%s), torch.randn(4, 3)
    local y = torch.LongTensor{ %s }
    local host = { criterion:forward(x, y) }
    local slopes = criterion:backward(x, y):clone()
    criterion, x = criterion:cudaDouble(), x:cudaDouble()
    local device = { criterion:forward(x, y:cudaLong()) }
    for k = 1, 2 do assert(math.abs(device[k] - host[k]) < 1e-12, device[k] .. ' ' .. host[k]) end
    assert((criterion:backward(x, y:cudaLong()):double() - slopes):abs():max() < 1e-12)
"""


@pytest.mark.parametrize("weights", ["nil", "torch.Tensor{ 1, 0.5, 3 }", "torch.Tensor{ 0, 0, 1 }"])
@pytest.mark.parametrize("average", ["true", "false"])
@pytest.mark.parametrize(
    ("labels", "ignored"),
    [("1, 3, 2, 1", ""), ("1, -100, 2, -100", ""), ("1, 2, 2, 1", ", 2"), ("2, 2, 2, 2", ", 2")],
)
def test_the_negative_log_likelihood_is_the_cpu_s(
    runtime: Runtime, weights: str, average: str, labels: str, ignored: str
) -> None:
    runtime.run_string(_LOSS % (weights, average, ignored, labels))


def test_wrong_classes_are_an_error_and_places_of_maxima_stay_inside(
    runtime: Runtime, capfd: pytest.CaptureFixture[str]
) -> None:
    code = """
        local criterion, x = nn.ClassNLLCriterion():cuda(), torch.CudaTensor(2, 3):fill(1)
        for _, wrong in ipairs{ 0, 4, -1, 2 ^ 40 } do
            local y = torch.LongTensor{ 1, wrong }:cudaLong()
            print((pcall(criterion.forward, criterion, x, y)))
            assert(criterion:backward(x, y)[2]:abs():max() == 0)
        end
        local pooling, image = nn.SpatialMaxPooling(2, 2, 2, 2):cuda(), torch.CudaTensor(1, 4, 4):fill(1)
        local y = pooling:forward(image)
        pooling.indices:fill(1000000)
        print(pooling:backward(image, y):abs():max())
    """
    assert printed(runtime, capfd, code) == "false\n" * 4 + "0\n"
