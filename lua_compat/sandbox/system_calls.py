"""Calls of the Linux kernel that Python has no function for, and their numbers."""

import ctypes
import os
import platform
import sys

# Of the C library's headers (asm/unistd_64.h, asm-generic/unistd.h); a kernel never changes them. Only what
# the sandbox lets through or calls itself. -1: this machine has no such call.
_X86_64, _AARCH64 = 0, 1
_NUMBERS = {
    "brk": (12, 214),
    "clock_getres": (229, 114),
    "clock_gettime": (228, 113),
    "clock_nanosleep": (230, 115),
    "clone": (56, 220),
    "clone3": (435, 435),
    "close": (3, 57),
    "exit": (60, 93),
    "exit_group": (231, 94),
    "fstat": (5, 80),
    "futex": (202, 98),
    "get_robust_list": (274, 100),
    "getcpu": (309, 168),
    "getpid": (39, 172),
    "getppid": (110, 173),
    "getrandom": (318, 278),
    "getrusage": (98, 165),
    "gettid": (186, 178),
    "gettimeofday": (96, 169),
    "landlock_create_ruleset": (444, 444),
    "landlock_restrict_self": (446, 446),
    "madvise": (28, 233),
    "membarrier": (324, 283),
    "mmap": (9, 222),
    "mprotect": (10, 226),
    "mremap": (25, 216),
    "munmap": (11, 215),
    "nanosleep": (35, 101),
    "prlimit64": (302, 261),
    "read": (0, 63),
    "restart_syscall": (219, 128),
    "rseq": (334, 293),
    "rt_sigaction": (13, 134),
    "rt_sigprocmask": (14, 135),
    "rt_sigreturn": (15, 139),
    "sched_getaffinity": (204, 123),
    "sched_yield": (24, 124),
    "seccomp": (317, 277),
    "set_robust_list": (273, 99),
    "set_tid_address": (218, 96),
    "sigaltstack": (131, 132),
    "tgkill": (234, 131),
    "time": (201, -1),
    "times": (100, 153),
    "write": (1, 64),
    "writev": (20, 66),
}
_MACHINES = {"x86_64": _X86_64, "aarch64": _AARCH64}
_PR_SET_PDEATHSIG, _PR_SET_NO_NEW_PRIVS = 1, 38


def is_known() -> bool:
    """Returns whether the numbers of this machine's calls are known here."""
    return platform.machine() in _MACHINES and sys.maxsize > 1 << 32


def number_of(name: str, machine: str) -> int:
    """Returns the number of a call, -1 if the machine has none. Raises KeyError for an unknown machine."""
    return _NUMBERS[name][_MACHINES[machine]]


def system_call(name: str, *arguments: int | ctypes.Structure | None) -> int:
    """Calls the kernel; integers and structures (by address). Raises OSError with the kernel's reason."""
    library = ctypes.CDLL(None, use_errno=True)
    passed = [
        ctypes.c_long(each) if isinstance(each, int) else ctypes.byref(each) if each is not None else None
        for each in arguments
    ]
    result = library.syscall(ctypes.c_long(number_of(name, platform.machine())), *passed)
    return int(_checked(result))


def process_control(option: int, value: int) -> int:
    """Calls prctl(2). Raises OSError with the kernel's reason."""
    library = ctypes.CDLL(None, use_errno=True)
    zero = ctypes.c_ulong(0)
    return int(_checked(library.prctl(option, ctypes.c_ulong(value), zero, zero, zero)))


def no_new_privileges() -> None:
    """Gives up for good what a program with setuid would give this process."""
    process_control(_PR_SET_NO_NEW_PRIVS, 1)


def end_with_parent(number: int) -> None:
    """Has this process killed when the thread that started it ends."""
    process_control(_PR_SET_PDEATHSIG, number)


def _checked(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result
