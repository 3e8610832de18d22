"""The networks: plain ``torch.nn`` modules, a registry, Torch7's generator and initialisation.

Other folders called ``nets`` on Python's path, such as one of the user's, add their modules to this package;
where both have a module of the same name, this project's is the one that is imported.
"""

import sys
from pathlib import Path

_ours = Path(__path__[0]).resolve()
# (An entry without one is not made absolute, which raises where the working folder has been deleted.)
_others = (Path(entry).resolve() / "nets" for entry in sys.path if Path(entry, "nets").is_dir())
__path__ += [str(folder) for folder in _others if folder != _ours]
