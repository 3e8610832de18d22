"""Reading .t7 files: the golden files of the real Torch7, and what they do not hold."""

import gzip
import io
import os
import struct
import threading
from pathlib import Path
from typing import IO, Literal, cast

import numpy as np
import pytest

from lua_compat import t7
from tests.helpers.places import GOLDEN
from tests.helpers.t7_comparison import describe

FILES = sorted(GOLDEN.glob("t7/*.t7")) + sorted(GOLDEN.glob("*.t7"))
THINGS = sorted({path.name.split(".")[0] for path in GOLDEN.glob("t7/*.t7")})


def golden(name: str) -> t7.LuaTable:
    value = t7.load(GOLDEN / "t7" / f"{name}.bin.t7")
    assert isinstance(value, t7.LuaTable)
    return value


def ints(*values: int, order: str = "<") -> bytes:
    return struct.pack(f"{order}{len(values)}i", *values)


def text(raw: bytes) -> bytes:
    return ints(len(raw)) + raw


@pytest.mark.parametrize("thing", THINGS)
def test_every_encoding_of_a_thing_holds_the_same(thing: str) -> None:
    files = sorted(GOLDEN.glob(f"t7/{thing}.*.t7"))
    described = [describe(t7.load(path)) for path in files]
    assert len(files) >= 2 and all(other == described[0] for other in described)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_what_is_found_of_the_encoding(path: Path) -> None:
    _, found = t7.load_with_format(path)
    without_longs = path.name.split(".")[0] in ("scalars", "cycle", "closure")
    if ".ascii." in path.name:
        assert found == t7.FileFormat("ascii", None, None) and str(found) == "ascii"
    else:
        size: Literal[4, 8] | None = None if without_longs else 4 if ".long4." in path.name else 8
        assert found == t7.FileFormat("binary", "little", size)


def test_scalars_and_keys_keep_their_types() -> None:
    table = golden("scalars")
    assert table.array() == [1, -2.5, 1e300, True, False, "text", b"bytes \0\1\xff"]
    assert type(table[1]) is int and type(table[4]) is bool and table.length() == 7
    assert table[True] == "boolean key" and table[1] == 1 and table[2.5] == "float key"
    assert table["key"] == table[b"key"] == "value" and table[10] == "ten" and table[10.0] == "ten"
    assert "10" not in table and False not in table and None not in table and len(table) == 11
    assert list(table)[:7] == [1, 2, 3, 4, 5, 6, 7]


def test_every_tensor_type() -> None:
    table = golden("tensors")
    for name, dtype in [("Byte", "u1"), ("Char", "i1"), ("Short", "i2"), ("Int", "i4"), ("Long", "i8"),
                        ("Float", "f4"), ("Double", "f8")]:  # fmt: skip
        tensor, storage = table[name], table[f"{name}Storage"]
        assert tensor.typename == f"torch.{name}Tensor" and tensor.numpy().dtype == np.dtype(dtype)
        assert tensor.numpy().tolist() == [[1, 2, 3], [4, 5, 6]] and storage.array.tolist() == [1, 2, 3]
    half = t7.load(GOLDEN / "t7/half.bin.t7")
    assert half.dtype == np.float16 and half.numpy().tolist() == [1, 2.5, -3, 65504]
    empty = t7.load(GOLDEN / "t7/empty.bin.t7")
    assert empty.size == () and empty.storage is None and empty.numpy().shape == (0,)


def test_views_share_their_storage() -> None:
    table = golden("views")
    base, whole = table["base"], table["base"].numpy()
    np.testing.assert_array_equal(whole, np.arange(1.0, 25).reshape(2, 3, 4))
    np.testing.assert_array_equal(table["narrow"].numpy(), whole[:, :, 1:3])
    np.testing.assert_array_equal(table["transposed"].numpy(), whole.transpose(2, 1, 0))
    np.testing.assert_array_equal(table["select"].numpy(), whole[1])
    assert table["expanded"].numpy().tolist() == [[1, 1, 1], [2, 2, 2]]
    whole[1, 0, 0] = -7
    assert table["select"].numpy()[0, 0] == -7 and base.storage is table["select"].storage
    assert table["select"].storage_offset == 13


def test_references_and_cycles_are_kept() -> None:
    shared, cycle = golden("shared"), golden("cycle")
    assert shared["a"] is shared["b"] is shared["nested"]["c"]
    assert cycle["self"] is cycle and cycle["name"] == "cycle"
    tied = golden("tied")["net"]["modules"]
    assert tied[1]["weight"] is not tied[2]["weight"]
    assert tied[1]["weight"].storage is tied[2]["weight"].storage


