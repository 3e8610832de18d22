"""The command ``th``: runs Lua scripts of Torch7 on PyTorch."""

from __future__ import annotations

import atexit
import ctypes
import gc
import os
import re
import signal
import sys
from importlib.util import find_spec

from lua_compat.runtime.crew import Crew
from lua_compat.runtime.cuda_presence import ANY_DEVICE
from lua_compat.runtime.errors import CannotFixOrder, LuaError
from lua_compat.runtime.interrupts import INTERRUPTED, Interrupts, interruptible
from lua_compat.runtime.openmp import wait_briefly
from lua_compat.runtime.trusted_files import TrustedFiles
from lua_compat.standard_streams import (
    let_stdout_fail,
    lost_output,
    open_closed_streams,
    without_folder,
)

TYPE_CHECKING = False  # typing is not loaded before a script starts
if TYPE_CHECKING:
    from collections.abc import Sequence

    from lua_compat.runtime.state import Runtime

USAGE = """\
usage: th [options] [SCRIPT [ARGUMENT...]]

Runs a Lua script written for Torch7, on PyTorch; without a script, an interactive prompt.
  -l PACKAGE         require PACKAGE first and keep it in a global of its name
  -e CODE            run CODE (before the script, if there is one)
  -i, --interactive  the prompt after the script or CODE
  -g, --globals      say where a global is created, or read before it exists
  -gg, --gglobals    make that an error
  --cpu-as-cuda      run a CUDA script on the CPU: cutorch, cunn, cudnn and ccn2 exist without a GPU
  --gpus D=G,...     use GPU G where SCRIPT names device D, such as 8=1
  --gpu G            use GPU G whatever device SCRIPT names
  --trust-functions  torch.load creates functions, which are code, from every file; without this, only from
                       files in the folder of SCRIPT or the working folder, or written by SCRIPT
  --same-order       make runs alike (Linux): pairs visits string keys in the same order, random numbers start
                       from the same seed, and large convolutions keep to one kernel
  --ways             say on stderr, at the end, which way each operation was computed (LuaJIT, BLAS, PyTorch),
                       how often, and why not a faster one; not for SCRIPT's threads
  --way W            compute by pytorch alone, or by luajit (and BLAS) alone: an error where they refuse
  --install-kernel   tell Jupyter how to start iTorch notebooks: in this environment, with --user for you,
                       with --prefix DIR there; they run with the other options given (such as --cpu-as-cuda)
  --rocks            list the packages that SCRIPT lacks, and the command that installs them; nothing is run
  --sandbox          run SCRIPT without files, processes, ffi, debug, bytecode and Python
                       (--sandbox=weaker: even if the system lacks Landlock or seccomp), with these limits:
  --memory MB          memory [1024]
  --time SECONDS       time [60]
  --output MB          printed text [64]; exit code 4 if a limit ends the script
  -h, --help         show this text
  -v, --version      print the versions
Everything after SCRIPT goes to the script, in the table arg.

examples:
  th benchmark.lua -batch_size 4                an old script, unchanged
  th --cpu-as-cuda train.lua                    a CUDA script on a machine without a GPU
  th -l nn -e "print(nn.Linear(3, 4))"          a line of Lua
  th --sandbox unknown.lua                      a script you do not trust
"""
USAGE_ERROR = 2

_LIMITS = {"--memory": "memory_mb", "--time": "seconds", "--output": "output_mb"}


class Command:
    """A parsed command line; ``steps`` are ('-l', package) and ('-e', code) in their order."""

    def __init__(self) -> None:
        self.steps: list[tuple[str, str]] = []
        self.script: str | None = None
        self.arguments: list[str] = []
        self.interactive = False
        self.globals: str | None = None  # None, 'watch' or 'strict'
        self.cpu_as_cuda = False
        self.gpus: dict[int, int] = {}  # by the device that the script names
        self.same_order = False
        self.trust_functions = False
        self.ways = False  # say which were taken
        self.way: str | None = None
        self.rocks = False
        self.kernel: str | None = None  # the connection file of a Jupyter server
        self.install_kernel = False
        self.kernel_place: str | None = None  # '--user' or a folder
        self.words: list[str] = []  # the options other than those two
        self.sandbox = False
        self.weaker = False  # a sandbox without the layers that the system lacks
        self.limits: dict[str, float] = {}


# Our replacements for the original's scripts.
_SCRIPTS_OF_OURS = {"benchmark.lua": "benchmark.py", "benchmark_criterion.lua": "benchmark_criterion.py"}


class UsageError(Exception):
    """The command line cannot be understood."""


