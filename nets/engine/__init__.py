"""The fast CPU engine: runs the three phases of any torch.nn.Module on buffers and kernels of its own.

``lua_compat`` computes with the kernels that are exported here.
"""

from convnet_benchmarks.nets.engine.choice.algorithms import linear_candidates
from convnet_benchmarks.nets.engine.choice.effort import QUICK
from convnet_benchmarks.nets.engine.choice.options import BACKENDS, Options
from convnet_benchmarks.nets.engine.choice.times_file import cache_file
from convnet_benchmarks.nets.engine.choice.tuning import Tuner
from convnet_benchmarks.nets.engine.compilation import compile
from convnet_benchmarks.nets.engine.kernels import onednn
from convnet_benchmarks.nets.engine.kernels.compiled.ahead import start as compile_ahead
from convnet_benchmarks.nets.engine.kernels.im2col_gemm import Im2colGemm
from convnet_benchmarks.nets.engine.kernels.matrix_product import MatrixProduct
from convnet_benchmarks.nets.engine.memory import Memory
from convnet_benchmarks.nets.engine.mixed import MixedPhases
from convnet_benchmarks.nets.engine.plan import EnginePhases
from convnet_benchmarks.nets.engine.preparation import prepare
from convnet_benchmarks.nets.engine.report import LayerReport, Report
from convnet_benchmarks.nets.engine.shapes import PIECE_BYTES, ConvolutionShape, column_pieces, pad_into, runs
from convnet_benchmarks.nets.engine.trace import CompileError
from convnet_benchmarks.nets.engine.weights import StaleWeightError

__all__ = [
    "BACKENDS",
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
