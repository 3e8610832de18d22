"""argparse for the subcommands: a complaint is one line."""

import argparse
from typing import NoReturn

from convnet_benchmarks.errors import UserError


class CommandParser(argparse.ArgumentParser):
    """An ArgumentParser that raises UserError instead of printing its usage and exiting."""

    def error(self, message: str) -> NoReturn:
        raise UserError(f"{message.replace('argument ', '', 1)} (see {self.prog} --help)")


def not_negative(text: str) -> float:
    """A finite number from 0 up, as an argparse type."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"'{text}' is not a number from 0 up")
    return value
