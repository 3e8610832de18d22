"""python -m benchmarks.gpu.in_folder FOLDER MODULE ...: runs a module of this checkout in a folder.

Scripts of Torch7 read the files beside them from the working folder.
"""

import os
import runpy
import sys
from pathlib import Path

if __name__ == "__main__":
    root = str(Path(__file__).resolve().parents[2])
    folder, module, *arguments = sys.argv[1:]
    sys.path.insert(0, root)
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))
    os.chdir(folder)
    sys.argv = [module, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)
