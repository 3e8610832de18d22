"""Notebooks of iTorch's time beside the outputs that are stored in them.

``python -m tests.compatibility.notebooks NOTEBOOK...`` runs each unmodified, in its folder, and prints a row
for docs/notebooks.md; then, with ``--differences``, the cells that differ. Nothing of them is kept here.
"""

import argparse
import copy
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

_COLORS = re.compile(r"\x1b\[[0-9;]*m")
_NUMBER = re.compile(r"-?\d+(\.\d+)?(e[-+]?\d+)?")
_PICTURES = ("image/png", "image/svg+xml")
SAME, SAME_FORM, PICTURES, OTHER = "the same", "the same but for numbers", "pictures and plots", "otherwise"
KINDS = (SAME, SAME_FORM, PICTURES, OTHER)


class Shown(NamedTuple):
    """The text of a cell as lines without their spacing, how many pictures, and whether it failed."""

    lines: tuple[str, ...]
    pictures: int
    failed: bool


def shown(outputs: Sequence[Any]) -> Shown:
    """Returns what the outputs of a cell show. Plots are pictures; tables of numbers are text."""
    text, pictures, failed = "", 0, False
    for output in outputs:
        if output.output_type == "stream":
            text += output.text
        elif output.output_type == "error":
            failed = True
        elif any(kind in output.data for kind in _PICTURES) or (
            "text/html" in output.data and "<table>" not in output.data["text/html"]
        ):
            pictures += 1
        else:
            text += output.data.get("text/plain", "") + "\n"
    text = _COLORS.sub("", text).replace("of dimension", "of size")  # as early versions of Torch7 said
    lines = (" ".join(line.split()) for line in text.splitlines())
    return Shown(tuple(line for line in lines if line), pictures, failed)


def kind(stored: Shown, ours: Shown) -> str:
    """Returns how what a cell shows relates to what was stored. The order of lines does not count: it is that
    of a table's keys."""
    if ours.failed or stored.failed:
        return SAME if ours.failed and stored.failed else OTHER
    if ours.pictures:
        return PICTURES
    if sorted(stored.lines) == sorted(ours.lines):
        return OTHER if stored.pictures else SAME
    return SAME_FORM if _form(stored) == _form(ours) else OTHER


def _form(cell: Shown) -> list[str]:
    """Returns the lines without their numbers, and without a tensor's scale."""
    return sorted(form for line in cell.lines if (form := _NUMBER.sub("#", line)) != "# *")


def equal_pairs(cells: Sequence[tuple[Shown, Shown]]) -> tuple[int, int]:
    """Returns how many pairs of cells show the same, and how many stored the same numbers, which are random
    and others here."""
    random = [(s, o) for s, o in cells if s.lines and s.lines != o.lines and _NUMBER.search("".join(s.lines))]
    pairs = [(a, b) for i, a in enumerate(random) for b in random[:i] if a[0].lines == b[0].lines]
    return sum(a[1].lines == b[1].lines for a, b in pairs), len(pairs)


def run(path: Path) -> Iterator[tuple[str, Shown, Shown]]:
    """Runs a notebook; yields each cell's source, what was stored for it and what it shows now."""
    import nbformat
    from nbclient import NotebookClient

    stored = nbformat.read(path, as_version=4)
    ours = copy.deepcopy(stored)
    client = NotebookClient(
        ours,
        kernel_name="itorch",
        allow_errors=True,
        timeout=None,
        resources={"metadata": {"path": path.parent}},
    )
    client.execute()
    for before, after in zip(stored.cells, ours.cells, strict=True):
        if before.cell_type == "code" and before.source.strip():
            yield before.source, shown(before.outputs), shown(after.outputs)


def main() -> None:
    """Prints the rows."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("notebooks", nargs="+", type=Path, metavar="NOTEBOOK")
    parser.add_argument("--differences", action="store_true", help="print the cells that differ")
    options = parser.parse_args()
    print("| notebook | cells |", " | ".join(KINDS), "| equal pairs of random results |")
    print("|---" * (len(KINDS) + 3) + "|")
    for path in options.notebooks:
        cells = list(run(path))
        counts = Counter(kind(stored, ours) for _, stored, ours in cells)
        equal, pairs = equal_pairs([(stored, ours) for _, stored, ours in cells])
        print(
            f"| {path.stem} | {len(cells)} |",
            " | ".join(str(counts[name] or "") for name in KINDS),
            end=" | ",
        )
        print(f"{equal} of {pairs} |" if pairs else "|", flush=True)
        for source, stored, ours in cells:
            if options.differences and kind(stored, ours) == OTHER:
                print(f"\n{source}\n  stored: {stored}\n  ours:   {ours}\n")


if __name__ == "__main__":
    main()