def test_a_function_is_opaque() -> None:
    function = t7.load(GOLDEN / "t7/closure.bin.t7")
    assert isinstance(function, t7.LuaFunction) and function.bytecode.startswith(b"\x1bLJ")
    upvalue = function.upvalues[1]
    assert (upvalue["name"], upvalue["value"]) == ("up", 40)
    assert not callable(function)


def test_module_fields() -> None:
    net = golden("net")["net"]
    assert isinstance(net, t7.TorchObject) and (net.typename, net.version) == ("nn.Sequential", 1)
    assert [module.typename for module in net["modules"].array()][:3] == [
        "nn.SpatialConvolutionMM", "nn.SpatialBatchNormalization", "nn.ReLU"]  # fmt: skip
    normalization = net["modules"][2]
    assert (
        normalization.version == 2 and "running_mean" in normalization and normalization.get("absent") is None
    )
    assert net["train"] is False


@pytest.mark.parametrize("name", ["nn", "tensor", "random", "nets"])
def test_the_recorded_facts_are_read(name: str) -> None:
    table, found = t7.load_with_format(GOLDEN / f"{name}.t7")
    assert isinstance(table, t7.LuaTable) and len(table) > 1 and found.long_size == 8


@pytest.mark.parametrize("long_size", [4, 8])
def test_big_endian(long_size: Literal[4, 8]) -> None:
    for path in GOLDEN.glob("t7/*.bin.t7"):
        value = t7.load(path)
        other = io.BytesIO()
        t7.save(other, value, byte_order="big", long_size=long_size)
        again, found = t7.load_with_format(io.BytesIO(other.getvalue()))
        assert found.byte_order == "big" and found.long_size in (None, long_size)
        assert describe(again) == describe(value)


def test_arrays_are_a_private_map_or_a_copy(tmp_path: Path) -> None:
    path = tmp_path / "x.t7"
    t7.save(path, np.arange(100_000.0))
    before = path.read_bytes()
    mapped, copied = t7.load(path), t7.load(path, mmap=False)
    for tensor in (mapped, copied):
        np.testing.assert_array_equal(tensor.numpy(), np.arange(100_000.0))
        tensor.numpy()[:] = 0
    assert copied.numpy().flags.aligned and copied.numpy().flags.owndata is False
    assert path.read_bytes() == before
    t7.save(path, mapped)  # over the file it is a map of
    assert not t7.load(path).numpy().any()


def test_a_copied_file_is_no_longer_needed(tmp_path: Path) -> None:
    path = tmp_path / "x.t7"
    words = t7.LuaTable((f"word{i}", i) for i in range(5000))
    t7.save(path, {"words": words, "list": list(range(5000)), "x": np.arange(5000.0)})
    value = t7.load(path, mmap=False)
    path.write_bytes(b"")  # a map of it would be gone
    assert dict(value["words"]) == dict(words) and value["list"].array() == list(range(5000))
    assert value["x"].numpy()[-1] == 4999


def test_large_tables_are_read_up_to_what_is_no_scalar() -> None:
    table = t7.LuaTable((f"k{i}", str(i) * (i % 40)) for i in range(3000))
    table["inner"] = t7.LuaTable.from_list([i + 0.25 for i in range(3000)])
    table["\u00e9"] = "accented \u00e9"
    table[b"\xff"] = b"\xfe raw"
    for i in range(3000):
        table[i * 10 + 0.5] = i % 2 == 0
    for order in ("little", "big"):
        out = io.BytesIO()
        t7.save(out, table, byte_order=order)
        back = t7.load(io.BytesIO(out.getvalue()))
        assert describe(back) == describe(table)
        del back["k7"]
        back["k7"] = 7
        assert list(back)[-1] == "k7" and len(back) == len(table)


def test_streams() -> None:
    first, second = t7.LuaTable({"x": t7.Tensor.from_numpy(np.ones(3))}), t7.LuaTable()
    second["same"] = first["x"]
    stream = io.BytesIO(b"header")
    stream.seek(6)
    with t7.Writer(stream) as writer:
        for value in (first, second, 5):
            writer.write(value)
    stream.seek(6)
    with t7.Reader(stream) as reader:
        one, two, three = reader.read(), reader.read(), reader.read()
        assert reader.at_end and stream.tell() == len(stream.getvalue())
    assert two["same"] is one["x"] and three == 5
    with pytest.raises(t7.T7FormatError, match="ends"):
        reader.read()


