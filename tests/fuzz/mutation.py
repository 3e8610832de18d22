"""Changes to the bytes of a good file, for formats that are text or have no mutation of their own."""

import random

NUMBERS = (b"0", b"-1", b"1e999", b"-1e999", b"NaN", b"Infinity", b"1e-400", b"99999999999999999999", b"0.5",
           b"9" * 400, b"9" * 5000, b"null", b"true", b"[]", b"{}", b'""', b"[" * 3000, b'{"a":' * 3000,
           b'"\\ud800"', b"\xff\xfe", b"\x00", b"\x1b[2J", b"\r\n", b"-", b"1_0")  # fmt: skip
BYTES = (0, 1, 9, 10, 34, 44, 48, 58, 91, 123, 127, 128, 254, 255)


def mutated(data: bytes, others: list[bytes], draws: random.Random) -> bytes:
    """Returns ``data`` with one to eight changes: bytes, cuts, copies, parts of others, words and numbers."""
    changed = bytearray(data)
    for _ in range(draws.choice((1, 1, 1, 2, 3, 8))):
        at = draws.randrange(len(changed) + 1)
        kind = draws.random()
        if kind < 0.35 and at < len(changed):
            changed[at] = draws.choice((*BYTES, draws.randrange(256)))
        elif kind < 0.45:
            del changed[at : at + draws.choice((1, 2, 4, 8, 40))]
        elif kind < 0.5:
            del changed[at:]
        elif kind < 0.6:
            start = draws.randrange(len(changed) + 1)
            changed[at:at] = changed[start : start + draws.choice((1, 8, 60, 400))]
        elif kind < 0.7:
            other = draws.choice(others)
            start = draws.randrange(len(other) + 1)
            changed[at : at + draws.choice((0, 20))] = other[start : start + draws.choice((4, 20, 100, 1000))]
        else:
            start, end = _word(changed, at)
            changed[start:end] = draws.choice(NUMBERS)
    return bytes(changed)


def _word(data: bytearray, at: int) -> tuple[int, int]:
    """Returns where the run of letters and digits around a place begins and ends."""
    start = end = at
    while start > 0 and chr(data[start - 1]).isalnum() and at - start < 40:
        start -= 1
    while end < len(data) and chr(data[end]).isalnum() and end - at < 40:
        end += 1
    return start, end
