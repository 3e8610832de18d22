"""Prints docs/lua-coverage.md: Torch7's public names that lua_compat has, and why the others are missing.

``python docs/lua_coverage/generate.py > docs/lua-coverage.md``; torch7_names.txt says where names come from.
"""

import re
import tempfile
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from lua_compat.declarations import declarations
from lua_compat.runtime.state import Runtime

HERE = Path(__file__).parent


class Name(NamedTuple):
    """A public name; ``prefix`` ends with ``.`` (a table) or ``:`` (a class)."""

    package: str
    prefix: str
    name: str

    def __str__(self) -> str:
        return self.name if self.prefix == "_G." else self.prefix + self.name


WINDOW = "needs a window: calling it raises an error that says so"
# These exist, but only to say why they do not work.
REFUSING = {
    "image.display": WINDOW,
    "image.window": WINDOW,
    "nngraph.display": WINDOW,
    "optim.ConfusionMatrix:render": WINDOW,
}
# The first pattern that matches the whole name gives the reason.
REASONS = [
    (r"torch\.Cuda.*:cdata", "C structures of THC, which does not exist here"),
    (r"torch\.(pushudata|Allocator)", "for C libraries that make tensors with TH, which does not exist here"),
    (r"torch\.test|nn\.test\w*|image\.test", "Torch7's own test suite, which runs from its own file"),
    (
        r"paths\.(execdir|getregistryvalue|require)",
        "concerns Torch7's own installation, Windows or C modules",
    ),
    (
        r"image\.(byte|float|double)\..*",
        "C functions behind the functions of `image`, one set for each element type",
    ),
    (r"nn\.GPU:.*", "modules are not moved between devices"),
    (
        r"nn\..*:(backCompatibility|makeInputContiguous|validateParameters|longTensor|setSize"
        r"|updateGradInput_efficient)",
        "a step inside the layer, done elsewhere",
    ),
    (r"nn\.DataParallelTable:.*", "a step inside the layer, done elsewhere"),
    (
        r"cudnn\.SpatialDivisiveNormalization.*",
        "calls functions missing from cudnn.torch, so it cannot run there, either; nn has the layer",
    ),
    (r"cudnn\..*", "cuDNN's handles, descriptors and workspaces, which PyTorch manages itself"),
    (r"ccn2\.(Jacobian\..*|inputcheck|typecheck)", "helpers of ccn2's own tests and layers"),
    (r"ccn2\..*", "the layer is not written yet"),
    (r"hdf5\..*", "steps inside reading and writing; here a file is read and written by path"),
    (r"threads\.queue:(arg|callback)", "steps inside the queue; here a job goes in and out as one message"),
    (r"lfs\..*", "file locks are not written yet"),
    (r"sip\.create_spec_fun", "a step inside compile, which makes no source text here"),
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
    """Returns the names missing from a Lua state with all packages, CUDA's included."""
    with tempfile.TemporaryDirectory() as folder:
        wanted, missing = Path(folder, "wanted"), Path(folder, "missing")
        wanted.write_text("".join("\t".join(name) + "\n" for name in names), encoding="utf-8")
        script = str(HERE / "names_present.lua")
        Runtime(script, [str(wanted), str(missing)], cpu_as_cuda=True).run_file(script)
        return {Name(*line.split("\t")) for line in missing.read_text(encoding="utf-8").splitlines()}


def reason(name: Name) -> str:
    """Returns why ``name`` is missing. Raises KeyError if no reason is written down."""
    for pattern, text in REASONS:
        if re.fullmatch(pattern, str(name)):
            return text
    raise KeyError(f"{name} is missing: add it to lua_compat, or its reason to {Path(__file__).name}")


def classes_of_nn() -> list[str]:
    """Returns the lines of the table of nn's layers and criterions, from their declarations."""
    rows = []
    for name, declared in sorted(declarations().items()):
        counterpart = f"`torch.nn.{declared.torch_nn}`" if declared.torch_nn else ""
        rows.append(
            f"| `nn.{name}{declared.usage}` | {declared.help.replace('|', chr(92) + '|')} | {counterpart} |"
        )
    return [
        "",
        "## The classes of nn",
        "",
        "Optional arguments are in brackets. The last column names the class of PyTorch that computes the",
        "same, if there is one; [models.md](models.md) says what is converted.",
        "",
        "| Class | What it does | In PyTorch |",
        "|---|---|---|",
        *rows,
    ]


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
            details += ["", f"## {package}", "", "| Missing | Why |", "|---|---|", *rows]
    head = [
        "# Lua: names covered, package by package",
        "",
        "Written by `docs/lua_coverage/generate.py`; do not edit. The table counts the public functions,",
        "classes and methods that each package adds in Torch7 (`docs/lua_coverage/torch7_names.txt`), with",
        "one tensor type for the CPU and one for CUDA. A name that is present need not behave the same:",
        "docs/lua.md says what was compared.",
        "",
    ]
    return "\n".join([*head, *summary, *details, *classes_of_nn()]) + "\n"


if __name__ == "__main__":
    print(coverage_page(), end="")
