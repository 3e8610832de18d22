"""The networks: plain ``torch.nn`` modules, a registry, Torch7's generator and initialisation.

Other folders called ``nets`` on Python's path, such as one of the user's, add their modules to this package;
where both have a module of the same name, this project's is the one that is imported.
"""

import os
import sys

_ours = os.path.realpath(__path__[0])
# (An entry without one is not made absolute, which raises where the working folder has been deleted.)
_folders = (os.path.join(entry, "nets") for entry in sys.path)
_others = (os.path.realpath(folder) for folder in _folders if os.path.isdir(folder))
__path__ += [folder for folder in _others if folder != _ours]
