"""The GPU engine: the three phases of any torch.nn.Module, each layer by the fastest way."""

from convnet_benchmarks.nets.gpu_engine.compilation import GpuPhases, compile

__all__ = ["GpuPhases", "compile"]
