"""Prints docs/lua-coverage.md: which public names of Torch7's packages lua_compat has, why not the others.

``python docs/lua_coverage/generate.py > docs/lua-coverage.md``; torch7_names.txt says where names come from.
"""

import re
import tempfile
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from lua_compat.runtime.state import Runtime

HERE = Path(__file__).parent


class Name(NamedTuple):
    """``prefix`` ends with ``.`` (a table) or ``:`` (a class)."""

    package: str
    prefix: str
    name: str

    def __str__(self) -> str:
        return self.name if self.prefix == "_G." else self.prefix + self.name


WINDOW = "needs a window: calling it is an error that says so"
# There, but only to say why they do not work.
REFUSING = {
    "image.display": WINDOW,
    "image.window": WINDOW,
    "nngraph.display": WINDOW,
    "optim.ConfusionMatrix:render": WINDOW,
}
# The first pattern that matches the whole name gives the reason.
REASONS = [
    (r"torch\.Cuda.*:cdata", "C structures of THC, which is not there"),
    (r"torch\.(pushudata|Allocator)", "for C libraries that make tensors with TH, which is not there"),
    (r"torch\.test|nn\.test\w*|image\.test", "the suite of Torch7 itself, run from its own file"),
    (r"paths\.(execdir|getregistryvalue|require)", "about Torch7's own installation, Windows and C modules"),
    (r"dok\..*|browse|help", "the help browser; the prompt has `? name`"),
    (r"image\.(byte|float|double)\..*", "C functions behind `image`'s own, one set for each element type"),
    (r"nn\.GPU:.*", "modules are not moved between devices"),
    (
        r"nn\..*:(backCompatibility|makeInputContiguous|validateParameters|longTensor|setSize"
        r"|updateGradInput_efficient)",
        "a step inside the layer, done elsewhere",
    ),
    (r"nn\.DataParallelTable:.*", "a step inside the layer, done elsewhere"),
    (
        r"cutorch\..*(UVA|[mM]anaged).*|cutorch\.CudaHostAllocator",
        "UVA tensors and allocators: PyTorch has its own memory",
    ),
    (
        r"cudnn\.SpatialDivisiveNormalization.*",
        "in cudnn.torch it calls functions that are not there, and cannot run; nn has the layer",
    ),
    (r"cudnn\..*", "cuDNN's own handles, descriptors and workspaces: PyTorch keeps them"),
    (r"ccn2\.(Jacobian\..*|inputcheck|typecheck)", "helpers of ccn2's own tests and layers"),
    (r"ccn2\..*", "the layer is not written yet"),
    (r"hdf5\..*", "steps inside reading and writing; a file is written by path"),
    (r"threads\.queue:(arg|callback)", "steps inside the queue: a job goes in and out as one message"),
    (r"lfs\..*", "locks of files are not written yet"),
    (r"tds\.AtomicCounter", "for counting in several threads"),
]


def torch7_names() -> list[Name]:
    names, package = [], ""
    for line in (HERE / "torch7_names.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            package = line.strip("[]")
        elif line and not line.startswith("#"):
            prefix, *keys = line.split()
            names += [Name(package, prefix, key) for key in keys]
    return names


def missing_names(names: list[Name]) -> set[Name]:
    """Those that a Lua state with all packages, CUDA's too, does not have."""
    with tempfile.TemporaryDirectory() as folder:
        wanted, missing = Path(folder, "wanted"), Path(folder, "missing")
        wanted.write_text("".join("\t".join(name) + "\n" for name in names), encoding="utf-8")
        script = str(HERE / "names_present.lua")
        Runtime(script, [str(wanted), str(missing)], cpu_as_cuda=True).run_file(script)
        return {Name(*line.split("\t")) for line in missing.read_text(encoding="utf-8").splitlines()}


def reason(name: Name) -> str:
    """Raises KeyError where nobody has written down why ``name`` is missing."""
    for pattern, text in REASONS:
        if re.fullmatch(pattern, str(name)):
            return text
    raise KeyError(f"{name} is missing: add it to lua_compat, or its reason to {Path(__file__).name}")


def coverage_page() -> str:
    names = torch7_names()
    missing = missing_names(names)
    why = {name: REFUSING.get(str(name)) or (reason(name) if name in missing else "") for name in names}
    summary = ["| Package | Covered | of |", "|---|---|---|"]
    details = []
    for package, group in groupby(names, key=lambda name: name.package):
        members = list(group)
        left_out: dict[str, list[str]] = {}
        for name in members:
            if why[name]:
                left_out.setdefault(why[name], []).append(str(name))
        absent = sum(map(len, left_out.values()))
        summary.append(f"| {package} | {len(members) - absent} | {len(members)} |")
        if left_out:
            rows = [
                f"| {', '.join(f'`{name}`' for name in names)} | {text} |" for text, names in left_out.items()
            ]
            details += ["", f"## {package}", "", "| Not there | Why |", "|---|---|", *rows]
    head = [
        "# Lua: names covered, package by package",
        "",
        "Written by `docs/lua_coverage/generate.py`: do not edit. Counted are the public functions, classes",
        "and methods that each package adds in Torch7 (`docs/lua_coverage/torch7_names.txt`), of the tensor",
        "types one of CPU and one of CUDA. That a name is there does not yet say that it agrees: docs/lua.md",
        "says what was compared.",
        "",
    ]
    return "\n".join([*head, *summary, *details]) + "\n"


if __name__ == "__main__":
    print(coverage_page(), end="")
