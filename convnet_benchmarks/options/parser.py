"""argparse with its complaints as one line on stderr."""

import argparse
from typing import NoReturn

from convnet_benchmarks.errors import UserError


class OneLineParser(argparse.ArgumentParser):
    """Raises UserError where argparse prints its usage and exits."""

    def error(self, message: str) -> NoReturn:
        raise UserError(message.replace("argument ", "", 1))
