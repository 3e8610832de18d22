"""Recurrent and other layers of packages, against what real Torch7 computed with the packages' files."""

import copy
import io
import pickle
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from lua_compat import t7
from lua_compat.conversion import ConversionError, from_torch, to_torch
from lua_compat.torch_modules.repositories.rnn import Cell, LazyDropout, Sequencer, Stateful, forget
from tests.compatibility.architectures.comparison import compare
from tests.helpers.places import GOLDEN

RECORDS = {
    f"{file}: {record['name']}": record
    for file in ("rnn", "later", "torch_rnn", "others")
    for record in t7.load(GOLDEN / "models" / f"{file}.t7").array()
}


@pytest.mark.parametrize("name", RECORDS)
def test_it_computes_what_torch7_did(name: str) -> None:
    """Outputs in both modes, gradients, a step of gradient descent and the state_dict."""
    assert compare(RECORDS[name], ()) == ""


def read(record: Any) -> t7.TorchObject:
    text = record["module"]
    model: t7.TorchObject = t7.load(io.BytesIO(text.encode() if isinstance(text, str) else text))
    return model


WRITTEN = [
    name for name in RECORDS if not name.startswith("later") or name.removeprefix("later: Seq") != name
]


@pytest.mark.parametrize("name", WRITTEN)
def test_it_goes_back(name: str) -> None:
    """Real Torch7 with the packages computed the same from these files, too, when this was written."""
    file = io.BytesIO()
    t7.save(file, from_torch(to_torch(read(RECORDS[name])), dtype=torch.float64))
    assert compare({**RECORDS[name], "module": file.getvalue()}, ()) == ""


def test_steps_of_the_later_rnn_are_not_written() -> None:
    with pytest.raises(ConversionError, match=r"nn\.RecLSTM of the later rnn is not written"):
        from_torch(to_torch(read(RECORDS["later: RecLSTM"])))


class Adds(nn.Module):
    """A step: the new state is the old one plus the input times a factor."""

    def __init__(self) -> None:
        super().__init__()
        self.factor = nn.Parameter(torch.tensor(2.0))

    def forward(self, input: list[Tensor]) -> Tensor:
        return input[1] + self.factor * input[0]


def adding(**options: Any) -> Any:
    return Sequencer(module=Cell(module=Adds(), sizes=(1,)), **options)


ONES = torch.ones(3, 1, 1)


def test_a_sequencer_forgets_unless_it_remembers() -> None:
    assert adding()(ONES).flatten().tolist() == [2, 4, 6]
    net = adding(remember="eval").eval()
    net(ONES)
    assert net(ONES).flatten().tolist() == [8, 10, 12]
    net.train()
    assert net(ONES).flatten().tolist() == [2, 4, 6]
    net = adding(remember="both")
    net(ONES)
    forget(net)
    assert net(ONES)[-1].item() == 6


def test_gradients_end_where_a_sequence_begins() -> None:
    net = adding(remember="both")
    net(ONES).sum().backward()
    net.zero_grad()
    net(ONES).sum().backward()
    assert net.module.module.factor.grad.item() == 1 + 2 + 3


@pytest.mark.parametrize("how", [copy.deepcopy, lambda net: pickle.loads(pickle.dumps(net))])
def test_it_is_copied_with_its_state(how: Any) -> None:
    net = adding(remember="both")
    net(ONES)
    again = how(net)
    assert again(ONES).flatten().tolist() == [8, 10, 12]
    assert net(ONES).flatten().tolist() == [8, 10, 12]


def test_dropout_of_a_sequence_drops_the_same_in_every_step() -> None:
    torch.manual_seed(1)
    drop = LazyDropout(p=0.5)
    first, second = drop(torch.ones(64)), drop(torch.ones(64))
    assert torch.equal(first, second)
    assert set(first.tolist()) == {0, 2}
    forget(drop)
    assert not torch.equal(drop(torch.ones(64)), first)
    assert isinstance(drop, Stateful)


def test_a_mask_given_from_outside_is_refused() -> None:
    module = t7.TorchObject("nn.SeqLSTM", 1, t7.LuaTable({"maskzero": True, "v2": True}))
    with pytest.raises(ConversionError, match="setZeroMask"):
        to_torch(module)
