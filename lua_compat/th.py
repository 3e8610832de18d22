"""The command ``th``: runs Lua scripts of Torch7 on PyTorch."""

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field

USAGE = """\
usage: th [-l PACKAGE]... [-e CODE]... [SCRIPT [ARGUMENT...]]

Runs a Lua script written for Torch7, on PyTorch.
  -l PACKAGE   require PACKAGE first and keep it in a global of its name
  -e CODE      run CODE (before the script, if there is one)
  -h, --help   show this text
Everything after SCRIPT goes to the script, which finds it in the table arg.
"""
USAGE_ERROR = 2


@dataclass
class Command:
    """What the command line asks for; ``steps`` are ('-l', package) and ('-e', code) in their order."""

    steps: list[tuple[str, str]] = field(default_factory=list)
    script: str | None = None
    arguments: list[str] = field(default_factory=list)


class UsageError(Exception):
    """The command line cannot be understood."""


def parse(argv: Sequence[str]) -> Command:
    """Raises UsageError; -h is left to ``main``."""
    command = Command()
    words = list(argv)
    while words:
        word = words.pop(0)
        if word in ("-l", "-e"):
            if not words:
                raise UsageError(
                    f"option {word} needs {'a package' if word == '-l' else 'Lua code'} after it"
                )
            command.steps.append((word, words.pop(0)))
        elif word.startswith("-") and word != "-":
            raise UsageError(
                f"unknown option {word}: -l PACKAGE, -e CODE and -h are accepted before the script"
            )
        else:
            command.script, command.arguments = word, words
            break
    if command.script is None and not command.steps:
        raise UsageError("nothing to run: give a script or -e CODE")
    if command.script is not None and not os.path.isfile(command.script):
        raise UsageError(f"no script {command.script!r}: give the path of a Lua file")
    return command


def main(argv: Sequence[str] | None = None) -> int:
    """Runs ``th``; exit code: the script's own, 1 after an uncaught error, 2 for misuse, 130 on Ctrl-C."""
    words = sys.argv[1:] if argv is None else list(argv)
    if words and words[0] in ("-h", "--help"):
        sys.stdout.write(USAGE)
        return 0
    try:
        command = parse(words)
    except UsageError as error:
        print(f"th: {error}", file=sys.stderr)
        return USAGE_ERROR
    from lua_compat.runtime import INTERRUPTED, LuaError, interruptible

    try:
        with interruptible():
            return _execute(command)
    except LuaError as error:
        print(f"th: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("th: interrupted", file=sys.stderr)
        return INTERRUPTED


def _execute(command: Command) -> int:
    from lua_compat.runtime import Runtime

    runtime = Runtime(command.script or "th", command.arguments)
    for option, text in command.steps:
        code = runtime.require(text) if option == "-l" else runtime.run_string(text)
        if code != 0:
            return code
    return runtime.run_file(command.script) if command.script is not None else 0
