"""argparse with its complaints as one line on stderr."""

import argparse
from typing import NoReturn

from convnet_benchmarks.errors import UserError


class OneLineParser(argparse.ArgumentParser):
    """Raises UserError where argparse prints its usage and exits."""

    def error(self, message: str) -> NoReturn:
        raise UserError(message.replace("argument ", "", 1))


_MOST_THREADS = 1024
_LARGEST_SEED = 2**32 - 1


def thread_count(text: str) -> int:
    """An option's number of CPU threads. PyTorch takes any, and fails later where there are too many."""
    return _whole_number(text, 1, _MOST_THREADS)


def seed(text: str) -> int:
    """An option's seed: Torch7's generator takes 32 bits."""
    return _whole_number(text, 0, _LARGEST_SEED)


def _whole_number(text: str, least: int, most: int) -> int:
    if not text.isascii() or not text.isdigit() or not least <= int(text) <= most:
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number from {least} to {most}")
    return int(text)


def natural(text: str) -> int:
    """An option's whole number from 0 up."""
    if not text.isascii() or not text.isdigit():
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number from 0 up")
    return int(text)
