"""Landlock: from now on this thread, and those it starts, find no file and no network.

The set of rules is empty, so that everything that the kernel's Landlock knows of is refused. It holds for the
thread that enters it and for those it starts afterwards, not for others that exist. What is open stays open.
https://docs.kernel.org/userspace-api/landlock.html
"""

import ctypes
import os

from lua_compat.sandbox.system_calls import is_known, system_call

_ASK_VERSION = 1

# How many rights on files each version of the interface knows; the first ones are the lowest bits.
_RIGHTS_ON_FILES = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16, 6: 16, 7: 16}
_SINCE_NETWORK, _SINCE_SCOPE = 4, 6
_BIND_AND_CONNECT = 0b11
_ABSTRACT_SOCKETS_AND_SIGNALS = 0b11


class _Ruleset(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("network", ctypes.c_uint64), ("scope", ctypes.c_uint64))


def version() -> int:
    """Returns the version of the kernel's Landlock, 0 if it has none or does not let us."""
    if not is_known():
        return 0
    try:
        return system_call("landlock_create_ruleset", None, 0, _ASK_VERSION)
    except OSError:
        return 0


def enter() -> None:
    """Forbids files, network, and signals to other processes; needs ``no_new_privileges``. Raises OSError."""
    known = version()
    rules = _Ruleset(files=(1 << _RIGHTS_ON_FILES[min(known, max(_RIGHTS_ON_FILES))]) - 1)
    size = _Ruleset.network.offset  # a kernel refuses fields that it does not know
    if known >= _SINCE_NETWORK:
        rules.network, size = _BIND_AND_CONNECT, _Ruleset.scope.offset
    if known >= _SINCE_SCOPE:
        rules.scope, size = _ABSTRACT_SOCKETS_AND_SIGNALS, ctypes.sizeof(_Ruleset)
    descriptor = system_call("landlock_create_ruleset", rules, size, 0)
    try:
        system_call("landlock_restrict_self", descriptor, 0)
    finally:
        os.close(descriptor)
