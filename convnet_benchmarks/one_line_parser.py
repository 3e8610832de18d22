"""argparse with its complaints as one line on stderr."""

import argparse
from typing import NoReturn

from convnet_benchmarks.errors import UserError


class OneLineParser(argparse.ArgumentParser):
    """Raises UserError where argparse prints its usage and exits."""

    def error(self, message: str) -> NoReturn:
        raise UserError(message.replace("argument ", "", 1))


_MOST_THREADS = 1024
_SEEDS = 1 << 32


def thread_count(text: str) -> int:
    """An option's number of CPU threads. PyTorch takes any, and fails later where there are too many."""
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= _MOST_THREADS:
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number from 1 to {_MOST_THREADS}")
    return int(text)


def seed(text: str) -> int:
    """An option's seed: Torch7's generator takes 32 bits."""
    if not text.isascii() or not text.isdigit() or int(text) >= _SEEDS:
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number from 0 to {_SEEDS - 1}")
    return int(text)


def natural(text: str) -> int:
    """An option's whole number from 0 up."""
    if not text.isascii() or not text.isdigit():
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number from 0 up")
    return int(text)
