"""Torch7's layers that ``torch.nn`` has not, as ``torch.nn`` Modules under their Torch7 names.

Tables are Python lists, and dimensions and indices count from 1, as the fields of the Torch7 classes do.
"""
