"""The operating system's layers hold native code: what a script could do that has broken out of Lua."""

import errno
import json
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from lua_compat.cli.th import main
from lua_compat.sandbox import LayersMissing, landlock, layers, run, seccomp
from lua_compat.sandbox.layers import LANDLOCK, SECCOMP
from tests.helpers import native_code
from tests.helpers.places import ROOT
from tests.helpers.sandbox import LACKING

FILES = "abcdefgh"
NAMES = list(native_code.attempts("", 0))

# Landlock is for files, signals and TCP; those that it does not know are seccomp's alone.
LANDLOCK_REFUSES = {
    "open", "open /proc/self/mem", "create", "rename", "unlink", "truncate", "mkdir", "symlink", "link",
    "exec",
}  # fmt: skip


def needs(*wanted: str) -> pytest.MarkDecorator:
    reason = "; ".join(f"no {name}: {LACKING[name]}" for name in wanted if name in LACKING)
    return pytest.mark.skipif(bool(reason), reason=reason or "never")


@pytest.fixture
def other() -> Iterator["subprocess.Popen[bytes]"]:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        yield process
        process.kill()


def tried(which: str, folder: Path, other: "subprocess.Popen[bytes]") -> dict[str, str]:
    for name in FILES:
        (folder / name).write_text(name)
        (folder / name).chmod(0o600)
    command = [sys.executable, "-m", "tests.helpers.native_code", which, str(folder), str(other.pid)]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert (result.returncode, result.stderr) == (0, "")
    found = json.loads(result.stdout)
    assert list(found) == NAMES
    return found


def assert_untouched(folder: Path, other: "subprocess.Popen[bytes]") -> None:
    assert sorted(path.name for path in folder.iterdir()) == list(FILES)
    for name in FILES:
        assert (folder / name).read_text() == name
        assert (folder / name).stat().st_mode & 0o777 == 0o600
    assert other.poll() is None


@needs(LANDLOCK, SECCOMP)
def test_with_all_layers_nothing_gets_through_and_a_product_still_works(
    tmp_path: Path, other: "subprocess.Popen[bytes]"
) -> None:
    found = tried("all", tmp_path, other)
    assert {name: how for name, how in found.items() if how not in ("EPERM", "ENOSYS")} == {}
    assert_untouched(tmp_path, other)


@needs(SECCOMP)
def test_seccomp_alone_holds_also_threads_that_were_there(
    tmp_path: Path, other: "subprocess.Popen[bytes]"
) -> None:
    found = tried("seccomp", tmp_path, other)
    assert {name: how for name, how in found.items() if how not in ("EPERM", "ENOSYS")} == {}
    assert_untouched(tmp_path, other)


@needs(LANDLOCK)
def test_landlock_alone_holds_files(tmp_path: Path, other: "subprocess.Popen[bytes]") -> None:
    found = tried("landlock", tmp_path, other)
    known = LANDLOCK_REFUSES if landlock.version() >= 3 else LANDLOCK_REFUSES - {"truncate"}
    assert {name: found[name] for name in sorted(known) if found[name] == "done"} == {}


def answer(code: bytes, architecture: int, number: int, *arguments: int) -> str:
    """Runs the filter's program as the kernel does, for one call."""
    words = [number, architecture, 0, 0]
    for value in (*arguments, *[0] * (6 - len(arguments))):
        words += [value & 0xFFFFFFFF, value >> 32]
    place, held = 0, 0
    while True:
        operation, when_true, when_false, value = struct.unpack_from("=HBBI", code, 8 * place)
        place += 1
        if operation == 0x20:
            held = words[value // 4]
        elif operation == 0x54:
            held &= value
        elif operation == 0x15:
            place += when_true if held == value else when_false
        else:
            assert operation == 0x06
            named = {0x7FFF0000: "allowed", 0x80000000: "killed"}
            return named.get(value) or errno.errorcode[value & 0xFFFF]


X86_64, AARCH64 = 0xC000003E, 0xC00000B7
THREAD = 0x3D0F00


@pytest.mark.parametrize(
    ("machine", "architecture", "write", "openat", "clone", "clone3", "tgkill", "prlimit"),
    [("x86_64", X86_64, 1, 257, 56, 435, 234, 302), ("aarch64", AARCH64, 64, 56, 220, 435, 131, 261)],
)
def test_what_the_filter_answers(
    machine: str,
    architecture: int,
    write: int,
    openat: int,
    clone: int,
    clone3: int,
    tgkill: int,
    prlimit: int,
) -> None:
    code = seccomp.filter_program(machine, 77)

    def call(number: int, *arguments: int) -> str:
        return answer(code, architecture, number, *arguments)

    assert call(write, 1) == "allowed"
    assert call(openat) == call(425) == call(1000) == call(1 << 30 | 1) == "EPERM"
    assert call(clone, THREAD) == call(clone, THREAD | 0x400000) == "allowed"
    assert call(clone, 17) == call(clone, 0) == call(clone, THREAD | 0x10000000) == "EPERM"
    assert call(clone3) == "ENOSYS"
    assert call(tgkill, 77) == "allowed"
    assert call(tgkill, 78) == call(tgkill, 0) == "EPERM"
    assert call(prlimit, 0, 7, 0) == "allowed"
    assert call(prlimit, 5, 7, 0) == call(prlimit, 0, 7, 1 << 40) == call(prlimit, 0, 7, 4096) == "EPERM"
    for other in (0x40000003, 0x40000028, X86_64 if architecture == AARCH64 else AARCH64):  # i386, 32-bit ARM
        assert answer(code, other, write, 1) == "killed"


def test_a_machine_that_lacks_a_layer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    script = tmp_path / "script.lua"
    script.write_text("print('ran')")
    monkeypatch.setattr("lua_compat.sandbox.missing", lambda: {LANDLOCK: "too old", SECCOMP: "not here"})
    with pytest.raises(LayersMissing, match="no Landlock"):
        run(script)
    assert main(["--sandbox", str(script)]) == 2
    printed = capfdbinary.readouterr()
    assert printed.out == b"" and printed.err.count(b"\n") == 1
    for words in (b"no Landlock (too old)", b"no seccomp (not here)", b"--sandbox=weaker"):
        assert words in printed.err
    assert main(["--sandbox=weaker", str(script)]) == 0
    assert capfdbinary.readouterr() == (b"ran\n", b"th: sandbox: enforced by names, limits\n")


def test_what_a_machine_lacks_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.machine", lambda: "riscv64")
    assert list(layers.missing()) == [LANDLOCK, SECCOMP]
    monkeypatch.setattr("platform.system", lambda: "Darwin")
    assert list(layers.missing()) == [LANDLOCK, SECCOMP]
