"""The command lines that the README of the original gives with their figures, as "th benchmark.lua ..."."""

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


def small_sizes(arguments: list[str]) -> list[str]:
    """Returns the words of a line for a rehearsal: a small net, at most two samples, one pass."""
    words = [str(min(int(word), 2)) if word.isdigit() else word for word in arguments]
    if "--net" in words:
        words[words.index("--net") + 1] = "squeezenet1.1"
    else:
        words += ["--net", "squeezenet1.1"]
    return words + ["-x", "64", "-y", "64"] + (["-iter", "1"] if "-iter" not in words else [])
