"""The functions of ``import convnet_benchmarks``: docs/python.md."""
