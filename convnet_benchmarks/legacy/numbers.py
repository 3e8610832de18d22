"""Numbers as logs have them: with a decimal point or a decimal comma, grouped by thousands or not."""

import re
from collections.abc import Sequence

# Also what is no number but looks like one, so that none is cut off at a sign that is not understood.
_GROUPED = r"\d{1,3}(?: \d{3})+(?!\d)(?:[.,]\d*)?"  # by spaces
_MARKED = r"\d[\d.,'\u2019_\u00a0\u2009\u202f\ufffd]*\d"
NUMBER = rf"[-+]?(?:{_GROUPED}|{_MARKED}|\d\.?|[.,]\d+)(?:[eE][-+]?\d+)?"
_MILLISECONDS = {
    **dict.fromkeys(("", "ms", "msec", "milliseconds"), 1.0),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1e3),
    **dict.fromkeys(("us", "\u00b5s", "\u03bcs", "microseconds"), 1e-3),
}
# What follows a number: a space or not, a word, and the rest of it.
_AFTER = re.compile(r"[*_`]*(\s*)[*_`(\[]*([^\W\d_]*)(\S*)")
_RATE = re.compile(r"%|/(?:s|sec|seconds?|im(?:age|g)s?|samples?|frames?|batch|it|iter|iterations?)\b")
_OTHER_UNITS = re.compile(r"(?i)m|mins?|minutes?|h|hours?|fps|im(?:age|g)s?|samples?|[kmgt]i?b|[kmgt]?flops?")
_WHOLE = r"\d+|[1-9]\d{0,2}(?:%s\d{3})+"
_POINT, _COMMA = (
    re.compile(rf"[-+]?(?:(?:{_WHOLE % group})?{mark}\d+|(?:{_WHOLE % group}){mark}?)(?:[eE][-+]?\d+)?")
    for mark, group in ((r"\.", ","), (",", r"\."))
)


def milliseconds(after: str) -> float:
    """Returns how many milliseconds one is, of a number that is followed by ``after``: in most logs 1.

    Raises ValueError for a unit that is none of time, or is not known.
    """
    match = _AFTER.match(after)
    assert match is not None
    space, unit, rest = match.groups()
    known = _MILLISECONDS.get(unit.lower())
    wrong = _RATE.match(rest) or _OTHER_UNITS.fullmatch(unit) or (known is None and not space)
    if wrong:
        raise ValueError(f"'{unit}{rest}' after a number; accepted: ms, s, us, or nothing for milliseconds")
    return 1.0 if known is None else known  # a word may be about something else


def read_numbers(texts: Sequence[str]) -> list[float]:
    """Returns the numbers of one log, which were all written by the same rules.

    '1,234' alone is ambiguous; the other numbers decide. Raises ValueError for a text that is not a number,
    or is ambiguous.
    """
    either = []
    marks = set()
    for text in texts:
        point, comma = (bool(pattern.fullmatch(text)) for pattern in (_POINT, _COMMA))
        if not point and not comma:
            raise ValueError(
                f"'{text}' is not a number; accepted: digits with a decimal point, such as 1234.5"
            )
        if point != comma:
            marks.add("." if point else ",")
        elif "," in text or "." in text:
            either.append(text)
    if len(marks) > 1:
        raise ValueError("some numbers have a decimal point, others a decimal comma; accepted: one of them")
    with_comma = [text for text in either if "," in text]
    if not marks and with_comma:
        read = with_comma[0].replace(",", "."), with_comma[0].replace(",", "")
        raise ValueError(f"'{with_comma[0]}' may be {read[0]} or {read[1]}; accepted: a decimal point")
    if marks == {","}:
        texts = [text.replace(".", "").replace(",", ".") for text in texts]
    return [float(text.replace(",", "")) for text in texts]
