"""The documentation agrees with the code: its paths, names, links, commands and options exist."""

import ast
import contextlib
import functools
import importlib
import io
import json
import re
import shlex
import textwrap
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
import torch

from convnet_benchmarks import cli
from convnet_benchmarks.commands import benchmark, criterion
from convnet_benchmarks.commands.report.data import ReportData
from convnet_benchmarks.nets import registry
from convnet_benchmarks.nets.engine import compile as compile_for_engine
from convnet_benchmarks.nets.engine import recognise
from convnet_benchmarks.results.load import load
from lua_compat.cli import th
from lua_compat.runtime.state import Runtime
from tests.helpers import made_results
from tests.helpers.places import ROOT

PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")]
PAGES += sorted((ROOT / "docs").glob("*.md"))
FOLDERS = ("benchmarks", "convnet_benchmarks", "docs", "examples", "lua_compat", "nets", "tests")
PACKAGES = ("convnet_benchmarks", "lua_compat")
SCRIPTS = {"benchmark.py": benchmark.command, "benchmark_criterion.py": criterion.command}

FENCE = re.compile(r"^```\w*\n(.*?)^```$", re.DOTALL | re.MULTILINE)
INDENTED = re.compile(r"(?:^ {4}.*\n|^\n(?= {4}))+", re.MULTILINE)
SPAN = re.compile(r"`([^`]+)`", re.DOTALL)
LINK = re.compile(r"\[[^\]]+\]\(([^)\s]+)\)")
PATH = re.compile(rf"(?<![\w/.~-])(?:{'|'.join(FOLDERS)})/[\w./-]*[\w/]")
OPTION = re.compile(r"(?<![\w-])--?[A-Za-z4][\w-]*")


def blocks(page: Path) -> list[str]:
    """Returns the code blocks of a page, fenced and indented, continued lines joined."""
    text = page.read_text(encoding="utf-8")
    found = [textwrap.dedent(block) for block in INDENTED.findall(FENCE.sub("", text))]
    return [block.replace("\\\n", " ") for block in [*FENCE.findall(text), *found]]


def spans(page: Path) -> list[str]:
    """Returns what a page has between backticks in its text."""
    text = INDENTED.sub("\n", FENCE.sub("", page.read_text(encoding="utf-8")))
    return [" ".join(span.split()) for span in SPAN.findall(text)]


def command_lines() -> Iterator[tuple[str, list[str]]]:
    """Yields the page and the words of every command line in a code block or between backticks."""
    for page in PAGES:
        for line in [line for block in blocks(page) for line in block.splitlines()] + spans(page):
            with contextlib.suppress(ValueError):  # output that has a lone quote
                words = shlex.split(line.removeprefix("$ ").replace("[", "").replace("]", ""), comments=True)
                if words:
                    yield page.name, words


@functools.cache
def help_of(program: str) -> str:
    """Returns the --help of a program: th, a legacy script, or a command of convnet-benchmarks."""
    with contextlib.redirect_stdout(io.StringIO()) as shown, contextlib.suppress(SystemExit):
        if program == "th":
            th.main(["--help"])
        elif program in SCRIPTS:
            SCRIPTS[program](["--help"])
        else:
            cli.main([program, "--help"])
    return shown.getvalue()


def same_spelling(option: str) -> str:
    return option.lstrip("-").replace("_", "-").removeprefix("no-")


def accepted(program: str) -> set[str]:
    return {same_spelling(option) for option in OPTION.findall(help_of(program))}


def options_by_program() -> Iterator[tuple[str, str, set[str]]]:
    """Yields page, program and options of every command line of a program of ours."""
    for page, words in command_lines():
        program, rest = words[0], words[1:]
        script = next((word for word in words if Path(word).name in SCRIPTS), None)
        if program == "convnet-benchmarks" and rest and rest[0] != "--help":
            program, rest = rest[0], rest[1:]
        elif program in ("python", "torchrun", ".venv/bin/python") and script:
            program, rest = Path(script).name, words[words.index(script) + 1 :]
        elif program == "th":  # what follows the script is for the script
            ends = [place for place, word in enumerate(rest) if word.endswith(".lua")]
            rest = rest[: ends[0]] if ends else rest
        else:
            continue
        yield page, program, {same_spelling(word) for word in rest if OPTION.fullmatch(word)}


