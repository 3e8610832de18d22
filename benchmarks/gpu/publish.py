"""Puts the figures of a run where people find them.

    python -m benchmarks.gpu.publish OUT       adds OUT's figures to benchmarks/gpu/results/
    python -m benchmarks.gpu.publish           only renews what is made from the files there

What is made from them: the tables of docs/gpu.md, and for each machine a source of the report's history
(convnet_benchmarks/history/gpu_*.json), beside the cards of 2015 to 2017.
"""

import json
import sys
from pathlib import Path
from typing import Any

from benchmarks.gpu import figures as figure_files
from benchmarks.gpu import tables
from convnet_benchmarks.errors import run_command

ROOT = Path(__file__).resolve().parents[2]
_BEGIN, _END = "<!-- figures: made by benchmarks/gpu/publish.py -->\n", "<!-- end of figures -->\n"
_PHASES = ("updateOutput", "updateGradInput", "accGradParameters", "forward", "backward", "forward+backward")


def publish(out: Path | None, root: Path = ROOT) -> list[Path]:
    """Writes the files; returns those that were written. Raises UserError for an OUT without figures."""
    results = root / "benchmarks" / "gpu" / "results"
    written = []
    if out is not None:
        found = figure_files.collect(out)
        path = figure_files.free_file(results, found)
        figure_files.write(path, found)
        written.append(path)
    every = [figure_files.read(path) for path in sorted(results.glob("*.json"))]
    page = root / "docs" / "gpu.md"
    page.write_text(renewed(page.read_text(encoding="utf-8"), every), encoding="utf-8")
    written.append(page)
    for one in every:
        name = figure_files.file_name(one).replace("-", "_")
        path = root / "convnet_benchmarks" / "history" / f"gpu_{name}"
        path.write_text(json.dumps(history_source(one), indent=1) + "\n", encoding="utf-8")
        written.append(path)
    return written


def renewed(page: str, every: list[dict[str, Any]]) -> str:
    """Returns the page with the tables between its two marks renewed."""
    before, _, rest = page.partition(_BEGIN)
    _, _, after = rest.partition(_END)
    return f"{before}{_BEGIN}\n{tables.text(every)}\n{_END}{after}"


def history_source(figures: dict[str, Any]) -> dict[str, Any]:
    """Returns the training times of a machine as a source of the history (convnet_benchmarks/history)."""
    rows: dict[tuple[Any, ...], dict[str, float]] = {}
    for one in figures["figures"]:
        if one["step"].startswith("benchmark.py") and one["phase"] in _PHASES:
            key = (
                one["net"],
                f"PyTorch {figures['environment']['torch']['version']}, {one['software']}",
                one["batch"],
            )
            rows.setdefault(key, {})[one["phase"]] = one["value"]
    return {
        "title": f"This program on {figure_files.title(figures)}",
        "author": "convnet-benchmarks",
        "date": figures["date"],
        "url": "",
        "machine": f"{figures['device']}; {figures['environment']['cpu']['model']}",
        "notes": ["Measured by benchmarks/gpu/run.sh (docs/gpu.md)."],
        "nets": {},
        "tables": [
            {
                "common": {"device": figures["device"], "quantity": "time", "unit": "ms per sample"},
                "columns": ["net", "software", "batch", *({"phase": phase} for phase in _PHASES)],
                "rows": [[*about, *(times.get(phase) for phase in _PHASES)] for about, times in rows.items()],
            }
        ],
    }


def main() -> int:
    """Writes the files, and prints their names."""
    for path in publish(Path(sys.argv[1]) if len(sys.argv) > 1 else None):
        print(path.relative_to(ROOT))
    return 0


if __name__ == "__main__":
    sys.exit(run_command("benchmarks/gpu/publish.py", main))
