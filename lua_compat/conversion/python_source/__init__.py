"""Nets written as Python files that need PyTorch alone."""