def test_command_lines_name_commands_and_options_that_exist() -> None:
    known = {*cli.command_names(), *SCRIPTS, "th", "NAME"}
    found = list(options_by_program())
    assert len(found) > 50
    wrong = [f"{page}: {program}" for page, program, _ in found if program not in known]
    for page, program, options in found:
        if program in known - {"NAME"}:
            wrong += [f"{page}: {program} --{option}" for option in options - accepted(program)]
    assert wrong == []


def test_options_between_backticks_belong_to_a_program() -> None:
    scripts = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "benchmarks").rglob("*.py"))
    known = {same_spelling(option) for option in re.findall(r'"(--[\w-]+)"', scripts)}
    known = known.union(*(accepted(name) for name in (*cli.command_names(), *SCRIPTS, "th")))
    named = {(page.name, span) for page in PAGES for span in spans(page) if OPTION.match(span)}
    assert len(named) > 50
    assert [item for item in sorted(named) if same_spelling(re.split("[ =]", item[1])[0]) not in known] == []


def test_benchmarks_have_the_options_that_are_shown() -> None:
    def source(name: str) -> str:
        return (ROOT / "benchmarks" / f"{name}.py").read_text(encoding="utf-8")

    shared = source("helpers/lua_in_turns") + source("performance")
    shown = [words[1:] for _, words in command_lines() if words[0] == "python" and "-m" in words]
    shown = [words[1:] for words in shown if re.fullmatch(r"benchmarks\.[a-z]\w+", words[1])]
    assert shown
    for module, *rest in shown:
        known = source(module.partition(".")[2]) + shared
        assert [word for word in rest if OPTION.fullmatch(word) and f'"{word}"' not in known] == []


def test_paths_exist() -> None:
    """Paths from the root anywhere in the text; the ends of paths of code files between backticks."""
    found = (path.relative_to(ROOT) for name in FOLDERS for path in (ROOT / name).rglob("*.*"))
    files = {path.as_posix() for path in found if "__pycache__" not in path.parts}
    files |= {folder.as_posix() for file in files for folder in Path(file).parents}
    files |= {path.relative_to(ROOT).as_posix() for path in (*ROOT.iterdir(), *ROOT.glob("*/*"))}
    files |= {name.removeprefix("tests/") for name in files}  # the GPU's results name tests from there
    missing = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        missing += [f"{page.name}: {path}" for path in PATH.findall(text) if path.rstrip("/") not in files]
        for span in spans(page):
            if re.fullmatch(r"[\w./-]+\.(py|c|h)", span) and not any(
                path == span or path.endswith(f"/{span}") for path in files
            ):
                missing.append(f"{page.name}: {span}")
    assert missing == []


def resolves(name: str) -> bool:
    """Returns whether a dotted name is a module, or something in one."""
    parts = name.split(".")
    for split in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:split]))
        except ModuleNotFoundError:
            continue
        for part in parts[split:]:
            if not hasattr(found, part):
                return False
            found = getattr(found, part)
        return True
    return False


def test_names_of_modules_functions_and_classes_exist() -> None:
    dotted = re.compile(rf"(?:{'|'.join(PACKAGES)})(?:\.\w+)+")
    named = {match[0] for page in PAGES for span in spans(page) if (match := dotted.match(span))}
    assert named
    assert [name for name in sorted(named) if not resolves(name)] == []


def test_imports_in_examples_work() -> None:
    imported = set()
    for block in (block for page in PAGES for block in blocks(page) if "import " in block):
        with contextlib.suppress(SyntaxError):  # a block of Lua, or of a shell
            for node in ast.walk(ast.parse(block)):
                if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith(PACKAGES):
                    imported |= {f"{node.module}.{alias.name}" for alias in node.names}
    assert imported
    assert [name for name in sorted(imported) if not resolves(name)] == []


