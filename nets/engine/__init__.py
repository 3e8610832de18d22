"""The fast CPU engine: runs the three phases of any torch.nn.Module on buffers and kernels of its own.

``lua_compat`` computes with the kernels that are exported here.
"""

from nets.engine.choice.algorithms import linear_candidates
from nets.engine.choice.effort import QUICK
from nets.engine.choice.times_file import cache_file
from nets.engine.choice.tuning import Tuner
from nets.engine.compilation import BACKENDS, compile
from nets.engine.kernels import onednn
from nets.engine.kernels.compiled.ahead import start as compile_ahead
from nets.engine.kernels.im2col_gemm import Im2colGemm
from nets.engine.kernels.matrix_product import MatrixProduct
from nets.engine.memory import Memory
from nets.engine.plan import EnginePhases
from nets.engine.report import LayerReport, Report
from nets.engine.shapes import PIECE_BYTES, ConvolutionShape, column_pieces, pad_into, runs
from nets.engine.trace import CompileError
from nets.engine.weights import StaleWeightError

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
    "runs",
]
