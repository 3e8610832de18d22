"""Properties of Unicode's characters for the Lua package lua-utf8, from the tables that come with Python."""

from functools import cache
from unicodedata import category, east_asian_width

__all__ = ["characters"]
SANDBOXED = __all__

BLOCK = 128  # characters returned by one call

# Properties that Python's tables lack, as Unicode's PropList.txt and DerivedCoreProperties.txt have them
_WHITE_SPACE = "9-D 20 85 A0 1680 2000-200A 2028-2029 202F 205F 3000"
_HEX_DIGIT = "30-39 41-46 61-66 FF10-FF19 FF21-FF26 FF41-FF46"
_OTHER_GRAPHEME_EXTEND = (
    "9BE 9D7 B3E B57 BBE BD7 CC2 CD5-CD6 D3E D57 DCF DDF 1B35 200C 302E-302F FF9E-FF9F 1133E 11357 114B0 "
    "114BD 115AF 11930 1D165 1D16E-1D172 E0020-E007F"
)
_DEFAULT_IGNORABLE = (
    "AD 34F 61C 115F-1160 17B4-17B5 180B-180F 200B-200F 202A-202E 2060-206F 3164 FE00-FE0F FEFF FFA0 "
    "FFF0-FFF8 1BCA0-1BCA3 1D173-1D17A E0000-E0FFF"
)
_OTHER_ALPHABETIC_SYMBOLS = "24B6-24E9 1F130-1F149 1F150-1F169 1F170-1F189"
# Only the marks within these ranges
_OTHER_ALPHABETIC_MARKS = (
    "345 5B0-657 659-6DC 6E1-6E8 6ED-73F 7A6-7B0 816-817 81B-82C 8D4-8DF 8E3-8E9 8F0-93B 93E-94C 94E-94F "
    "955-983 9BE-9CC 9D7-9E3 A01-A03 A3E-A4C A51-A83 ABE-ACC AE2-AFC B01-B03 B3E-B4C B56-BCC BD7-C04 "
    "C3E-C4C C55-C83 CBE-CCC CD5-D03 D3E-D4C D57-D83 DCF-E3A E4D EB1-EB9 EBB-EBC ECD F71-F83 F8D-FBC "
    "102B-1036 1038 103B-109D 1712-1713 1732-1733 1752-1773 17B6-17C8 1885-1938 1A17-1A5E 1A61-1A74 "
    "1ABF-1AC0 1ACC-1B04 1B35-1B43 1B80-1BA9 1BAC-1BAD 1BE7-1BF1 1C24-1C36 1DE7-1DF4 2DE0-2DFF A674-A67B "
    "A69E-A69F A802 A80B-A827 A880-A8C3 A8C5 A8FF-A92A A947-A952 A980-A983 A9B4-A9BF A9E5-AABE AAEB-AAF5 "
    "ABE3-ABEA FB1E 10376-10A0F 10D24-10EAC 11000-11045 11073-11074 11080-110B8 110C2-11132 11145-11146 "
    "11180-111BF 111CE-11234 11237-112E8 11300-11303 1133E-1134C 11357-11363 11435-11441 11443-11445 "
    "114B0-114C1 115AF-115BE 115DC-1163E 11640-116B5 1171D-1172A 1182C-11838 11930-1193C 11940-11942 "
    "119D1-119DF 119E4-11A0A 11A35-11A3E 11A51-11A97 11C2F-11C3E 11C92-11D41 11D43 11D47-11D96 "
    "11EF3-11EF6 16F4F-16F92 16FF0-16FF1 1BC9E 1E000-1E02A 1E947"
)
_NO_GRAPHEME = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


@cache
def _codes(ranges: str) -> frozenset[int]:
    """Returns the code points of ranges in hexadecimal."""
    codes: set[int] = set()
    for part in ranges.split():
        first, _, last = part.partition("-")
        codes.update(range(int(first, 16), int(last or first, 16) + 1))
    return frozenset(codes)


def _classes(code: int) -> str:
    """Returns the letters of a character's classes in Lua's patterns; t: it combines with the one before."""
    character = chr(code)
    kind = category(character)
    joins = kind in ("Mn", "Me") or code in _codes(_OTHER_GRAPHEME_EXTEND)
    space = code in _codes(_WHITE_SPACE)
    alphabetic = kind[0] == "L" or kind == "Nl"
    if kind[0] == "M":
        alphabetic = code in _codes(_OTHER_ALPHABETIC_MARKS)
    elif kind == "So":
        alphabetic = code in _codes(_OTHER_ALPHABETIC_SYMBOLS)
    found = {
        "a": alphabetic,
        "c": kind in ("Cc", "Cf"),
        "d": kind == "Nd",
        "g": not space and (joins or kind not in _NO_GRAPHEME),
        "l": character.islower(),
        "p": kind[0] == "P" or kind in ("Sk", "Sc", "Sm"),
        "s": space,
        "t": joins,
        "u": character.isupper(),
        "w": alphabetic or kind[0] == "N",
        "x": code in _codes(_HEX_DIGIT),
    }
    return "".join(letter for letter, member in found.items() if member)


def _width(code: int) -> str:
    """Returns the columns of a character on a terminal; A: ambiguous, one or two."""
    kind = east_asian_width(chr(code))
    if kind in "WF":
        return "2"
    if kind == "A":
        return "A"
    character_kind = category(chr(code))
    if character_kind in ("Mn", "Me"):
        return "0"
    if code in _codes(_OTHER_GRAPHEME_EXTEND) or code in _codes(_DEFAULT_IGNORABLE):
        return "0"
    return "1"


def _single(text: str, otherwise: int) -> int:
    return ord(text) if len(text) == 1 else otherwise


def _cases(code: int) -> tuple[int, int, int, int]:
    """Returns lower, upper, title and folded case by Unicode's mappings of one character to one."""
    character = chr(code)
    title = _single(character.title(), code)
    lower = _single(character.lower(), ord(character.lower()[0]))
    fold = _single(character.casefold(), _single(character.lower(), code))
    return lower, _single(character.upper(), title), title, fold


def characters(first: int) -> str:
    """Returns a line for each of the BLOCK characters from ``first`` on: its classes (- before them), width,
    and its lower, upper, title and folded case."""
    lines = (
        f"-{_classes(code)} {_width(code)} {' '.join(map(str, _cases(code)))}"
        for code in range(first, first + BLOCK)
    )
    return "\n".join(lines)
