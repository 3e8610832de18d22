"""The list as a page and as JSON."""

import datetime
import platform
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any

from tests.compatibility.repository import STAGES
from tests.compatibility.stages import Result

_PAGE = """# Torch7 applications that were run

How far applications and libraries of Torch7's time run under `th`, unmodified. The table is the outcome of

```
python -m tests.compatibility FOLDER --out docs/compatibility.md --json report.json
```

with Python {python} and PyTorch {torch}, where FOLDER holds the repositories as `git clone` leaves them,
each as OWNER+NAME, at the commit that its link shows. Each row has the date of its run: `--only NAME` runs a
few again and keeps the other rows. Their commands, and the small data that a seed makes for them, are in
`tests/compatibility/`. No code of the repositories is kept here.

{counted}

*With pip* and *With rocks* name the packages that its files require and that do not load: in the first
column after `pip install` alone, in the second with packages in plain Lua from their own repositories, too,
as LuaRocks would install them. Windows, OpenCL and requires inside pcall are left out.

The stages: *files parse* (all of its Lua), *packages load* (none is missing with rocks), *runs in part* (some
of its commands), *runs to its end*, *numbers equal* (it prints what Torch7 prints, to 1e-4), *bits equal* (to
the last printed digit). Numbers are compared where `--torch7` names a Torch7 that can run the commands,
too, or where `tests/compatibility/recorded.json` has what it printed. Scripts that want a GPU
run with `--cpu-as-cuda`, and on Torch7 with `tests/compatibility/cuda_on_cpu.lua`. Times are seconds
for all commands of a repository, with Torch7's in parentheses, on a machine that other programs used, too.
The limit of a command (`--seconds`) counts processor time, so that no row depends on other programs. The last
column is the first thing that failed, or why there is nothing to compare.

| Repository | Licence | Lua files | With pip | With rocks | Stage | Time [s] | Run on | First problem |
|---|---|---:|---|---|---|---:|---|---|
{rows}

## On a new machine

On 2026-11-27 the wheel was installed with `pip install` into empty environments of Python 3.11 and 3.12
(PyTorch 2.14), with empty home folders and no compiler on the path. `th` then ran repositories that require
Penlight, unmodified, with the commands and data of the table above, with the same outcome in both:

| Repository | Outcome |
|---|---|
| yoonkim/lstm-char-cnn | bits equal |
| szagoruyko/cifar.torch | bits equal |
| harvardnlp/seq2seq-attn | bits equal |
| allenai/XNOR-Net | numbers equal |
| phillipi/pix2pix | numbers equal, after the `pip install` line for Pillow that the first run printed |
| facebook/SCRNNs | runs to its end |
| facebook/bAbI-tasks | needs `LUA_PATH='lua/?.lua;lua/?/init.lua;;'`, as it requires its own package `babi` |
{checkpoints}"""

_CHECKPOINTS = """
## Checkpoints

Training continues on both sides from a checkpoint that one side writes, and both print the same numbers (to
a millionth). char-rnn does so by its own scripts. For the others, a net of the repository is trained for
three steps by optim.sgd with momentum, saved with its state, and trained for three more. {counted}

| Repository | Written by th, continued on Torch7 | Written by Torch7, continued on th |
|---|---|---|
{rows}
"""


def as_json(results: Sequence[Result]) -> dict[str, Any]:
    """Returns what was run, where and when, and every result."""
    return {
        "date": datetime.date.today().isoformat(),
        "python": platform.python_version(),
        "torch": version("torch"),
        "results": [result.as_dict() for result in results],
    }


def _counted(results: Sequence[Result]) -> str:
    ran = [result for result in results if result.runs]
    reached = Counter(result.stage for result in results)
    to_end = sum(STAGES.index(result.stage) >= STAGES.index("runs to its end") for result in ran)
    equal = reached["numbers equal"] + reached["bits equal"]
    lines = [
        f"- {len(results)} repositories; {reached['nothing']} have a file that does not parse.",
        f"- {sum(not result.missing_with_pip for result in results)} have all the packages they require with"
        f" nothing but pip, {sum(not result.missing for result in results)} with rocks.",
        f"- Of {len(ran)} with commands on the list, {to_end} run to their end; {equal} of those print",
        f"  Torch7's numbers, {reached['bits equal']} to the last digit.",
    ]
    return "\n".join(lines)


def _cell(text: str) -> str:
    """Returns a text as a cell of a table, without colors and the folders of this machine."""
    text = re.sub(r"\x1b\[[\d;]*m", "", text)
    text = re.sub(r"(?<![\w/:])/(?:[\w.+-]+/)+(?=[\w.+-]+\.lua)", "", text)
    return (
        text.replace("|", "\\|").replace("\n", " ").replace("<", "&lt;").replace("*", "\\*").replace("`", "'")
    )


def _time(result: Result) -> str:
    if not result.runs:
        return ""
    ours = sum(run["seconds"] for run in result.runs)
    theirs = [run["torch7_seconds"] for run in result.runs if run.get("torch7_exit_code") == 0]
    beside = f" ({sum(theirs):.0f})" if len(theirs) == len(result.runs) else ""
    return f"{ours:.0f}{beside}"


def _packages(missing: Mapping[str, str]) -> str:
    """Returns the packages of modules that do not load."""
    return ", ".join(sorted({name.split(".")[0] for name in missing})) or "all"


def _row(result: Result) -> str:
    said = result.problem
    if result.not_counted:
        said = f"not counted: {result.not_counted}"
    elif result.not_compared:
        said = f"not compared: {result.not_compared}"
    name = f"[{result.name}](https://github.com/{result.name}/tree/{result.commit})"
    cells = (
        name, result.licence, str(result.files),
        _packages(result.missing_with_pip), _packages(result.missing),
        result.stage, _time(result), result.date, _cell(said),
    )  # fmt: skip
    return f"| {' | '.join(cells)} |"


def _continued(entry: dict[str, Any]) -> str:
    if entry["problem"]:
        return _cell(entry["problem"])
    return f"{entry['numbers']} numbers, {'to the last digit' if entry['same_digits'] else 'equal'}"


def _checkpoints(results: Sequence[Result]) -> str:
    """Returns the section on checkpoints; nothing if none was compared."""
    compared = [result for result in results if result.checkpoints]
    if not compared:
        return ""
    rows = [f"| {result.name} | {' | '.join(map(_continued, result.checkpoints))} |" for result in compared]
    equal = sum(not any(entry["problem"] for entry in result.checkpoints) for result in compared)
    counted = f"{equal} of {len(compared)} do, in both directions."
    return _CHECKPOINTS.format(counted=counted, rows="\n".join(rows))


def as_page(results: Sequence[Result]) -> str:
    """Returns docs/compatibility.md."""
    rows = "\n".join(map(_row, results))
    return _PAGE.format(
        **as_json(results), counted=_counted(results), rows=rows, checkpoints=_checkpoints(results)
    )
