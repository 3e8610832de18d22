"""argparse with its complaints as one line on stderr."""

import argparse
from typing import NoReturn

from convnet_benchmarks.errors import UserError


class OneLineParser(argparse.ArgumentParser):
    """Raises UserError where argparse prints its usage and exits."""

    def error(self, message: str) -> NoReturn:
        raise UserError(message.replace("argument ", "", 1))


def natural(text: str) -> int:
    """An option's whole number from 0 up."""
    if not text.isascii() or not text.isdigit():
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number from 0 up")
    return int(text)
