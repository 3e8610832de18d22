"""The GPU engine: the three phases of any torch.nn.Module, each layer by the way found fastest."""

from convnet_benchmarks.nets.gpu_engine.compilation import GpuPhases, compile

__all__ = ["GpuPhases", "compile"]