def parse(argv: Sequence[str]) -> Command:
    """Reads the command line. Raises UsageError; -h is left to ``main``."""
    command = Command()
    words = list(argv)
    while words:
        first = len(argv) - len(words)
        word = words.pop(0)
        if word == "--install-kernel":
            command.install_kernel = True
            continue
        if word == "--user" or word.partition("=")[0] == "--prefix":
            command.kernel_place = _kernel_place(word, words)
            continue
        if word in ("-l", "-e"):
            if not words:
                raise UsageError(
                    f"option {word} needs {'a package' if word == '-l' else 'Lua code'} after it"
                )
            command.steps.append((word, words.pop(0)))
        elif word.startswith("-l") and len(word) > 2:
            command.steps.append(("-l", word[2:]))
        elif word in ("-i", "--interactive"):
            command.interactive = True
        elif word in ("-g", "--globals"):
            command.globals = "watch"
        elif word in ("-gg", "--gglobals"):
            command.globals = "strict"
        elif word == "--cpu-as-cuda":
            command.cpu_as_cuda = True
        elif word.partition("=")[0] in ("--gpu", "--gpus"):
            option, value = _option_value(word, words)
            command.gpus |= _gpus(option, value)
        elif word == "--trust-functions":
            command.trust_functions = True
        elif word == "--same-order":
            command.same_order = True
        elif word == "--ways":
            command.ways = True
        elif word.partition("=")[0] == "--way":
            command.way = _option_value(word, words)[1]
            if command.way not in ("luajit", "pytorch"):
                raise UsageError(f"option --way needs luajit or pytorch, not '{command.way}'")
        elif word == "--rocks":
            command.rocks = True
        elif word == "--kernel":
            if not words:
                raise UsageError("option --kernel needs a Jupyter server's connection file after it")
            command.kernel = words.pop(0)
        elif word.partition("=")[0] == "--sandbox":
            if word not in ("--sandbox", "--sandbox=weaker"):
                raise UsageError(f"option {word}: --sandbox or --sandbox=weaker")
            command.sandbox, command.weaker = True, word == "--sandbox=weaker"
        elif word.partition("=")[0] in _LIMITS:
            option, value = _option_value(word, words)
            command.limits[_LIMITS[option]] = _positive(option, value)
        elif word.startswith("-") and word != "-":
            raise UsageError(
                f"unknown option {word}{_meant(word)}; th -h lists what is accepted before the script"
            )
        else:
            command.script, command.arguments = word, words
            break
        command.words += argv[first : len(argv) - len(words)]
    _check(command)
    return command


def _meant(word: str) -> str:
    import difflib

    options = re.findall(r"(?<=[ ,(])--?[a-z-]+", USAGE)
    close = difflib.get_close_matches(word.partition("=")[0], options, n=1, cutoff=0.7)
    return f" (did you mean {close[0]}?)" if close else ""


def _kernel_place(word: str, words: list[str]) -> str:
    if word == "--user":
        return word
    option, folder = _option_value(word, words)
    if not folder or folder.startswith("-"):
        raise UsageError(f"option {option} needs a folder after it")
    return os.path.abspath(folder)


def _option_value(word: str, words: list[str]) -> tuple[str, str]:
    """Returns an option and its value: what follows a '=', or the next of the words, which is removed."""
    option, equals, value = word.partition("=")
    return option, value if equals else words.pop(0) if words else ""


def _gpus(option: str, text: str) -> dict[int, int]:
    """Returns the GPU for each device: 'G' of --gpu, 'D=G,...' of --gpus. All count from 1."""
    pairs = [f"{ANY_DEVICE}={text}"] if option == "--gpu" else text.split(",")
    found = [re.fullmatch(r"(\d{1,3})=([1-9]\d{0,2})", pair) for pair in pairs]
    if not all(found) or (option == "--gpus" and any(pair.startswith("0") for pair in pairs)):
        accepted = "a GPU's number, from 1"
        if option == "--gpus":
            accepted = "devices and GPUs, both from 1, such as 8=1,7=2"
        raise UsageError(f"option {option} needs {accepted}, not '{text}'")
    return {int(pair[1]): int(pair[2]) for pair in found if pair is not None}


def _positive(option: str, text: str) -> float:
    try:
        value = float(text) if option == "--time" else int(text)
    except ValueError:
        value = 0
    if not 0 < value < 1e9:
        raise UsageError(f"option {option} needs a number above 0 after it, not '{text}'")
    return value


