"""Torch7's .t7 files: read, changed and written with numpy alone, no Lua needed.

    from lua_compat import t7

    net = t7.load("model.t7")            # encoding, byte order and long size are found from the file
    net.typename, net.version            # 'nn.Sequential', 1                   (a t7.TorchObject)
    modules = net["modules"]             # its Lua fields: net.fields is a t7.LuaTable
    first = modules[1]                   # Lua's keys: 1-based; modules.array() is a list of 1..n
    for key, value in first.fields.items(): ...      # in the order of the file; "bias" in first; first.get(k)
    weight = first["weight"]             # a t7.Tensor: typename, size, stride, storage_offset (1-based)
    weight.numpy()[...] = 0              # a view of weight.storage.array: tensors sharing it see the change
    first["gradWeight"] is modules[2].get("gradWeight")    # one object in the file is one object here
    first["kW"], first["inplace"]        # numbers are int or float, booleans bool, nil None
    first["name"]                        # strings are str, or bytes where they are not UTF-8; t7.lua_bytes(s)
    table = t7.LuaTable({"x": t7.Tensor.from_numpy(array), 1: "one", True: "yes"})   # True is not 1
    t7.save("out.t7", table, format="binary", long_size=8)
    value, found = t7.load_with_format("model.t7")         # found: encoding, byte_order, long_size
    t7.save("copy.t7", value, format=found)                # the same bytes as model.t7

Functions are opaque ``LuaFunction`` objects, never run. A malformed file raises ``T7FormatError``
with ``offset`` and ``path``. ``Reader`` and ``Writer`` handle several objects in one stream.
"""

from lua_compat.t7.errors import T7FormatError
from lua_compat.t7.format import FileFormat, detect_encoding
from lua_compat.t7.objects import LuaFunction, LuaTable, Storage, Tensor, TorchObject, lua_bytes, lua_string
from lua_compat.t7.reader import Reader, load, load_with_format
from lua_compat.t7.writer import Writer, save

__all__ = [
    "FileFormat",
    "LuaFunction",
    "LuaTable",
    "Reader",
    "Storage",
    "T7FormatError",
    "Tensor",
    "TorchObject",
    "Writer",
    "detect_encoding",
    "load",
    "load_with_format",
    "lua_bytes",
    "lua_string",
    "save",
]
