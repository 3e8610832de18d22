"""Installs the two legacy scripts as commands; everything else is in pyproject.toml."""

from setuptools import setup

setup(scripts=["benchmark.py", "benchmark_criterion.py"])