def _check(command: Command) -> None:
    if command.script is not None and not os.path.isfile(command.script):
        ours = _SCRIPTS_OF_OURS.get(os.path.basename(command.script))
        instead = f", or use {ours}, which takes the same options" if ours else ""
        raise UsageError(f"no script {command.script!r}: give the path of a Lua file{instead}")
    if command.rocks and (command.script is None or command.steps or command.interactive or command.sandbox):
        raise UsageError("--rocks reads one script: give its path, and none of -l, -e, -i, --sandbox")
    if command.kernel_place and not command.install_kernel:
        raise UsageError("--user and --prefix say where --install-kernel writes: add --install-kernel")
    if (command.install_kernel or command.kernel is not None) and (
        command.script is not None
        or command.interactive
        or command.sandbox
        or (command.install_kernel and command.kernel is not None)
    ):
        raise UsageError("--install-kernel takes no script, and none of -i, --sandbox, --rocks")
    if command.sandbox:
        if (
            command.script is None
            or command.steps
            or command.interactive
            or command.globals
            or command.cpu_as_cuda
            or command.gpus
            or command.same_order
            or command.trust_functions
            or command.ways
            or command.way
        ):
            raise UsageError(
                "--sandbox runs one script: give its path, and none of -l, -e, -i, -g, --cpu-as-cuda,"
                " --gpus, --same-order, --trust-functions, --ways, --way"
            )
    elif command.cpu_as_cuda and command.gpus:
        raise UsageError("--cpu-as-cuda puts the CPU in place of every device: omit --gpus and --gpu")
    elif command.limits:
        raise UsageError("--memory, --time and --output are limits of --sandbox: add --sandbox")


def main(argv: Sequence[str] | None = None) -> int:
    """Runs ``th`` and returns its exit code: the script's own, 1 after an uncaught error, 2 for misuse, 4
    where a limit of the sandbox ended it, 130 on Ctrl-C.

    Without ``argv`` the process is th's own, and ended at once: taking Python and the state apart takes
    longer than loading nn.
    """
    if argv is not None:
        return _main(list(argv), own_process=False)[0]
    code, runtime = _main(sys.argv[1:], own_process=True)
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
    except OSError:
        code = code or 1
    sys.stderr.flush()
    if runtime is not None:
        runtime.end_process_with(code & 255)
        del runtime
    ctypes.CDLL(None).fflush(None)  # files that Lua has open
    os._exit(code & 255)


def _main(words: list[str], own_process: bool) -> tuple[int, Runtime | None]:
    """Returns the exit code, and the script's state where it has come to its end."""
    closed = open_closed_streams()
    if words and words[0] in ("-h", "--help"):
        sys.stdout.write(USAGE)
        return 0, None
    if words and words[0] in ("-v", "--version"):
        from convnet_benchmarks.nets.version import version_line

        print(version_line("th"))
        return 0, None
    try:
        command = parse(words)
    except UsageError as error:
        print(f"th: {error}", file=sys.stderr)
        return USAGE_ERROR, None
    if command.install_kernel:
        return _install_kernel(command), None
    if without_folder():
        print("th: the working folder has been deleted; start th in one that exists", file=sys.stderr)
        return USAGE_ERROR, None
    if "stdout" in closed:
        let_stdout_fail()
    if own_process:
        wait_briefly(os.environ)
    try:
        if command.sandbox:
            return _run_in_sandbox(command), None
    except KeyboardInterrupt:
        print("th: interrupted", file=sys.stderr)
        return INTERRUPTED, None
    if _wants_prompt(command) and sys.stdin.isatty() and not _has_prompt_toolkit():
        print("th: the prompt needs the package prompt_toolkit: pip install prompt_toolkit", file=sys.stderr)
        return USAGE_ERROR, None
    if command.same_order and own_process:
        from lua_compat.runtime.hash_seed import restart_with_fixed_addresses

        try:
            restart_with_fixed_addresses()
        except CannotFixOrder as error:
            print(f"th: --same-order: {error}", file=sys.stderr)
            return USAGE_ERROR, None
    if (
        own_process and command.kernel is None
    ):  # a program of its own ends when the reader of its stdout goes away (| head)
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    crew = Crew(owns_process=own_process, alike=command.same_order)
    code, runtime = _run(command, crew)
    if lost_output() and code == 0:
        print("th: cannot write to standard output", file=sys.stderr)
        code = 1
    crew.leave(code)
    return code, runtime


def _run(command: Command, crew: Crew) -> tuple[int, Runtime | None]:
    """Returns ``_main``'s results, after a message where an error or Ctrl-C ended the script."""
    try:
        with interruptible() as interrupts:
            return _execute(command, crew, interrupts)
    except LuaError as error:
        print(f"th: {error}", file=sys.stderr)
        return 1, None
    except CannotFixOrder as error:
        print(f"th: --same-order: {error}", file=sys.stderr)
        return USAGE_ERROR, None
    except KeyboardInterrupt:
        print("th: interrupted", file=sys.stderr)
        return INTERRUPTED, None


