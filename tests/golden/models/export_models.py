"""Writes what from_torch makes of every module in models.t7, for check_models.lua to run in real Torch7.

usage: python tests/golden/models/export_models.py OUT.t7     (from the repository's root)
"""

import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from lua_compat import t7
from lua_compat.conversion import from_torch, to_torch


def main(target: str) -> None:
    exported = []
    for case in t7.load(Path(__file__).with_name("models.t7")).array():
        record = t7.LuaTable(case)
        record["module"] = from_torch(to_torch(case["module"]), dtype=torch.float64)
        exported.append(record)
    t7.save(target, t7.LuaTable.from_list(exported))


if __name__ == "__main__":
    main(sys.argv[1])
