"""Measurements for a machine with a CUDA GPU (docs/gpu.md): parts/ lists them, checks/ has its own ones."""
