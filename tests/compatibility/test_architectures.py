"""The comparison of architectures, with a repository made here in the place of other people's."""

from pathlib import Path

import pytest

from tests.compatibility.architectures import __main__ as program
from tests.compatibility.architectures.listed import ARCHITECTURES, Architecture

OWN_CLASS = """
local Twice, parent = torch.class('nn.Twice', 'nn.Module')
function Twice:updateOutput(input) return self.output:resizeAs(input):copy(input):mul(2) end
function Twice:updateGradInput(input, gradOutput)
   return self.gradInput:resizeAs(gradOutput):copy(gradOutput):mul({factor})
end
"""
BUILD = "dofile('Twice.lua') return nn.Sequential():add(nn.Linear(3, 2)):add(nn.Twice()), values(4, 3)"


def test_there_are_enough_and_each_has_a_name_of_its_own() -> None:
    assert len(ARCHITECTURES) > 100
    assert len({one.title for one in ARCHITECTURES}) == len(ARCHITECTURES)


@pytest.mark.parametrize(
    ("build", "lua", "factor", "outcome"),
    [
        (BUILD, ("Twice.lua",), 2, "equal"),
        (BUILD, (), 2, "not converted: root.modules[2]: nn.Twice has no counterpart"),
        ("error('no such net')", (), 2, "not built: th: "),
    ],
)
def test_a_net_is_built_and_compared(
    build: str,
    lua: tuple[str, ...],
    factor: int,
    outcome: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "own+nets").mkdir()
    (tmp_path / "own+nets" / "Twice.lua").write_text(OWN_CLASS.format(factor=factor))
    monkeypatch.setattr(program, "ARCHITECTURES", [Architecture("own/nets", "net", build, lua)])
    assert program.main([str(tmp_path)]) == (outcome != "equal")
    assert capsys.readouterr().out.startswith(f"own/nets net: {outcome}")
