"""Measuring convnets: what is timed, how, and how results are kept and shown.

In Python: ``benchmark``, ``load``, ``compare`` and ``chart`` (docs/python.md).
"""

import importlib

TYPE_CHECKING = False  # typing itself is not loaded before a command takes over Ctrl-C
if TYPE_CHECKING:
    from convnet_benchmarks.api.benchmark import benchmark
    from convnet_benchmarks.api.charts import chart
    from convnet_benchmarks.api.results import compare, load

    __version__: str

# Each is imported when it is first used: a command need not load the others' modules.
_HOMES = {"benchmark": "benchmark", "load": "results", "compare": "results", "chart": "charts"}

__all__ = ["__version__", "benchmark", "chart", "compare", "load"]

if not TYPE_CHECKING:  # which would take it for every name

    def __getattr__(name: str) -> object:
        if name in _HOMES:
            return getattr(importlib.import_module(f"convnet_benchmarks.api.{_HOMES[name]}"), name)
        if name == "__version__":
            return importlib.import_module("convnet_benchmarks.nets.version").VERSION
        raise AttributeError(f"module 'convnet_benchmarks' has no attribute '{name}'")
