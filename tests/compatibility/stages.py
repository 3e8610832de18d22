"""How far a repository comes: its files, its packages, its commands, its numbers."""

import datetime
import re
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from lua_compat.runtime.state import LUA_FOLDER
from tests.compatibility import programs
from tests.compatibility.checkpoints import Side, compare
from tests.compatibility.data import Maker
from tests.compatibility.recorded import Recorded
from tests.compatibility.repositories import ROCKS
from tests.compatibility.repository import STAGES, Repository, Run

_SEED = 1
_REQUIRE = re.compile(r"""\brequire\s*\(?\s*(['"])([\w.+-]+)\1""")
# Lua's own, and names that stand for "is there a GPU, a window?" in scripts that go on without
_ALWAYS_THERE = {"string", "table", "math", "io", "os", "debug", "bit", "ffi", "jit", "coroutine", "package"}
# Packages of ours whose files scripts require by name
_WITH_FILES_OF_THEIR_OWN = {"nn", "optim", "torch", "trepl", "threads", "image", "fb"}
# OpenCL, and windows, which th refuses with a line that says what to use
_OPTIONAL = (
    "cltorch", "clnn", "qt", "qtwidget", "qttorch", "qtuiloader", "qtsvg", "gfx", "camera", "kinect",
    "itorch", "iTorch",
)  # fmt: skip
# Numbers in float32, printed by training that has not become chaotic yet
_TOLERANCE = 1e-4
# A script for Torch7 that runs another with CUDA's names for float tensors and nn's layers
_CUDA_ON_CPU = Path(__file__).parent / "cuda_on_cpu.lua"

_PARSE = """
for line in io.lines(arg[1]) do
   local chunk, problem = loadfile(line)
   if not chunk then print(line .. '\t' .. problem) end
end
"""
_LOAD = """
for line in io.lines(arg[1]) do
   local ok, problem = pcall(require, line)
   if not ok then print(line .. '\\t' .. tostring(problem):match('[^\\n]*')) end
end
"""


# Runs arg[2] with the arguments after it, from a seed, until it has printed arg[1] lines.
_LIMITED = """
torch.manualSeed(1)
math.randomseed(1)
local left, script = tonumber(table.remove(arg, 1)), table.remove(arg, 1)
local print_line = print
function print(...)
   print_line(...)
   left = left - 1
   if left == 0 then
      io.stdout:flush()
      os.exit(0)
   end
end
arg[0] = script
local f = assert(loadfile(script))
f(unpack(arg))
"""


@dataclass
class Result:
    """How far a repository came; ``problem`` is the first thing that failed."""

    name: str
    commit: str
    licence: str
    stage: str = STAGES[0]
    problem: str = ""
    files: int = 0
    requires: list[str] = field(default_factory=list)
    missing: dict[str, str] = field(default_factory=dict)  # with the plain Lua packages of ROCKS
    missing_with_pip: dict[str, str] = field(default_factory=dict)  # with nothing but what pip installs
    runs: list[dict[str, Any]] = field(default_factory=list)
    not_counted: str = ""
    not_compared: str = ""  # why numbers are not compared, where all else went well
    checkpoints: list[dict[str, Any]] = field(default_factory=list)
    date: str = field(default_factory=lambda: datetime.date.today().isoformat())  # of the run

    def reach(self, stage: str) -> None:
        self.stage = max(self.stage, stage, key=STAGES.index)

    def fail(self, problem: str) -> None:
        self.problem = self.problem or problem

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def _lua_files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*.lua") if path.is_file())


def _is_own(name: str, folder: Path, lua_files: Sequence[Path]) -> bool:
    """Whether a repository requires a file of its own: from its root, or from the folder a script runs in."""
    path = name.replace(".", "/")
    ends = (f"/{path}.lua", f"/{path}/init.lua", f"/{name}.lua", f"/{name}")
    return any(f"/{file.relative_to(folder)}".endswith(ends) for file in lua_files)


def required(folder: Path) -> list[str]:
    """Returns the packages that Lua files require: not their own files, nor those in a pcall."""
    files = _lua_files(folder)
    lines = (line for file in files for line in file.read_text("latin-1").splitlines())
    needed = (line.partition("--")[0] for line in lines if "pcall" not in line)
    names = {match[2] for line in needed for match in _REQUIRE.finditer(line)}
    ours = {path.name for path in Path(LUA_FOLDER).iterdir()}
    own = folder.name.split("+")[-1].lower()
    packages = {
        name
        for name in names
        if ".." not in name
        and name.strip(".") == name
        and not _is_own(name, folder, files)
        # the compiled part of a package that ours stands in for, and its files
        and not (name.startswith("lib") and name[3:] in ours - {name})
        and not ("." in name and name.partition(".")[0] in ours - _WITH_FILES_OF_THEIR_OWN)
    }
    return sorted(
        name for name in packages if name not in _ALWAYS_THERE and name.split(".")[0].lower() != own
    )


