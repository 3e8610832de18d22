"""The networks: plain ``torch.nn`` modules, a registry, Torch7's generator and initialisation.

Imported as ``convnet_benchmarks.nets``, a link to this folder, so that users may have their own ``nets``.
"""

import os
import sys

if __name__ == "nets":  # a clone's, on the path beside folders of that name without an __init__.py
    _ours = os.path.realpath(__path__[0])
    _folders = (os.path.join(entry, "nets") for entry in sys.path)
    __path__ = [each for each in _folders if os.path.isdir(each) and os.path.realpath(each) != _ours]
