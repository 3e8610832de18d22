"""The encoding of a .t7 file, found from its bytes."""

from dataclasses import dataclass
from typing import Literal

from lua_compat.t7.errors import T7FormatError

# The records of the format, by their type id.
NIL, NUMBER, STRING, TABLE, TORCH, BOOLEAN, FUNCTION, LEGACY_RECUR_FUNCTION, RECUR_FUNCTION = range(9)
KIND_NAMES = (
    "nil",
    "number",
    "string",
    "table",
    "torch object",
    "boolean",
    "function",
    "function",
    "function",
)

_OTHER_FORMATS = {
    b"PK\x03\x04": "a zip archive: perhaps a PyTorch file, which torch.load reads",
    b"\x80\x02": "a Python pickle: perhaps a PyTorch file, which torch.load reads",
    b"\x89HDF": "an HDF5 file, which lua_compat.hdf5 reads",
    b"\x1f\x8b": "a gzip file: decompress it first",
}


@dataclass(frozen=True)
class FileFormat:
    """The format found in a file.

    ``byte_order``: None in ascii. ``long_size``: bytes of a long, None if the file holds none (no tensor,
    storage or tds container) or is ascii.
    """

    encoding: Literal["binary", "ascii"] = "binary"
    byte_order: Literal["little", "big"] | None = "little"
    long_size: Literal[4, 8] | None = 8

    def __str__(self) -> str:
        if self.encoding == "ascii":
            return "ascii"
        longs = f"{self.long_size}-byte longs" if self.long_size else "no longs in it"
        return f"binary, {self.byte_order}-endian, {longs}"


def detect_encoding(start: bytes, offset: int) -> FileFormat:
    """Returns the encoding and byte order, from the first four bytes; long_size is None (see reader).

    Every file starts with a type id from 0 to 8, as an int or as a digit.
    """
    for magic, what in _OTHER_FORMATS.items():
        if start.startswith(magic):
            raise T7FormatError(f"not a .t7 file but {what}", offset)
    if start and start.split() and start.split()[0] in (b"0", b"1", b"2", b"3", b"4", b"5", b"6", b"7", b"8"):
        return FileFormat("ascii", None, None)
    if len(start) < 4:
        raise T7FormatError("the file ends before its first object", offset)
    if int.from_bytes(start, "little") <= RECUR_FUNCTION:
        return FileFormat("binary", "little", None)
    if int.from_bytes(start, "big") <= RECUR_FUNCTION:
        return FileFormat("binary", "big", None)
    raise T7FormatError(
        f"not a .t7 file: it starts with bytes {start.hex(' ')}, not with a type id 0 to 8", offset
    )
