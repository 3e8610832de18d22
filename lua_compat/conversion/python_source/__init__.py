"""Nets written as Python files that need only PyTorch."""
