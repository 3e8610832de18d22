"""The fast CPU engine: runs the three phases of any torch.nn.Module on buffers and kernels of its own.

``lua_compat`` computes with the kernels that are exported here.
"""

import importlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from convnet_benchmarks.nets.engine.ahead import compile_ahead
    from convnet_benchmarks.nets.engine.choice.algorithms import linear_candidates
    from convnet_benchmarks.nets.engine.choice.effort import EFFORTS, QUICK
    from convnet_benchmarks.nets.engine.choice.options import BACKENDS, Options
    from convnet_benchmarks.nets.engine.choice.times_file import cache_file
    from convnet_benchmarks.nets.engine.choice.tuning import Tuner
    from convnet_benchmarks.nets.engine.compilation import compile
    from convnet_benchmarks.nets.engine.kernels import onednn
    from convnet_benchmarks.nets.engine.kernels.im2col_gemm import Im2colGemm
    from convnet_benchmarks.nets.engine.kernels.matrix_product import MatrixProduct
    from convnet_benchmarks.nets.engine.memory import Memory
    from convnet_benchmarks.nets.engine.mixed import MixedPhases
    from convnet_benchmarks.nets.engine.plan import EnginePhases
    from convnet_benchmarks.nets.engine.preparation import prepare
    from convnet_benchmarks.nets.engine.report import LayerReport, Report
    from convnet_benchmarks.nets.engine.shapes import (
        PIECE_BYTES,
        ConvolutionShape,
        column_pieces,
        pad_into,
        runs,
    )
    from convnet_benchmarks.nets.engine.trace import CompileError
    from convnet_benchmarks.nets.engine.weights import StaleWeightError

# Each is imported when it is first used: a compiler may run before PyTorch is loaded.
_HOMES = {
    "BACKENDS": "choice.options",
    "EFFORTS": "choice.effort",
    "PIECE_BYTES": "shapes",
    "QUICK": "choice.effort",
    "CompileError": "trace",
    "ConvolutionShape": "shapes",
    "EnginePhases": "plan",
    "Im2colGemm": "kernels.im2col_gemm",
    "LayerReport": "report",
    "MatrixProduct": "kernels.matrix_product",
    "Memory": "memory",
    "MixedPhases": "mixed",
    "Options": "choice.options",
    "Report": "report",
    "StaleWeightError": "weights",
    "Tuner": "choice.tuning",
    "cache_file": "choice.times_file",
    "column_pieces": "shapes",
    "compile": "compilation",
    "compile_ahead": "ahead",
    "linear_candidates": "choice.algorithms",
    "onednn": "kernels.onednn",  # the module itself
    "pad_into": "shapes",
    "prepare": "preparation",
    "runs": "shapes",
}

__all__ = [
    "BACKENDS",
    "EFFORTS",
    "PIECE_BYTES",
    "QUICK",
    "CompileError",
    "ConvolutionShape",
    "EnginePhases",
    "Im2colGemm",
    "LayerReport",
    "MatrixProduct",
    "Memory",
    "MixedPhases",
    "Options",
    "Report",
    "StaleWeightError",
    "Tuner",
    "cache_file",
    "column_pieces",
    "compile",
    "compile_ahead",
    "linear_candidates",
    "onednn",
    "pad_into",
    "prepare",
    "runs",
]

if not TYPE_CHECKING:  # which would take it for every name

    def __getattr__(name: str) -> object:
        if name not in _HOMES:
            raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
        home = importlib.import_module(f"{__name__}.{_HOMES[name]}")
        found = home if home.__name__.endswith(f".{name}") else getattr(home, name)
        globals()[name] = found  # asked for once
        return found
