#!/usr/bin/env python3
"""Drop-in for ``th benchmark.lua``: the same options, the same lines on stdout."""

import sys

from convnet_benchmarks.commands.benchmark import command

if __name__ == "__main__":
    sys.exit(command(sys.argv[1:]))
