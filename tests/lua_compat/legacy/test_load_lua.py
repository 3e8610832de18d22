"""``load_lua``: what PyTorch 0.4 made of .t7 files."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from lua_compat import t7
from lua_compat.legacy import T7ReaderException, TorchObject, hashable_uniq_dict, load_lua, nn
from tests.helpers.commands import run_python
from tests.helpers.places import GOLDEN

OBJECT = t7.TorchObject


def loaded(tmp_path: Path, value: Any, **options: Any) -> Any:
    t7.save(tmp_path / "value.t7", value)
    return load_lua(tmp_path / "value.t7", **options)


def module(name: str, **fields: Any) -> OBJECT:
    return OBJECT(name, 1, t7.LuaTable(fields))


def test_tables_are_lists_or_dicts(tmp_path: Path) -> None:
    table = t7.LuaTable({"list": t7.LuaTable({1: 2, 2: 0.5}), "empty": t7.LuaTable(), 3: True, "s": "text"})
    table["gap"] = t7.LuaTable({1: 1, 3: 3})
    got = loaded(tmp_path, table)
    assert type(got) is hashable_uniq_dict
    assert got.list == [2, 0.5] and got["empty"] == [] and got[3] is True and got.s == "text"
    assert dict(got.gap) == {1: 1, 3: 3} and got.nothing is None
    assert {got: 1}[got] == 1


def test_tables_and_storages_stay_shared(tmp_path: Path) -> None:
    whole = t7.Tensor.from_numpy(np.arange(6.0).reshape(2, 3))
    part = t7.Tensor(whole.typename, whole.storage, (3,), (1,), 4)
    itself = t7.LuaTable({"whole": whole, "part": part})
    itself["itself"] = itself
    got = loaded(tmp_path, itself)
    assert got.itself is got
    got.part.zero_()
    assert got.whole.tolist() == [[0, 1, 2], [0, 0, 0]] and got.whole.dtype == torch.float64


def test_fields_count_from_0_and_missing_ones_are_none(tmp_path: Path) -> None:
    got = loaded(tmp_path, module("nn.Narrow", dimension=2, index=3, length=1))
    assert type(got) is nn.Narrow and (got.dimension, got.index, got.length) == (1, 2, 1)
    assert loaded(tmp_path, module("nn.Linear")).bias is None
    assert loaded(tmp_path, module("nn.Sum", dimension=-1)).dimension == -1
    swaps = t7.LuaTable.from_list([t7.LuaTable.from_list([1, 2])])
    assert loaded(tmp_path, module("nn.Transpose", permutations=swaps)).permutations == [[0, 1]]
    assert loaded(tmp_path, module("nn.Threshold", val=7)).value == 7
    size = t7.Storage("torch.LongStorage", np.array([2, -1]))
    assert loaded(tmp_path, module("nn.View", size=size)).size == torch.Size([2, -1])


def test_an_old_batch_normalization_gets_its_variance(tmp_path: Path) -> None:
    fields = t7.LuaTable({"running_std": t7.Tensor.from_numpy(np.array([0.5])), "eps": 1})
    got = loaded(tmp_path, OBJECT("nn.SpatialBatchNormalization", 1, fields))
    assert got.running_var.tolist() == [3] and not hasattr(got, "running_std")


def test_unknown_classes(tmp_path: Path) -> None:
    source = module("nn.Sequential", modules=t7.LuaTable.from_list([module("cudnn.ReLU", inplace=True)]))
    with pytest.raises(T7ReaderException, match=r"Lua class cudnn\.ReLU"):
        loaded(tmp_path, source)
    (got,) = loaded(tmp_path, source, unknown_classes=True).modules
    assert type(got) is TorchObject and got.torch_typename() == got._typename == "cudnn.ReLU"
    assert got.inplace is got["inplace"] is got._obj.inplace is True and got.kW is None
    assert "inplace" in dir(got) and repr(got) == "TorchObject(cudnn.ReLU, {'inplace': True})"


@pytest.mark.parametrize(("encoding", "size"), [("bin", 8), ("long4", 4), ("long4", None)])
def test_the_size_of_a_long(encoding: str, size: Any) -> None:
    record = load_lua(GOLDEN / "t7" / f"net.{encoding}.t7", unknown_classes=True, long_size=size)
    expected = t7.load(GOLDEN / "t7" / "net.bin.t7")["output"]
    assert record.output.tolist() == expected.numpy().tolist()


def test_a_wrong_size_of_a_long_is_an_error() -> None:
    with pytest.raises(ValueError, match="4, 8 or None, not 6"):
        load_lua(GOLDEN / "t7" / "net.bin.t7", long_size=6)


def test_programs_run_as_they_are(tmp_path: Path) -> None:
    t7.save(tmp_path / "net.t7", module("nn.Identity"))
    (tmp_path / "program.py").write_text(
        "import sys\nimport torch\nimport torch.legacy.nn as lnn\nimport torch.legacy.optim\n"
        "from torch.utils.serialization import load_lua\n"
        "from torch.utils.serialization.read_lua_file import TorchObject\n"
        "net = lnn.Sequential().add(load_lua(sys.argv[1]))\n"
        "torch.save(torch.ones(1), 'kept.pth')\n"
        "print(type(net.get(0)).__name__, net.forward(torch.zeros(1)).tolist(), torch.legacy.nn is lnn)\n"
    )
    done = run_python("-m", "lua_compat.legacy", "program.py", "net.t7", cwd=tmp_path)
    assert (done.stdout, done.returncode) == ("Identity [0.0] True\n", 0)


def test_a_program_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    done = run_python("-m", "lua_compat.legacy", "no.py", cwd=tmp_path)
    assert done.returncode == 2 and done.stderr.count("\n") == 1
