"""The text of a log: what editors, terminals and archives did to it is undone."""

import codecs
import gzip
import re
import zlib

_GZIP = b"\x1f\x8b"
_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
# Colours and cursor movements (CSI), titles of windows (OSC).
_ESCAPES = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)")


def log_text(data: bytes) -> str:
    """Returns the text of a log's bytes, compressed by gzip or not, without a terminal's escape sequences.

    The encoding is that of its byte order mark, or else UTF-8; bytes that are neither are taken for
    Windows-1252 (Latin-1). Raises ValueError for a damaged archive.
    """
    if data.startswith(_GZIP):
        try:
            data = gzip.decompress(data)
        except (OSError, EOFError, zlib.error) as error:
            raise ValueError(f"damaged gzip file ({error})") from None
    encoding = next((name for mark, name in _MARKS.items() if data.startswith(mark)), "utf-8")
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        text = data.decode("cp1252", errors="replace")
    return _ESCAPES.sub("", text)
