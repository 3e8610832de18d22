"""Kernels in Triton: float32 convolutions and matrix products on tensor cores."""
