"""The fast CPU engine: runs the three phases of any torch.nn.Module on buffers and kernels of its own."""

from nets.engine.compilation import BACKENDS, compile
from nets.engine.kernels.compiled.ahead import start as compile_ahead
from nets.engine.plan import EnginePhases
from nets.engine.report import LayerReport, Report
from nets.engine.trace import CompileError
from nets.engine.weights import StaleWeightError

__all__ = [
    "BACKENDS",
    "CompileError",
    "EnginePhases",
    "LayerReport",
    "Report",
    "StaleWeightError",
    "compile",
    "compile_ahead",
]
