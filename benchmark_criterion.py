#!/usr/bin/env python3
"""Drop-in for ``th benchmark_criterion.lua``: the same options, the same lines on stdout."""

import sys

if __name__ == "__main__":
    try:
        from convnet_benchmarks.commands.criterion import command

        code = command(sys.argv[1:])
    except KeyboardInterrupt:  # while the command was still being loaded
        print("benchmark_criterion.py: interrupted", file=sys.stderr)
        code = 130
    sys.exit(code)
