"""argparse whose errors are one line on stderr."""

import argparse
from collections.abc import Sequence
from typing import Any, NoReturn

from convnet_benchmarks.errors import UserError, did_you_mean, unknown
from convnet_benchmarks.nets.version import version_line


class ShowVersion(argparse.Action):
    """Prints the program's version line and ends with exit code 0.

    argparse's own action takes the line itself, so packages' metadata would be read at every start.
    """

    def __init__(self, option_strings: Sequence[str], dest: str, **kwargs: Any) -> None:
        about = "print the versions of this program, PyTorch and Python"
        super().__init__(option_strings, argparse.SUPPRESS, nargs=0, default=argparse.SUPPRESS, help=about)

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> NoReturn:
        print(version_line(parser.prog))
        parser.exit()


class OneLineParser(argparse.ArgumentParser):
    """Raises UserError if argparse prints its usage and exits; has --version."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.add_argument("--version", action=ShowVersion)

    def error(self, message: str) -> NoReturn:
        rest = message.removeprefix("unrecognized arguments: ")
        if rest != message:
            raise UserError(self._unrecognized(rest.split(" ", 1)[0]))
        raise UserError(
            message.replace("argument ", "option " if message.startswith("argument -") else "", 1)
        )

    def _unrecognized(self, word: str) -> str:
        option = word.partition("=")[0]
        if not option.startswith("-"):
            return f"unexpected argument '{word}'; see --help"
        return f"unknown option {option}{did_you_mean(option, self._option_string_actions)}; see --help"

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            raise argparse.ArgumentError(action, unknown("value", str(value), list(map(str, action.choices))))
