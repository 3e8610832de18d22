"""The nets, one module per family.

Each module has ``NETS``, a tuple of ``Net`` (``nets/net.py``): that is all the registry asks for. Torch is
imported inside the functions that define modules, so that names, counts and sources are known at once.
"""
