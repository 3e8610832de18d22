"""Numbers as logs have them: with a decimal point or a decimal comma, grouped by thousands or not."""

import re
from collections.abc import Sequence

# Also what is no number but looks like one, so that none is cut off at a sign that is not understood.
NUMBER = r"[-+]?(?:\d[\d.,'_\u00a0\u202f]*\d|\d\.?|[.,]\d+)(?:[eE][-+]?\d+)?"
_WHOLE = r"\d+|[1-9]\d{0,2}(?:%s\d{3})+"
_POINT, _COMMA = (
    re.compile(rf"[-+]?(?:(?:{_WHOLE % group})?{mark}\d+|(?:{_WHOLE % group}){mark}?)(?:[eE][-+]?\d+)?")
    for mark, group in ((r"\.", ","), (",", r"\."))
)


def read_numbers(texts: Sequence[str]) -> list[float]:
    """Returns the numbers of one log, which were all written by the same rules.

    '1,234' alone may be either; the others say which it is. Raises ValueError for a number that is none, or
    may be two.
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
