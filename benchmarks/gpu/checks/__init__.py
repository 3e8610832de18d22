"""Measurements that no command of convnet-benchmarks makes.

    python -m benchmarks.gpu.checks.NAME RESULT [--small]

Each writes its result into the file RESULT, as JSON, and exits with 1 if a target is missed (docs/gpu.md).
"""
