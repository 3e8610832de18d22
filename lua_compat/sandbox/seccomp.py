"""seccomp: from now on this process's threads may call of the kernel only what computing needs.

The calls that pass are listed; every other one fails with EPERM. https://docs.kernel.org/userspace-api/seccomp_filter.html
"""

import ctypes
import os
import platform
import struct

from lua_compat.sandbox.system_calls import is_known, number_of, process_control, system_call

# Memory, threads, clocks, signals to itself, and writing to what is open.
_ALLOWED = (
    "mmap", "munmap", "mremap", "mprotect", "madvise", "brk",
    "futex", "sched_yield", "sched_getaffinity", "getcpu", "gettid", "getpid", "getppid", "membarrier",
    "set_robust_list", "get_robust_list", "set_tid_address", "rseq", "exit", "exit_group",
    "clock_gettime", "clock_getres", "clock_nanosleep", "nanosleep", "gettimeofday", "time", "times",
    "rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "sigaltstack", "restart_syscall",
    "getrusage", "getrandom", "read", "write", "writev", "close", "fstat",
)  # fmt: skip

_AUDIT_ARCHITECTURE = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}

_SET_MODE_FILTER = 1
_ALL_THREADS = 1  # SECCOMP_FILTER_FLAG_TSYNC
_PR_SET_SECCOMP, _MODE_FILTER = 22, 2
_ENOSYS, _EPERM, _EFAULT = 38, 1, 14

# The flags with which the C libraries start a thread; musl adds the last, which does nothing any longer.
_NEW_THREAD = 0x3D0F00
_CLONE_DETACHED = 0x400000

# Instructions of the classic BPF: load a word of the call's data, compare, mask, return.
_LOAD, _EQUAL, _AND, _RETURN = 0x20, 0x15, 0x54, 0x06
_ALLOW, _FAIL, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16  # offsets in the call's data; arguments have 8 bytes


def is_there() -> bool:
    """Returns whether the kernel takes filters, and this machine's calls are known here."""
    if not is_known():
        return False
    try:
        process_control(_PR_SET_SECCOMP, _MODE_FILTER)  # without a filter: EFAULT where one would be taken
    except OSError as error:
        return error.errno == _EFAULT
    return False


def enter() -> None:
    """Lets only the listed calls pass, in all threads; needs ``no_new_privileges``. Raises OSError."""
    code = filter_program(platform.machine(), os.getpid())
    text = ctypes.create_string_buffer(code, len(code))
    program = _Program(len(code) // 8, ctypes.addressof(text))
    other_thread = system_call("seccomp", _SET_MODE_FILTER, _ALL_THREADS, program)
    if other_thread:
        raise OSError(_EPERM, f"thread {other_thread} has a filter of its own")


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_void_p))


def filter_program(machine: str, process: int) -> bytes:
    """Returns the program: each call it names ends in an answer, so that none falls through to another's."""
    code = [
        _word(_ARCHITECTURE),
        *_unless_equal(_AUDIT_ARCHITECTURE[machine], [_answer(_KILL)], inverted=True),
        _word(_NUMBER),
    ]

    def when(name: str, then: list[bytes]) -> None:
        number = number_of(name, machine)
        if number >= 0:
            code.extend(_unless_equal(number, then))

    for name in _ALLOWED:
        when(name, [_answer(_ALLOW)])
    when("clone3", [_answer(_FAIL | _ENOSYS)])  # its flags lie in memory; the C library then takes clone
    thread_flags = [_argument(0), _step(_AND, ~_CLONE_DETACHED & 0xFFFFFFFF)]
    when("clone", [*thread_flags, *_allow_if_equal(_NEW_THREAD)])
    when("tgkill", [_argument(0), *_allow_if_equal(process)])  # abort() in this process
    # its own limits can be read: no other process (first argument), no new limits (the third)
    when("prlimit64", [_argument(0), *_else_fail(0), _argument(2), *_else_fail(0), _argument(2, 4),
                       *_allow_if_equal(0)])  # fmt: skip
    code.append(_answer(_FAIL | _EPERM))
    return b"".join(code)


def _step(operation: int, value: int, when_true: int = 0, when_false: int = 0) -> bytes:
    return struct.pack("=HBBI", operation, when_true, when_false, value)


def _word(offset: int) -> bytes:
    return _step(_LOAD, offset)


def _argument(place: int, half: int = 0) -> bytes:
    return _word(_FIRST_ARGUMENT + 8 * place + half)


def _answer(value: int) -> bytes:
    return _step(_RETURN, value)


def _unless_equal(value: int, steps: list[bytes], inverted: bool = False) -> list[bytes]:
    """Returns a comparison that jumps over ``steps`` where it fails (``inverted``: where it holds)."""
    over = (len(steps), 0) if inverted else (0, len(steps))
    return [_step(_EQUAL, value, *over), *steps]


def _else_fail(value: int) -> list[bytes]:
    return _unless_equal(value, [_answer(_FAIL | _EPERM)], inverted=True)


def _allow_if_equal(value: int) -> list[bytes]:
    return [*_else_fail(value), _answer(_ALLOW)]