def test_a_file_holding_several_objects_is_left_after_each(tmp_path: Path) -> None:
    path = tmp_path / "two.t7"
    with path.open("wb") as file:
        t7.save(file, np.arange(3))
        t7.save(file, "last")
    with path.open("rb") as file:
        assert t7.load(file).numpy().tolist() == [0, 1, 2]
        assert t7.load(file) == "last"


def test_a_pipe() -> None:
    contents = (GOLDEN / "t7/net.bin.t7").read_bytes()
    source, sink = os.pipe()

    def feed() -> None:
        with open(sink, "wb") as file:
            file.write(contents)

    thread = threading.Thread(target=feed)
    thread.start()
    with open(source, "rb") as file:
        value = t7.load(file)
    thread.join()
    assert describe(value) == describe(golden("net"))
    value["input"].numpy()[:] = 0  # writable, as from a file


def test_a_compressed_stream(tmp_path: Path) -> None:
    path = tmp_path / "net.t7.gz"
    path.write_bytes(gzip.compress((GOLDEN / "t7/net.bin.t7").read_bytes()))
    with cast(IO[bytes], gzip.open(path)) as file:
        assert describe(t7.load(file)) == describe(golden("net"))
    with pytest.raises(t7.T7FormatError, match="a gzip file"):
        t7.load(path)


def test_text_files_are_refused() -> None:
    with pytest.raises(TypeError, match="binary mode"):
        t7.load(io.StringIO("4\n"))  # type: ignore[arg-type]


@pytest.mark.slow
def test_deep_nesting_needs_no_recursion() -> None:
    depth = 100_000
    data = b"".join(ints(3, i, 1) + ints(2) + text(b"d") for i in range(1, depth)) + ints(3, depth, 0)
    value = t7.load(io.BytesIO(data))
    out = io.BytesIO()
    t7.save(out, value)
    assert out.getvalue() == data
    count = 0
    while value is not None:
        value, count = value.get("d"), count + 1
    assert count == depth


def test_a_file_from_before_versions() -> None:
    data = ints(4, 1) + text(b"nn.Old") + ints(3, 2, 1, 2) + text(b"x") + ints(5, 1)
    value = t7.load(io.BytesIO(data))
    assert (value.typename, value.version, value.versioned, value["x"]) == ("nn.Old", 0, False, True)
    out = io.BytesIO()
    t7.save(out, value)
    assert out.getvalue() == data


@pytest.mark.parametrize(("kind", "index"), [(6, b""), (7, ints(1)), (8, ints(1))])
def test_each_function_record(kind: int, index: bytes) -> None:
    data = ints(kind) + index + text(b"\x1bLJ") + ints(3, 1 if kind == 6 else 2, 0)
    value = t7.load(io.BytesIO(data))
    assert value.type_id == kind and value.bytecode == b"\x1bLJ" and len(value.upvalues) == 0
    out = io.BytesIO()
    t7.save(out, value)
    assert out.getvalue() == data


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("long_code", ["i", "q"])
def test_tds_containers(order: str, long_code: str) -> None:
    def long(value: int) -> bytes:
        return struct.pack(order + long_code, value)

    def named(raw: bytes) -> bytes:
        return b"".join(ints(len(part), order=order) + part for part in (b"V 0", raw))

    def number(value: float) -> bytes:
        return struct.pack(order + "id", 1, value)

    word = ints(2, 1, order=order) + b"k"
    vec = ints(4, 1, order=order) + named(b"tds.Vec") + long(3) + number(7) + ints(0, order=order) + word
    value, found = t7.load_with_format(io.BytesIO(vec))
    assert value.fields == [7, None, "k"] and found.long_size == (4 if long_code == "i" else 8)
    table = ints(4, 1, order=order) + named(b"tds.Hash") + long(2) + word + number(1) + number(4) + word
    value = t7.load(io.BytesIO(table))
    assert value["k"] == 1 and value[4] == "k"


def test_classes_that_write_two_objects() -> None:
    gpus = t7.LuaTable.from_list([1, 2])
    for typename, version, preamble in [
        ("nn.DataParallelTable", 2, gpus), ("nn.DataParallelTable", 3, gpus),
        ("nn.DataParallelTable", 1, None),
        ("nn.GPU", 1, t7.LuaTable.from_list(["torch.CudaTensor", 2])),
    ]:  # fmt: skip
        module = t7.TorchObject(typename, version, t7.LuaTable({"train": True}), preamble=preamble)
        out = io.BytesIO()
        t7.save(out, t7.LuaTable.from_list([module, "after"]))
        back = t7.load(io.BytesIO(out.getvalue()))
        assert back[2] == "after" and back[1]["train"] is True
        assert (back[1].preamble is None) == (preamble is None)


