#!/usr/bin/env python3
"""Drop-in for ``th benchmark.lua``: the same options, the same lines on stdout."""

import sys

from convnet_benchmarks.nets.ctrl_c import start

if __name__ == "__main__":
    module = "convnet_benchmarks.commands.benchmark"
    sys.exit(start("benchmark.py", module, "command", sys.argv[1:]))
