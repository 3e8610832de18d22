"""The list: repositories with their commits, what is run of them, and the plain Lua packages they share."""

from tests.compatibility.commands import language, libraries, parts, vision
from tests.compatibility.commands.checkpoints import CHECKPOINTS
from tests.compatibility.commits import COMMITS
from tests.compatibility.repository import Repository

# What is run of them, and the data it reads; of the others the files are parsed and the packages loaded.
RUNS = {**language.RUNS, **vision.RUNS, **libraries.RUNS, **parts.RUNS}

# Plain Lua packages by the name that require has for them: the repository, and where in it the package lies.
ROCKS = {
    "argcheck": ("torch/argcheck", ""),
    "autograd": ("twitter/torch-autograd", "src"),
    "autobw": ("bshillingford/autobw.torch", ""),
    "babi": ("facebook/bAbI-tasks", "lua/babi"),
    "class": ("torch/class", ""),
    "classic": ("deepmind/classic", "classic"),
    "dataload": ("Element-Research/dataload", ""),
    "dp": ("nicholas-leonard/dp", ""),
    "dpnn": ("Element-Research/dpnn", ""),
    "itorch": ("facebook/iTorch", ""),
    "iterm": ("szagoruyko/iterm.torch", ""),
    "luacov": ("keplerproject/luacov", "src/luacov"),
    "middleclass": ("kikito/middleclass", "middleclass.lua"),
    "moses": ("Yonaba/Moses", "moses.lua"),
    "net2net": ("soumith/net2net.torch", ""),
    "neuraltalk2": ("karpathy/neuraltalk2", ""),
    "nninit": ("Kaixhin/nninit", "nninit.lua"),
    "optnet": ("fmassa/optimize-net", ""),
    "pl": ("stevedonovan/Penlight", "lua/pl"),
    "pretty-nn": ("Atcold/torch-pretty-nn", ""),
    "pprint": ("jagt/pprint.lua", "pprint.lua"),
    "rnn": ("Element-Research/rnn", ""),
    "rnnlib": ("facebookresearch/torch-rnnlib", "rnnlib"),
    "torch-rnn": ("jcjohnson/torch-rnn", ""),
    "torchnet": ("torchnet/torchnet", ""),
    "torchx": ("nicholas-leonard/torchx", ""),
    "totem": ("deepmind/torch-totem", "totem"),
    "underscore": ("mirven/underscore.lua", "lib/underscore.lua"),
    "unsup": ("koraykv/unsup", ""),
}

# Modules that files of a repository require and that nobody has published: they fail on Torch7, too.
_ABSENT = {
    "harvardnlp/seq2seq-attn": ("util.lua",),
    "Element-Research/rnn": ("util.gradcheck",),
    "jcjohnson/densecap": ("gradcheck",),
    "Atcold/torch-Video-Tutorials": ("RNN",),
    "facebook/MemNN": ("sparse",),
    "facebook/fbnn": ("sparse",),
    "facebook/fbcunn": ("sparse",),
    "torch/optim": ("kex",),
    "koraykv/unsup": ("dataset",),
    "nicholas-leonard/dp": ("chex",),
    "DmitryUlyanov/texture_nets": ("riseml",),
}

REPOSITORIES = [
    Repository(
        name,
        commit,
        licence,
        absent=_ABSENT.get(name, ()),
        checkpoint=CHECKPOINTS.get(name),
        **RUNS.get(name, {}),  # type: ignore[arg-type]
    )
    for name, (commit, licence) in COMMITS.items()
]
