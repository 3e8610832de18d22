"""Part 2: the command lines of 2015, the same nets in soumith/convnet-benchmarks' settings, th's lines."""

from dataclasses import replace
from pathlib import Path

from benchmarks.gpu.command_lines import BENCHMARK, CRITERION, MISSION, WINNERS, small_sizes
from benchmarks.gpu.step import PYTHON, RESULT, Setting, Step, check, script

_CHECKS = Path(__file__).resolve().parents[1] / "checks"
ORIGINALS = (
    ("benchmark.lua", "-cuda true -convMM false -cudnn true"),
    ("benchmark.lua", "-cuda true -4d_tensor true -batch_size 64 -cudnn true"),
    ("benchmark_criterion.lua", CRITERION[0]),
    ("benchmark_criterion.lua", CRITERION[1]),
)
_KERNELS = ("--cudnn", "--cudnn --tf32", "--cudnn --dtype bfloat16", "-convMM true")


def steps(setting: Setting) -> list[Step]:
    """Returns the mission's line, the lines of 2015 (what needs no GPU last), the winners, th's scripts."""
    first = [check("machine", setting), _line("benchmark", MISSION, setting)]
    first += [_line("benchmark", words, setting) for words in BENCHMARK[1:]]
    first += [_line("benchmark_criterion", words, setting) for words in CRITERION[:6]]
    winners = [
        _line("benchmark", f"--net {net} --cuda {kernels} --batch-size {batch}", setting)
        for kernels in _KERNELS
        for net, batch in WINNERS
    ]
    on_cpu = [_line("benchmark", BENCHMARK[0], setting)]
    on_cpu += [_line("benchmark_criterion", words, setting) for words in CRITERION[6:]]
    return [*first, *original_scripts(setting), check("plain_loop", setting), *winners, *on_cpu]


def _line(name: str, words: str, setting: Setting) -> Step:
    """Returns the step of a command line; in a rehearsal with a small net, two samples and one pass."""
    arguments = small_sizes(words.split()) if setting.rehearsal else words.split()
    return script(
        f"{name}.py", *arguments, "--json", RESULT, seconds=90.0, title=f"{name}.py {words}".strip()
    )


def _at_most(word: str, largest: int) -> str:
    return str(min(int(word), largest)) if word.isdigit() else word


def original_scripts(setting: Setting) -> list[Step]:
    """Returns th on the scripts of 2015 themselves, from the user's checkouts. They name GPU 8."""
    original = setting.checkouts / "convnet-benchmarks"
    winners = setting.checkouts / "soumith-convnet-benchmarks" / "torch7" / "imagenet_winners"
    iterations = setting.sized((), ("-iter", "1"))
    found = []
    for file, words in ORIGINALS:
        arguments = [word if not setting.rehearsal else _at_most(word, 1) for word in words.split()]
        given = ("--gpu", "1", str(original / file), *arguments, *iterations)
        found.append(_th(f"th {file} {words}", original / file, words=given))
    winner = winners / "benchmark.lua"  # it takes no options
    small = (str(_CHECKS / "one_sample.lua"), "benchmark.lua")
    found.append(_th("th imagenet_winners/benchmark.lua", winner, words=setting.sized((str(winner),), small)))
    return [replace(step, variables=setting.sized({}, {"FAKE_GPU_MIB": "4096"})) for step in found]


def _th(title: str, file: Path, *, words: tuple[str, ...]) -> Step:
    """Returns the step of th with these words in the folder of a script."""
    command = (PYTHON, "-m", "benchmarks.gpu.in_folder", str(file.parent), "lua_compat", *words)
    return Step(title, command, 120.0, (file,))
