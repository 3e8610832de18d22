"""Comparing a structure that ctypes fills with the one that C reads."""

import ctypes
import subprocess
from collections.abc import Sequence


def check_structure(
    kind: type[ctypes.Structure], c_type: str, c_fields: Sequence[str], source: str, *options: str
) -> None:
    """Asserts that sizes and offsets are those of ``c_type`` in the C code ``source``, field by field."""
    names = [field[0] for field in kind._fields_]
    facts = [f'_Static_assert(sizeof({c_type}) == {ctypes.sizeof(kind)}, "size");']
    for name, c_field in zip(names, c_fields, strict=True):
        place = getattr(kind, name)
        facts.append(f'_Static_assert(__builtin_offsetof({c_type}, {c_field}) == {place.offset}, "{name}");')
        size = f"sizeof((({c_type} *)0)->{c_field})"
        facts.append(f'_Static_assert({size} == {place.size}, "size of {name}");')
    command = ["cc", *options, "-std=gnu11", "-fsyntax-only", "-x", "c", "-"]
    text = "\n".join([source, *facts])
    done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
