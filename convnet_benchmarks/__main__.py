"""The command ``convnet-benchmarks``, also ``python -m convnet_benchmarks``."""

import sys


def main() -> int:
    """Runs the command and returns its exit code; a Ctrl-C while it is being loaded gives no traceback."""
    try:
        from convnet_benchmarks.cli import main as convnet_benchmarks

        return convnet_benchmarks()
    except KeyboardInterrupt:
        print("convnet-benchmarks: interrupted", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
