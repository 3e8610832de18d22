"""The command line that all benchmarks share: ``python -m benchmarks.NAME``, from the root of a checkout."""

import argparse


def parser(name: str, description: str | None) -> argparse.ArgumentParser:
    """Returns the parser of the benchmark ``name``; its help is the module's docstring."""
    return argparse.ArgumentParser(
        prog=f"python -m benchmarks.{name}",
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