def anchors(page: Path) -> set[str]:
    """Returns the anchors that GitHub gives the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", FENCE.sub("", page.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", ["README.md", "CHANGELOG.md"])
def test_the_number_of_nets(page: str) -> None:
    said = re.findall(r"(?:one of|^-) (\d+) nets", (ROOT / page).read_text(encoding="utf-8"), re.M)
    assert set(said) == {str(len(registry.NETS))}


def test_links_lead_somewhere() -> None:
    links = [(page, link) for page in PAGES for link in LINK.findall(page.read_text(encoding="utf-8"))]
    relative = [(page, link) for page, link in links if "://" not in link]
    assert relative
    broken = []
    for page, link in relative:
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(f"{page.name}: {link}")
    assert broken == []


def test_the_readme_leads_to_every_page() -> None:
    linked = set(LINK.findall((ROOT / "README.md").read_text(encoding="utf-8")))
    assert [page.name for page in PAGES[1:] if page.relative_to(ROOT).as_posix() not in linked] == []


def example(page: str, containing: str) -> ModuleType:
    """Returns the Python example of a page as a module."""
    (source,) = [block for block in blocks(ROOT / page) if containing in block]
    module = ModuleType("example")
    exec(compile(source, page, "exec"), module.__dict__)
    return module


def test_the_example_of_a_command_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = example("CONTRIBUTING.md", "study_parser(program")
    file = tmp_path / "parameters.json"
    assert command.main(["--net", "recognize_digits", "--json", str(file)], "parameters") == 0
    rows = json.loads(file.read_text())["tables"][0]["rows"]
    assert sum(row["parameters"] for row in rows) == registry.NETS["recognize_digits"].parameters
    assert "4.weight      25,000" in capsys.readouterr().out


def test_the_example_of_a_net_works() -> None:
    (net,) = example("CONTRIBUTING.md", "Net(").NETS
    module = registry.build(net, seed=1)
    assert registry.parameter_count(module) == net.parameters
    assert module(torch.zeros(2, *net.input_size)).shape == (2, 10)


def test_the_example_of_an_engine_layer_computes_what_autograd_does(monkeypatch: pytest.MonkeyPatch) -> None:
    layers = example("CONTRIBUTING.md", "class Softplus(Layer)").LAYERS
    monkeypatch.setattr(recognise, "LAYERS", [*recognise.LAYERS, *layers])
    module = torch.nn.Softplus(2.0)
    input = torch.linspace(-3, 3, 24).reshape(2, 3, 2, 2)
    x = input.clone().requires_grad_()
    wanted = module(x)
    wanted.backward(wanted)
    with compile_for_engine(module, (2, 3, 2, 2)) as phases, torch.no_grad():
        assert [layer.kind for layer in phases.report().layers] == ["Softplus"]
        output = phases.updateOutput(input)
        torch.testing.assert_close(output, wanted.detach())
        torch.testing.assert_close(phases.updateGradInput(input, output), x.grad)


def test_the_example_of_a_plot_draws(tmp_path: Path) -> None:
    plot = example("CONTRIBUTING.md", "def chart(data")
    points = [made_results.point("alexnet", batch, 10.0) for batch in (1, 8)]
    chart = plot.chart(ReportData([load(made_results.write(tmp_path / "sweep.jsonl", *points))], []))
    (mark,) = chart.panels[0].series[0].marks
    assert (mark.name, mark.x) == ("alexnet", points[0]["latency_ms"]["p50"])
    assert plot.chart(ReportData([], [])) is None


def test_the_architecture_names_every_folder() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    folders = {file.parent for name in PACKAGES for file in (ROOT / name).glob("*/__init__.py")}
    assert [folder for folder in sorted(folders) if f"`{folder.relative_to(ROOT)}/`" not in page] == []


@pytest.mark.parametrize(
    "command",
    [
        "flops --net recognize_digits",
        "flops --mode training --batch-size 512 --parts slope --slope-layer 1.3",
    ],
)
def test_quoted_counts_are_what_the_command_prints(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    shown = blocks(ROOT / "docs" / "studies.md")
    (block,) = [text for text in shown if f"convnet-benchmarks {command}\n" in text]
    _, _, quoted = block.partition(f"{command}\n")
    assert cli.main(command.split()) == 0
    assert capsys.readouterr().out.strip() == quoted.strip()


def test_the_quoted_prompt_shows_what_the_prompt_shows(capfd: pytest.CaptureFixture[str]) -> None:
    (block,) = [text for text in blocks(ROOT / "docs" / "lua.md") if text.startswith("th> ")]
    lines = block.splitlines()
    runtime = Runtime()
    runtime.open_prompt(colored=False)
    for line in lines:
        if line.startswith("th> "):
            runtime.evaluate(line.removeprefix("th> "))
    assert capfd.readouterr().out.splitlines() == [line for line in lines if not line.startswith("th> ")]
