"""The programs: where their checkouts lie, how they are started, and for how long."""

import random
import shutil
import string
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

TIMED, COMPARED, SMALL = "timed", "compared", "small"
SIZES = (TIMED, COMPARED, SMALL)


@dataclass(frozen=True)
class Size:
    """One way to run a program. ``words``: of its command line; ``variables``: of its environment.

    ``batch``: samples for each evaluation of the loss. ``warm``: evaluations before the clock starts,
    ``steps``: those it times; ``tolerance``: how far, relatively, losses may differ from the CPU's.
    """

    batch: int
    warm: int
    steps: int
    words: str = ""
    variables: dict[str, str] = field(default_factory=dict)
    tolerance: float = 1e-3


@dataclass(frozen=True)
class Program:
    """``folder``: its checkout's. ``loader``: the file that reads its data, which is made here instead.

    ``prepare``: makes what it reads from files, in the copy of its checkout. ``unit``: what ``batch`` counts.
    """

    name: str
    folder: str
    script: str
    sizes: dict[str, Size]
    loader: str | None = None
    prepare: Callable[[Path], None] = lambda folder: None
    unit: str = "images"

    def copy_to(self, checkouts: Path, target: Path) -> None:
        """Copies the program without its pictures; its data is that of made_data.lua, or is made now."""
        shutil.copytree(checkouts / self.folder, target, ignore=_all_but_lua)
        if self.loader is not None:
            (target / self.loader).write_text("", encoding="utf-8")
        self.prepare(target)


def _all_but_lua(folder: str, names: list[str]) -> list[str]:
    return [name for name in names if (Path(folder) / name).is_file() and not name.endswith(".lua")]


def _write_text(folder: Path) -> None:
    """Writes the text that char-rnn learns: lines of random letters, 65 kinds as in its own."""
    draw = random.Random(1)
    letters = string.ascii_letters + " ,.;:!?-'&3"
    words = ["".join(draw.choices(letters, k=draw.randint(2, 7))) for _ in range(400)]
    text = letters + " ".join(draw.choices(words, k=40_000))
    (folder / "data" / "made").mkdir(parents=True)
    (folder / "data" / "made" / "input.txt").write_text(text[:200_000] + "\n", encoding="ascii")


def _make_train_folder(folder: Path) -> None:
    (folder / "train").mkdir()


_RESNET = "-data . -nThreads 1 -nEpochs 1 -manualSeed 1"
_CHAR_RNN = "-data_dir data/made -gpuid 0 -max_epochs 100 -eval_val_every 1000000"
_STYLE = (
    "-style_image style.png -content_image content.png -gpu 0 -backend cudnn -seed 1 -print_iter 0 "
    "-save_iter 0 -num_iterations 1000"
)
_IMAGENET = "-nDonkeys 0 -cache cache"


def _resnet(depth: int) -> Program:
    timed = f"{_RESNET} -depth {depth}"
    return Program(
        f"fb.resnet.torch, ResNet-{depth}",
        "fb.resnet.torch",
        "main.lua",
        {
            TIMED: Size(64, 5, 12, f"{timed} -batchSize 64"),
            COMPARED: Size(2, 0, 3, f"{timed} -batchSize 2 -precision double -LR 0.01", tolerance=1e-8),
            SMALL: Size(
                2, 1, 2, f"{_RESNET} -batchSize 2 -dataset cifar10 -depth 8 -precision double", tolerance=1e-8
            ),
        },
        prepare=_make_train_folder,
    )


def _dcgan(batch: int) -> dict[str, str]:
    return {"batchSize": str(batch), "display": "0", "gpu": "1", "nThreads": "0", "dataset": "folder"}


PROGRAMS = (
    Program(
        "char-rnn",
        "char-rnn",
        "train.lua",
        {
            TIMED: Size(2500, 5, 12, _CHAR_RNN),
            COMPARED: Size(2500, 0, 6, _CHAR_RNN),
            SMALL: Size(40, 1, 3, f"{_CHAR_RNN} -rnn_size 8 -seq_length 5 -batch_size 8"),
        },
        prepare=_write_text,
        unit="characters",
    ),
    _resnet(50),
    _resnet(18),
    Program(
        "dcgan.torch",
        "dcgan.torch",
        "main.lua",
        {
            TIMED: Size(32, 20, 80, variables=_dcgan(64)),  # two evaluations for each batch
            # Rounding grows tenfold from one evaluation to the next.
            COMPARED: Size(4, 0, 4, variables=_dcgan(8)),
            SMALL: Size(1, 2, 4, variables={**_dcgan(2), "ngf": "4", "ndf": "4"}),
        },
        loader="data/donkey_folder.lua",
    ),
    Program(
        "imagenet-multiGPU.torch",
        "imagenet-multiGPU.torch",
        "main.lua",
        {
            TIMED: Size(128, 5, 20, f"{_IMAGENET} -netType alexnetowt -batchSize 128"),
            # A net without dropout, whose choice is the device's own
            COMPARED: Size(4, 0, 3, f"{_IMAGENET} -netType ninbn -batchSize 4"),
            SMALL: Size(2, 1, 1, f"{_IMAGENET} -netType ninbn -batchSize 2 -nClasses 10"),
        },
        loader="donkey.lua",
    ),
    Program(
        "neural-style",
        "neural-style",
        "neural_style.lua",
        {
            TIMED: Size(1, 10, 30, f"{_STYLE} -image_size 512"),
            COMPARED: Size(1, 0, 5, f"{_STYLE} -image_size 64"),
            SMALL: Size(1, 1, 2, f"{_STYLE} -image_size 32"),
        },
        unit="iterations",
    ),
)


def program(name: str) -> Program:
    return next(one for one in PROGRAMS if one.name == name)