def _short(problem: str) -> str:
    """Returns a problem without the places where th has looked."""
    return re.split(r"[:;] th looks in", problem)[0]


def _lines(folder: Path, name: str, lines: Sequence[str]) -> str:
    path = folder / name
    path.write_text("".join(f"{line}\n" for line in lines))
    return str(path)


def find_packages(
    repository: Repository, result: Result, folder: Path, scratch: Path, rocks: Sequence[Path], limit: float
) -> str:
    """Finds what a repository requires and what of it does not load: with the rocks, and with pip alone.

    Returns what ended th before all had been tried, or nothing.
    """
    result.requires = [name for name in required(folder) if name not in repository.absent]
    script = scratch / "load.lua"
    script.write_text(_LOAD)

    def missing(names: Sequence[str], environment: Mapping[str, str]) -> tuple[dict[str, str], str]:
        words = ["--cpu-as-cuda", str(script), _lines(scratch, "packages", names)]
        loaded = programs.run_forked(words, scratch, environment, limit)
        pairs = (line.partition("\t") for line in loaded.stdout.splitlines())
        problems = {
            name: _short(problem)
            for name, tab, problem in pairs
            if tab and name in names and name.split(".")[0] not in _OPTIONAL
        }
        return problems, loaded.problem

    result.missing, ended = missing(result.requires, programs.surroundings(rocks))
    own = {package for package, (source, _) in ROCKS.items() if source == repository.name}
    others = [name for name in result.requires if name.split(".")[0] not in own]
    # HOME: a folder in which neither LuaRocks nor Torch7 has installed anything
    alone = programs.surroundings([], [("HOME", str(scratch))])
    result.missing_with_pip, ended_with_pip = missing(others, alone)
    return ended or ended_with_pip


def examine(
    repository: Repository,
    folder: Path,
    rocks: Sequence[Path],
    torch7: Sequence[str] | None,
    limit: float,
    recorded: Recorded | None = None,
) -> Result:
    """Runs what is on the list for a repository, on copies of ``folder``.

    ``torch7``: the command of a Torch7 to compare numbers, time and memory with; without it the numbers are
    compared with what ``recorded`` has of Torch7's, if it has any.
    """
    result = Result(
        repository.name, repository.commit, repository.licence, not_counted=repository.not_counted
    )
    with tempfile.TemporaryDirectory() as place:
        scratch = Path(place)
        broken = _broken_files(result, folder, scratch, torch7, limit)
        if not broken:
            result.reach("files parse")
        for file, problem in broken.items():
            result.fail(f"{file}: {problem}")

        problem = find_packages(repository, result, folder, scratch, rocks, limit)
        if problem:
            result.fail(problem)
        elif not result.missing:
            result.reach("packages load")

        if repository.runs:
            _run_all(repository, result, folder, scratch, rocks, torch7, limit, recorded or Recorded({}))
        if repository.checkpoint and torch7:
            start = copy_with_data(folder, scratch / "start", repository.data)
            sides = sides_of(torch7, limited_script(scratch))
            result.checkpoints = compare(repository.checkpoint, sides, start, scratch, rocks, limit)
    if result.stage in STAGES[:3] and result.missing:
        result.fail("; ".join(result.missing.values()))
    return result


def limited_script(scratch: Path) -> Path:
    """Returns the script that ends another after some lines: alone, for require looks beside it."""
    limited = scratch / "limited" / "run.lua"
    limited.parent.mkdir(exist_ok=True)
    limited.write_text(_LIMITED)
    return limited


def sides_of(torch7: Sequence[str], limited: Path) -> tuple[Side, Side]:
    """Returns our th and Torch7's; ``limited``: see ``limited_script``."""

    def ours(run: Run, folder: Path) -> list[str]:
        return programs.th(_words(run, folder, limited), run.cuda)

    def theirs(run: Run, folder: Path) -> list[str]:
        return [*torch7, *([str(_CUDA_ON_CPU)] if run.cuda else []), *_words(run, folder, limited)]

    return Side("ours", ours), Side("Torch7", theirs)


def _same_failure(ours: programs.Outcome, theirs: programs.Outcome) -> bool:
    """Whether two failures are said in the same words but for the places of files."""

    def words(problem: str) -> str:
        return re.sub(r"[^ ]*\.lua:\d+: |^[\w/.]+: ", "", problem).strip()

    return words(ours.problem) == words(theirs.problem)


def _words(run: Run, folder: Path, limited: Path) -> list[str]:
    """Returns the words of a command, files found and a script that would not end made to."""
    words = []
    for word in run.words:
        found = sorted(str(path.relative_to(folder)) for path in folder.glob(word)) if "*" in word else []
        words.append(found[0] if found else word)
    return words if run.lines is None else [str(limited), str(run.lines), *words]


