"""What PyTorch 0.4's torch.legacy.nn has and Torch7 has not."""

from pathlib import Path

import pytest
import torch

from lua_compat.legacy import nn
from tests.helpers.commands import run_python


def test_arguments_and_defaults_of_pytorch_04() -> None:
    table = nn.SpatialConvolutionMap.maps
    assert table.full(2, 2).tolist() == [[0, 0], [1, 0], [0, 1], [1, 1]]
    assert table.oneToOne(2).tolist() == [[0, 0], [1, 1]]
    rows = table.random(4, 3, 2).tolist()
    assert [output for _, output in rows] == [0, 0, 1, 1, 2, 2] and len({plane for plane, _ in rows[:4]}) == 4
    assert nn.SpatialConvolutionMap(table.oneToOne(3), 3, 3).forward(torch.rand(3, 6, 6)).shape == (3, 4, 4)

    x = torch.randn(2, 3, 4)
    assert torch.allclose(nn.Sum(1, True).forward(x), x.mean(1))
    ranking = (torch.tensor([1.0, 3.0]), torch.tensor([2.0, 1.0]))
    assert nn.MarginRankingCriterion().forward(list(ranking), torch.tensor([1.0, 1.0])) == pytest.approx(0.5)
    assert nn.MarginCriterion(1, False).forward(torch.zeros(4), torch.ones(4)) == pytest.approx(4)
    dilated = nn.SpatialDilatedConvolution(1, 1, 3, 3, 1, 1, 0, 0, 2, 1)
    assert (dilated.dilationH, dilated.dilationW) == (2, 1)
    assert dilated.forward(torch.rand(1, 9, 9)).shape == (1, 5, 7)
    assert nn.SoftPlus(1, 0.5).forward(torch.tensor([0.75])).item() == 0.75


@pytest.mark.parametrize("dim", [0, 1, -1])
@pytest.mark.parametrize("name", ["SoftMax", "SoftMin", "LogSoftMax"])
def test_softmax_works_along_any_dimension(name: str, dim: int) -> None:
    x = torch.randn(3, 4, 5, dtype=torch.float64, requires_grad=True)
    wanted = {
        "SoftMax": lambda: torch.softmax(x, dim),
        "SoftMin": lambda: torch.softmax(-x, dim),
        "LogSoftMax": lambda: torch.log_softmax(x, dim),
    }[name]()
    gradient = torch.randn(3, 4, 5, dtype=torch.float64)
    wanted.backward(gradient)
    layer = getattr(nn, name)(dim).double()
    net = nn.Sequential().add(layer)
    assert torch.allclose(net.forward(x.detach()), wanted.detach())
    assert x.grad is not None and torch.allclose(net.backward(x.detach(), gradient), x.grad)


def test_methods_of_single_classes() -> None:
    pool = nn.SpatialMaxPooling(2, 2).ceil()
    assert pool.forward(torch.rand(1, 5, 5)).shape == (1, 3, 3)
    partial = nn.PartialLinear(3, 4)
    x = torch.ones(2, 3)
    whole = partial.forward(x).clone()
    assert torch.allclose(partial.setPartition(torch.tensor([1, 3])).forward(x), whole[:, [1, 3]])
    assert torch.allclose(partial.resetPartition().forward(x), whole)
    fractional = nn.SpatialFractionalMaxPooling(2, 2, 0.5, 0.5).fixPoolingRegions()
    image = torch.rand(1, 9, 9)
    assert torch.equal(fractional.forward(image).clone(), fractional.forward(image))
    assert nn.Dropout(0.5).setp(0.25).p == 0.25 and nn.Linear(2, 2).noBias().bias is None


def test_a_view_takes_any_layout_and_a_flattened_table_is_a_new_list() -> None:
    view = nn.View(2, 6)
    assert view.forward(torch.rand(2, 2, 3, 2)[..., 0]).shape == (2, 6)
    assert view.backward(torch.rand(2, 2, 3), torch.rand(6, 2).t()).shape == (2, 2, 3)
    inner = [torch.rand(1)]
    flat, given = nn.FlattenTable(), [torch.rand(1), inner]
    before = flat.forward(given)
    inner.append(torch.rand(1))
    assert len(before) == 2 and len(flat.forward(given)) == 3


def test_layers_of_python_within_tables_and_parallel_ones() -> None:
    x = torch.randn(3, 4, 5)
    for split in (nn.ParallelTable(), nn.Parallel(0, 2)):
        for _ in range(3):
            split.add(nn.View(4, 5, 1))
        net = nn.Sequential()
        if isinstance(split, nn.ParallelTable):
            net.add(nn.SplitTable(0)).add(split).add(nn.JoinTable(2))
        else:
            net.add(split)
        wanted = x.permute(1, 2, 0)
        for _ in range(3):
            assert torch.equal(net.forward(x), wanted)
            assert torch.equal(net.backward(x, wanted), x)


def test_only_layers_that_draw_move_the_generator() -> None:
    torch.manual_seed(5)
    state = torch.get_rng_state()
    net, x = nn.Sequential().add(nn.Linear(3, 2)).add(nn.Tanh()), torch.ones(1, 3)
    torch.set_rng_state(state)
    net.forward(x)
    net.backward(x, torch.ones(1, 2))
    assert torch.equal(torch.get_rng_state(), state)
    dropout = nn.Dropout(0.5)
    first = dropout.forward(torch.ones(64)).clone()
    assert not torch.equal(dropout.forward(torch.ones(64)), first)
    torch.set_rng_state(state)
    assert torch.equal(dropout.forward(torch.ones(64)), first)


def test_modules_are_saved_and_loaded(tmp_path: Path) -> None:
    """As PyTorch saves them: torch.load refuses classes that it was not told of."""
    (tmp_path / "old.py").write_text(
        "import torch\n"
        "import torch.legacy.nn as nn\n"
        "net, x = nn.Sequential().add(nn.Linear(2, 3)), torch.ones(1, 2)\n"
        "torch.save(net, 'net.pth')\n"
        "again = torch.load('net.pth')\n"
        "print(len(again), torch.equal(net.forward(x), again.forward(x)))\n"
    )
    ran = run_python("-m", "lua_compat.legacy", "old.py", cwd=tmp_path)
    assert (ran.stdout, ran.stderr) == ("1 True\n", "")
