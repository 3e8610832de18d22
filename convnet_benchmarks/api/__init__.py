"""Offers ``import convnet_benchmarks`` its functions: docs/python.md."""
