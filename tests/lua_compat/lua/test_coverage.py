"""docs/lua-coverage.md is what the code gives."""

import os
import subprocess
import sys

from tests.helpers.places import ROOT


def test_the_page_is_what_the_code_gives() -> None:
    command = [sys.executable, "docs/lua_coverage/generate.py"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    result = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment)
    assert result.returncode == 0, result.stderr
    assert result.stdout == (ROOT / "docs/lua-coverage.md").read_text(encoding="utf-8"), (
        "python docs/lua_coverage/generate.py > docs/lua-coverage.md"
    )
