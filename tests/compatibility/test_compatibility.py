"""The runner of old applications, on a repository made for it."""

import json
from pathlib import Path

import pytest

from tests.compatibility import __main__ as command
from tests.compatibility import data, programs
from tests.compatibility.checkpoints import Side, compare
from tests.compatibility.recorded import FILE, Recorded
from tests.compatibility.repositories import REPOSITORIES, ROCKS
from tests.compatibility.repository import Checkpoint, Repository, Run
from tests.compatibility.stages import examine, required


def test_numbers_as_they_are_printed() -> None:
    text = "step 1 loss = 0.25 (3e-4)\nlayer2 x1\nloss = -7"
    assert programs.numbers(text, r"loss = *([-\d.]+)") == ["0.25", "-7"]
    assert programs.numbers(text, r".*") == ["1", "0.25", "3e-4", "-7"]
    assert programs.agree(["1.00001", "2"], ["1", "2"], 1e-4)
    assert not programs.agree(["1.1"], ["1"], 1e-4) and not programs.agree(["1"], ["1", "2"], 1e-4)


def test_packages_that_files_require(tmp_path: Path) -> None:
    folder = tmp_path / "me+mine"
    (folder / "util").mkdir(parents=True)
    (folder / "util" / "tools.lua").write_text("return 1")
    (folder / "main.lua").write_text(
        "require 'nn' require('util.tools') local x = require \"pl.path\" require './util/tools'\n"
        "require 'mine.x'\n"
        "local ok = pcall(function() require 'optional' end)\n-- require 'nothing'\n"
    )
    assert required(folder) == ["nn", "pl.path"]


def test_packages_with_pip_and_with_rocks(tmp_path: Path) -> None:
    """A package of ROCKS is missing with pip alone; a repository has itself; the rest of a report is kept."""
    repositories = tmp_path / "repositories"
    (repositories / "torchnet+torchnet").mkdir(parents=True)
    (repositories / "torchnet+torchnet" / "init.lua").write_text("return {}\n")
    (repositories / "torchnet+torchnet" / "test.lua").write_text("require 'torchnet' require 'nn'\n")
    (repositories / "fmassa+optimize-net").mkdir()
    (repositories / "fmassa+optimize-net" / "init.lua").write_text("require 'torchnet' require 'nosuch.x'\n")
    report, page = tmp_path / "report.json", tmp_path / "page.md"
    kept = {"commit": "c0ffee", "licence": "MIT", "stage": "bits equal", "date": "2020-01-02"}
    names = ("fmassa/optimize-net", "torchnet/torchnet")
    report.write_text(json.dumps({"date": "", "results": [{"name": name, **kept} for name in names]}))

    assert command.main([str(repositories), "--packages", "--json", str(report), "--out", str(page)]) == 0
    rows = [line.split(" | ")[3:6] for line in page.read_text().splitlines() if line.startswith("| [")]
    assert rows == [["nosuch, torchnet", "nosuch", "bits equal"], ["all", "all", "bits equal"]]
    assert "- 1 have all the packages they require with nothing but pip, 1 with rocks." in page.read_text()


def test_the_list_names_each_repository_once() -> None:
    names = [repository.name for repository in REPOSITORIES]
    assert len(set(names)) == len(names) >= 80
    assert all(repository.commit and repository.licence for repository in REPOSITORIES)
    assert {repository for repository, _ in ROCKS.values()} <= set(names)


def test_commands_of_a_repository_differ() -> None:
    """What Torch7 printed is kept by the command."""
    for repository in REPOSITORIES:
        commands = [run.command for run in repository.runs]
        assert len(set(commands)) == len(commands), repository.name


def test_data_comes_from_the_seed(tmp_path: Path) -> None:
    make = data.all_of(
        data.text("a.txt", 30), data.tensor("b.t7", 3, 2), data.mnist_of_lecun("m", 2, 1),
        data.cifar_of_resnets(2, 1), data.vgg("p", "c", 16), data.torch_rnn("x.h5", "x.json"),
    )  # fmt: skip
    for name, seed in (("one", 1), ("again", 1), ("other", 2)):
        (tmp_path / name).mkdir()
        make(tmp_path / name, seed)

    def contents(name: str) -> dict[str, bytes]:
        folder = tmp_path / name
        files = sorted(path for path in folder.rglob("*") if path.is_file() and path.suffix != ".h5")
        return {str(path.relative_to(folder)): path.read_bytes() for path in files}

    assert contents("one") == contents("again")
    assert contents("one")["a.txt"] != contents("other")["a.txt"]


