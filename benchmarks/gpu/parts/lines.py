"""Part 2: the command lines of 2015, the same nets in soumith/convnet-benchmarks' settings, th's lines."""

from dataclasses import replace
from pathlib import Path

from benchmarks.gpu.step import PYTHON, RESULT, Setting, Step, check, script

_CHECKS = Path(__file__).resolve().parents[1] / "checks"
# The README of the original gives these with their figures, as "th benchmark.lua ...".
BENCHMARK = (
    "",
    "-cuda true -convMM true",
    "-cuda true -convMM false",
    "-cuda true -convMM false -cudnn true",
    "-cuda true -4d_tensor true -batch_size 64 -cudnn true",
    "-cuda true -4d_tensor true -batch_size 128 -cudnn true",
)
CRITERION = (
    "-cuda true -4d_tensor true -batch_size 60 -cudnn true -sync true -iter 1",
    "-cuda true -4d_tensor true -batch_size 60 -cudnn false -sync true -iter 1",
    "-cuda true -4d_tensor true -batch_size 1 -cudnn true -sync true -iter 60",
    "-cuda true -4d_tensor true -batch_size 1 -cudnn false -sync true -iter 60",
    "-cuda true -4d_tensor false -batch_size 1 -cudnn true -sync true -iter 60",
    "-cuda true -4d_tensor false -batch_size 1 -cudnn false -sync true -iter 60",
    "-cuda false -4d_tensor false -batch_size 1 -cudnn false -sync true -iter 60",
    "-cuda false -4d_tensor true -batch_size 60 -cudnn false -sync true -iter 1",
)
MISSION = "--cuda --cudnn --batch-size 64"

# Net and batch size of soumith/convnet-benchmarks, torch7/imagenet_winners.
WINNERS = (("alexnet_owt", 128), ("overfeat_fast", 128), ("vgg_a", 64), ("googlenet", 128))
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
    return [*first, *_original_scripts(setting), check("plain_loop", setting), *winners, *on_cpu]


def _line(name: str, words: str, setting: Setting) -> Step:
    """Returns the step of a command line; in a rehearsal with a small net, two samples and one pass."""
    arguments = words.split()
    if setting.rehearsal:
        arguments = [_at_most(word, 2) for word in arguments]
        if "--net" in arguments:
            arguments[arguments.index("--net") + 1] = "squeezenet1.1"
        else:
            arguments += ["--net", "squeezenet1.1"]
        arguments += ["-x", "64", "-y", "64"] + (["-iter", "1"] if "-iter" not in arguments else [])
    return script(
        f"{name}.py", *arguments, "--json", RESULT, seconds=90.0, title=f"{name}.py {words}".strip()
    )


def _at_most(word: str, largest: int) -> str:
    return str(min(int(word), largest)) if word.isdigit() else word


def _original_scripts(setting: Setting) -> list[Step]:
    """Returns th on the scripts of 2015 themselves, from the user's checkouts."""
    original = setting.checkouts / "convnet-benchmarks"
    winners = setting.checkouts / "soumith-convnet-benchmarks" / "torch7" / "imagenet_winners"
    iterations = setting.sized((), ("-iter", "1"))
    found = []
    for file, words in (
        ("benchmark.lua", "-cuda true -convMM false -cudnn true"),
        ("benchmark.lua", "-cuda true -4d_tensor true -batch_size 64 -cudnn true"),
        ("benchmark_criterion.lua", CRITERION[0]),
        ("benchmark_criterion.lua", CRITERION[1]),
    ):
        arguments = [word if not setting.rehearsal else _at_most(word, 1) for word in words.split()]
        found.append(_th(f"th {file} {words}", original / file, *arguments, *iterations))
    winner = winners / "benchmark.lua"  # it takes no options
    small = (str(_CHECKS / "one_sample.lua"), "benchmark.lua")
    step = _th("th imagenet_winners/benchmark.lua", winner, words=setting.sized(None, small))
    found.append(replace(step, variables=setting.sized({}, {"FAKE_GPU_MIB": "4096"})))
    return found


def _th(title: str, file: Path, *arguments: str, words: tuple[str, ...] | None = None) -> Step:
    """Returns the step of th with a script in its folder; ``words`` in place of the script and arguments."""
    given = words or (str(file), *arguments)
    command = (PYTHON, "-m", "benchmarks.gpu.in_folder", str(file.parent), "lua_compat", *given)
    return Step(title, command, 120.0, (file,))
