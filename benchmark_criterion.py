#!/usr/bin/env python3
"""Drop-in for ``th benchmark_criterion.lua``: the same options, the same lines on stdout."""

import sys

from convnet_benchmarks.nets.ctrl_c import start

if __name__ == "__main__":
    module = "convnet_benchmarks.commands.criterion"
    sys.exit(start("benchmark_criterion.py", module, "command", sys.argv[1:]))
