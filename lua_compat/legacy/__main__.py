"""``python -m lua_compat.legacy program.py ...`` runs a program of PyTorch 0.4's time as it is."""

import runpy
import sys
from pathlib import Path

from lua_compat.legacy import install

if __name__ == "__main__":
    if len(sys.argv) < 2 or not Path(sys.argv[1]).is_file():
        print("usage: python -m lua_compat.legacy PROGRAM.py [ARGUMENT ...]", file=sys.stderr)
        sys.exit(2)
    del sys.argv[0]
    sys.path[0] = str(Path(sys.argv[0]).resolve().parent)
    install()
    runpy.run_path(sys.argv[0], run_name="__main__")
