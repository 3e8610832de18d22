"""docs/lua-coverage.md is what the code gives."""

from tests.helpers.commands import run_python
from tests.helpers.places import ROOT


def test_the_page_is_what_the_code_gives() -> None:
    result = run_python("docs/lua_coverage/generate.py")
    assert result.returncode == 0, result.stderr
    assert result.stdout == (ROOT / "docs/lua-coverage.md").read_text(encoding="utf-8"), (
        "python docs/lua_coverage/generate.py > docs/lua-coverage.md"
    )