def _install_kernel(command: Command) -> int:
    try:
        from lua_compat.notebook.installation import CannotInstall, install
    except ImportError as error:
        from lua_compat.optional_packages import pip_install

        needed = f"needs the package {error.name}: {pip_install('jupyter')}"
        print(f"th: --install-kernel {needed}", file=sys.stderr)
        return USAGE_ERROR
    user = command.kernel_place == "--user"
    prefix = None if user else command.kernel_place or sys.prefix
    try:
        folder = install(command.words, user=user, prefix=prefix)
    except CannotInstall as error:
        print(f"th: --install-kernel: {error}", file=sys.stderr)
        return USAGE_ERROR
    print(f"The kernel itorch is in {folder}")
    return 0


def _reads_stdin(command: Command) -> bool:
    """Returns whether what is to be run comes from stdin."""
    return not (command.script or command.steps or command.interactive or command.kernel)


def _wants_prompt(command: Command) -> bool:
    return command.interactive or (_reads_stdin(command) and sys.stdin.isatty())


def _has_prompt_toolkit() -> bool:
    return find_spec("prompt_toolkit") is not None


def _run_in_sandbox(command: Command) -> int:
    from lua_compat.sandbox import LayersMissing, Limits
    from lua_compat.sandbox import run as run_in_sandbox

    assert command.script is not None
    limits = Limits(**command.limits)  # type: ignore[arg-type]
    try:
        outcome = run_in_sandbox(command.script, command.arguments, limits, weaker=command.weaker)
    except LayersMissing as problem:
        print(f"th: --sandbox: {problem}; --sandbox=weaker runs the script anyway", file=sys.stderr)
        return USAGE_ERROR
    except BrokenPipeError:  # the reader of our stdout went away (| head): the script has been ended
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python flushes again at exit
        return 0
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        print(f"th: sandbox: the script was ended: {error.strerror}", file=sys.stderr)
        return 1
    if outcome.layers:
        print(f"th: sandbox: enforced by {', '.join(outcome.layers)}", file=sys.stderr)
    if outcome.message:
        print(f"th: sandbox: {outcome.message}", file=sys.stderr)
    return outcome.exit_code


def _execute(command: Command, crew: Crew, interrupts: Interrupts) -> tuple[int, Runtime]:
    from lua_compat.runtime.state import Runtime

    program = command.script or "th"
    runtime = Runtime(
        program,
        command.arguments,
        cpu_as_cuda=command.cpu_as_cuda,
        gpus=command.gpus,
        same_order=command.same_order,
        crew=crew,
        trusted=TrustedFiles(program, command.trust_functions),
        way=command.way or ("any" if command.ways else None),
    )
    if crew.owns_process:
        gc.freeze()  # what has been loaded stays: looking at it once takes a millisecond
        gc.enable()
    try:
        return _run_all(runtime, command, interrupts), runtime
    finally:
        if command.ways:
            print(runtime.report_of_ways(), file=sys.stderr)


def _run_all(runtime: Runtime, command: Command, interrupts: Interrupts) -> int:
    if command.globals is not None:
        runtime.watch_globals(strict=command.globals == "strict")
    if command.rocks:
        return runtime.run_string("require('th.requires')(arg[0])")
    code = _run_steps(runtime, command)
    if code == 0 and command.kernel is not None:
        from lua_compat.notebook.kernel import run_kernel

        code = run_kernel(runtime, interrupts, command.kernel)
    if code == 0 and _wants_prompt(command):
        from lua_compat.cli.prompt import run_prompt

        code = run_prompt(runtime, interrupts)
    return code if runtime.exited else code or runtime.finish()


def _run_steps(runtime: Runtime, command: Command) -> int:
    """Runs the packages, code and script in their order, up to the first that ends th; returns its exit
    code."""
    for option, text in command.steps:
        if option == "-l" and not runtime.finds(text):
            print(f"th: -l {text}: no package '{text}' here or in Lua's path", file=sys.stderr)
            return USAGE_ERROR
        code = runtime.require(text) if option == "-l" else runtime.run_string(text)
        if code != 0:
            return code
    if command.script is not None:
        return runtime.run_file(command.script)
    if _reads_stdin(command) and not sys.stdin.isatty():
        return runtime.run_string(sys.stdin.read(), "=stdin")
    return 0