def _broken_files(
    result: Result, folder: Path, scratch: Path, torch7: Sequence[str] | None, limit: float
) -> dict[str, str]:
    """Returns what is wrong with the Lua files that th cannot parse, but that Torch7, if it is there, can."""
    files = _lua_files(folder)
    result.files = len(files)
    script = scratch / "parse.lua"
    script.write_text(_PARSE)
    words = [str(script), _lines(scratch, "files", [str(file) for file in files])]

    def broken(outcome: programs.Outcome) -> dict[str, str]:
        if not outcome.ok:
            return {"(all)": outcome.problem}
        pairs = (line.partition("\t") for line in outcome.stdout.splitlines() if "\t" in line)
        return {file.replace(f"{folder}/", ""): problem.rpartition(".lua:")[2] for file, _, problem in pairs}

    ours = broken(programs.run_forked(words, scratch, {}, limit))
    if ours and torch7:
        theirs = broken(programs.run([*torch7, *words], scratch, {}, limit))
        ours = {file: problem for file, problem in ours.items() if file not in theirs}
    return ours


def copy_with_data(folder: Path, place: Path, make: Maker | None) -> Path:
    """Copies a repository and makes in it what its commands read."""
    copied = shutil.copytree(folder, place, symlinks=True, ignore=shutil.ignore_patterns(".git"))
    if make:
        make(copied, _SEED)
    return copied


def _run_all(
    repository: Repository,
    result: Result,
    folder: Path,
    scratch: Path,
    rocks: Sequence[Path],
    torch7: Sequence[str] | None,
    limit: float,
    recorded: Recorded,
) -> None:
    ours = copy_with_data(folder, scratch / "ours", repository.data)
    theirs = copy_with_data(folder, scratch / "theirs", repository.data) if torch7 else None
    limited = limited_script(scratch)
    equal = same = compared = True
    compared_any = False
    for number, run in enumerate(repository.runs):
        environment = programs.surroundings(rocks, run.environment)
        command = programs.th(_words(run, ours / run.folder, limited), run.cuda)
        outcome = programs.run(command, ours / run.folder, environment, limit, run.stdin)
        record: dict[str, Any] = {
            "command": f"th {'--cpu-as-cuda ' if run.cuda else ''}{run.command}",
            "seconds": round(outcome.seconds, 1),
            "memory_mb": round(outcome.memory_mb),
            "exit_code": outcome.exit_code,
        }
        result.runs.append(record)
        other = None
        # what prints nothing may make what a later command reads
        wanted = any(later.printed is not None for later in repository.runs[number:])
        if theirs is not None and (wanted or not outcome.ok):
            assert torch7 is not None
            words = _words(run, theirs / run.folder, limited)
            if run.cuda:
                words = [str(_CUDA_ON_CPU), *words]
            other = programs.run([*torch7, *words], theirs / run.folder, environment, limit, run.stdin)
            record |= {"torch7_seconds": round(other.seconds, 1), "torch7_exit_code": other.exit_code}
            if not other.ok:
                record["torch7_problem"] = other.problem
            elif not run.ended_in(other.stdout):
                other = None
        if not outcome.ok:
            result.fail(_short(outcome.problem.replace(f"{ours}/", "")))
            if other is not None and other.ended and not other.ok and _same_failure(outcome, other):
                result.not_counted = "fails on Torch7 in the same way"
            if number > 0:
                result.reach("runs in part")
            return
        if run.printed is None:
            continue
        expected = recorded.numbers(repository.name, run.command)
        if other is not None and other.ok:
            expected = programs.numbers(other.stdout, run.printed)
            recorded.keep(repository.name, run.command, expected)
        if not expected:
            compared = False
            continue
        compared_any = True
        mine = programs.numbers(outcome.stdout, run.printed)
        record["numbers"] = len(expected)
        same = same and mine == expected
        equal = equal and programs.agree(mine, expected, _TOLERANCE)
        if not equal:
            pairs = [f"{a} for {b}" for a, b in zip(mine, expected, strict=False) if a != b]
            record["differs"] = pairs[0] if pairs else f"{len(mine)} numbers for {len(expected)}"
    result.reach("runs to its end")
    if not (compared and compared_any):
        reasons = [run.because for run in repository.runs if run.because]
        result.not_compared = next(iter(reasons), "it prints no numbers" if compared else "not recorded")
    else:
        result.reach("bits equal" if same and equal else "numbers equal" if equal else "runs to its end")
        if not equal:
            result.fail(
                "numbers differ from Torch7's: " + next(r["differs"] for r in result.runs if "differs" in r)
            )
