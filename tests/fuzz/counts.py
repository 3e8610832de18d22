"""How far campaigns have come, in a file: each continues where it was stopped."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any


class Counts:
    """Reads and keeps the counts of one campaign; ``path`` None: they are kept nowhere.

    ``campaign`` names the campaign in the file, which holds several.
    """

    def __init__(self, path: Path | None, campaign: str) -> None:
        self._path = path
        self._campaign = campaign
        self.values: dict[str, Any] = self._all().get(campaign, {})

    def _all(self) -> dict[str, dict[str, Any]]:
        if self._path is None or not self._path.exists():
            return {}
        found: dict[str, dict[str, Any]] = json.loads(self._path.read_text())
        return found

    def number(self, name: str) -> int:
        """Returns a count; 0 for one that was never added to."""
        return int(self.values.get(name, 0))

    def add(self, made: Mapping[str, int | list[int]]) -> None:
        """Adds to counts and lists, and writes them to the file."""
        for name, value in made.items():
            self.values[name] = self.values.get(name, type(value)()) + value
        if self._path is not None:
            everything = {**self._all(), self._campaign: self.values}
            whole = self._path.with_name(self._path.name + ".new")
            whole.write_text(json.dumps(everything, indent=1) + "\n")
            whole.replace(self._path)
