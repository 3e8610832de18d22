"""The command ``convnet-benchmarks``, also ``python -m convnet_benchmarks``."""

import sys

from convnet_benchmarks.nets.ctrl_c import start


def main() -> int:
    """Runs the command; returns its exit code."""
    return start("convnet-benchmarks", "convnet_benchmarks.cli", "main")


if __name__ == "__main__":
    sys.exit(main())