def test_what_torch7_printed_is_kept(tmp_path: Path) -> None:
    file = tmp_path / "recorded.json"
    kept = Recorded({})
    kept.keep("you/yours", "a.lua", ["1", "2.50"])
    kept.keep("me/mine", "b.lua -x '1'", [])
    kept.write(file)
    again = Recorded.read(file)
    assert again.numbers("you/yours", "a.lua") == ["1", "2.50"]
    assert (
        again.numbers("you/yours", "b.lua") is None
        and Recorded.read(tmp_path / "none").numbers("a", "b") is None
    )


def test_recorded_numbers_are_of_commands_on_the_list() -> None:
    commands = {(one.name, run.command) for one in REPOSITORIES for run in one.runs if run.printed}
    recorded = json.loads(FILE.read_text(encoding="utf-8"))
    assert {(name, command) for name, found in recorded.items() for command in found} <= commands
    assert len(recorded) >= 30


def test_a_folder_without_repositories_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.main([str(tmp_path)]) == 2
    assert "holds none of the" in capsys.readouterr().err
    for options, words in (
        (["--record"], "name one with --torch7"),
        (["--resume"], "the file of --json"),
        (["--packages"], "which is not there"),
    ):
        with pytest.raises(SystemExit):
            command.main([str(tmp_path), *options])
        assert words in capsys.readouterr().err


@pytest.mark.slow
def test_how_far_repositories_come(tmp_path: Path) -> None:
    folder = tmp_path / "me+mine"
    folder.mkdir()
    (folder / "good.lua").write_text(
        "require 'nn'\nprint('value 0.5 ' .. io.open('n.txt'):read('*l'))\nif arg[1] then error(arg[1]) end\n"
    )
    (folder / "endless.lua").write_text("while true do print(torch.random()) end\n")

    def make(place: Path, seed: int) -> None:
        (place / "n.txt").write_text(f"{seed}\n")

    ours = programs.th([])
    limit = 120.0

    def result_of(*runs: Run) -> tuple[str, str]:
        repository = Repository("me/mine", "c0ffee", "MIT", runs, make)
        result = examine(repository, folder, [], ours, limit)
        return result.stage, result.problem

    assert result_of(Run("good.lua", printed=".*")) == ("bits equal", "")
    assert result_of(Run.code("require 'nn' print(1 / 3)")) == ("bits equal", "")
    assert result_of(Run("good.lua"), Run("endless.lua", lines=3)) == ("runs to its end", "")
    stage, problem = result_of(Run("good.lua"), Run("good.lua 'too bad'"))
    assert stage == "runs in part" and "good.lua:3: too bad" in problem
    assert not (folder / "n.txt").exists()

    (folder / "more.lua").write_text("require 'nosuchpackage'\n")
    stage, problem = result_of()
    assert (stage, problem) == ("files parse", "module 'nosuchpackage' not found")
    (folder / "more.lua").write_text("x = = 1\n")
    result = examine(Repository("me/mine", "c0ffee", "MIT"), folder, [], None, limit)
    assert result.stage == "packages load" and result.problem.startswith("more.lua: 1: unexpected symbol")
    json.dumps(result.as_dict())


@pytest.mark.slow
def test_a_checkpoint_continues_on_both_sides(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    write = "torch.manualSeed(1) torch.save('a.t7', torch.randn(2)) "
    th = programs.th([])

    def side(name: str) -> Side:
        return Side(name, lambda run, inside: [*th, *run.words])

    def compared(resume: str, place: str) -> list[tuple[object, str]]:
        (tmp_path / place).mkdir()
        checkpoint = Checkpoint(Run.code(write), Run.code(resume))
        found = compare(checkpoint, (side("ours"), side("others")), folder, tmp_path / place, [], 120.0)
        return [(entry.get("same_digits"), entry["problem"]) for entry in found]

    assert compared("print(torch.load('a.t7'):sum())", "equal") == [(True, ""), (True, "")]
    for _, problem in compared("print(io.open('/dev/urandom', 'rb'):read(1):byte() + os.clock())", "other"):
        assert "numbers differ" in problem
    for _, problem in compared("error('no')", "fails"):
        assert "no" in problem
