"""Every benchmark starts in the same way."""

import importlib

import pytest

from tests.helpers.places import ROOT

NAMES = [
    path.stem
    for path in sorted((ROOT / "benchmarks").glob("*.py"))
    if "__main__" in path.read_text(encoding="utf-8")
]


@pytest.mark.parametrize("name", NAMES)
def test_it_is_run_as_a_module_and_says_so(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    module = importlib.import_module(f"benchmarks.{name}")
    assert f"    python -m benchmarks.{name}" in module.__doc__
    monkeypatch.setattr("sys.argv", ["it", "--help"])
    with pytest.raises(SystemExit) as ended:
        module.main()
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith(f"usage: python -m benchmarks.{name} ")


def test_none_runs_as_a_file() -> None:
    """So that one way of starting works for all of them: each needs the package around it."""
    sources = {name: (ROOT / "benchmarks" / f"{name}.py").read_text(encoding="utf-8") for name in NAMES}
    assert len(sources) > 10
    assert [name for name, text in sources.items() if "\nfrom benchmarks" not in text] == []