@pytest.mark.parametrize("kind", ["", "Byte", "Char", "Short", "Int", "Long", "Half", "Double"])
def test_cuda_types_are_read_anywhere(kind: str) -> None:
    cpu = t7.Tensor.from_numpy(np.arange(6).reshape(2, 3), f"torch.{kind or 'Float'}Tensor")
    assert cpu.storage is not None
    storage = t7.Storage(f"torch.Cuda{kind}Storage", cpu.storage.array)
    out = io.BytesIO()
    t7.save(out, t7.Tensor(f"torch.Cuda{kind}Tensor", storage, cpu.size, cpu.stride))
    back = t7.load(io.BytesIO(out.getvalue()))
    assert back.typename == f"torch.Cuda{kind}Tensor" and back.dtype == cpu.dtype
    np.testing.assert_array_equal(back.numpy(), cpu.numpy())


def test_a_generator_is_its_bytes() -> None:
    state = bytes(range(256)) * 20
    value = t7.TorchObject("torch.Generator", 1, state[:5048])
    for encoding in ("binary", "ascii"):
        out = io.BytesIO()
        t7.save(out, t7.LuaTable.from_list([value, 2]), encoding)
        back = t7.load(io.BytesIO(out.getvalue()))
        assert back[1].fields == state[:5048] and back[2] == 2


def _unknown_class_file() -> bytes:
    unknown = ints(4, 2) + text(b"V 1") + text(b"my.Class") + ints(42, 43)
    return ints(3, 1, 2) + ints(2) + text(b"ok") + ints(5, 1) + ints(2) + text(b"odd") + unknown


def test_an_unknown_class_with_a_table_is_an_object() -> None:
    value = t7.load(io.BytesIO(ints(4, 1) + text(b"V 3") + text(b"my.Class") + ints(3, 2, 0)))
    assert (value.typename, value.version, len(value.fields)) == ("my.Class", 3, 0)


def test_an_unknown_class_without_a_table_raises_with_offset_and_path() -> None:
    data = _unknown_class_file()
    with pytest.raises(t7.T7FormatError, match=r"my\.Class.*unknown here") as caught:
        t7.load(io.BytesIO(data))
    assert caught.value.path == "root.odd" and caught.value.offset == data.index(text(b"V 1"))


def test_an_unknown_class_is_kept_opaque_when_asked() -> None:
    value = t7.load(io.BytesIO(_unknown_class_file()), opaque=True)
    assert value["ok"] is True and value["odd"].fields == ints(42, 43)


def test_an_unknown_class_whose_body_is_named() -> None:
    data = ints(4, 1) + text(b"V 1") + text(b"my.Pair") + ints(5, 1) + ints(5, 0)
    value = t7.load(io.BytesIO(data), bodies={"my.Pair": 2})
    assert value.preamble is True and value.fields is False


def test_a_long_size_that_is_given_is_used() -> None:
    path = GOLDEN / "t7/shared.long4.t7"
    assert t7.load(path, long_size=4)["a"].numpy().tolist() == [1, 2, 3]
    with pytest.raises(t7.T7FormatError):
        t7.load(path, long_size=8)
    with pytest.raises(ValueError, match="4 or 8"):
        t7.load(path, long_size=2)  # type: ignore[arg-type]


def test_ascii_in_any_spacing() -> None:
    data = (GOLDEN / "t7/shared.ascii.t7").read_bytes()
    spaced = data.replace(b"\n1 2 3\n", b"\n 1\n\n2   3\n")
    assert spaced != data and t7.load(io.BytesIO(spaced))["a"].numpy().tolist() == [1, 2, 3]


def test_ascii_numbers_beyond_the_finite() -> None:
    values = np.array([np.inf, -np.inf, np.nan, -np.nan, -0.0, 5e-324])
    out = io.BytesIO()
    t7.save(out, values, "ascii")
    assert b"inf -inf nan -nan -0 4.9406564584124654e-324\n" in out.getvalue()
    np.testing.assert_array_equal(t7.load(io.BytesIO(out.getvalue())).numpy().view("i8"), values.view("i8"))


def test_large_ascii_arrays() -> None:
    values = np.random.default_rng(0).standard_normal(200_000).astype(np.float32)
    out = io.BytesIO()
    t7.save(out, values, "ascii")
    np.testing.assert_array_equal(t7.load(io.BytesIO(out.getvalue())).numpy(), values)
