"""Torch7's layers missing from ``torch.nn``, as ``torch.nn`` Modules under their Torch7 names.

Tables are Python lists, and dimensions and indices count from 1, as the fields of the Torch7 classes do.
"""
