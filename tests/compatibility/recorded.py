"""The numbers that Torch7 printed for the commands of the list: facts, recorded once."""

import json
from pathlib import Path

FILE = Path(__file__).parent / "recorded.json"


class Recorded:
    """By repository and command: what is printed, as text."""

    def __init__(self, numbers: dict[str, dict[str, list[str]]]) -> None:
        self._numbers = numbers

    @classmethod
    def read(cls, file: Path = FILE) -> "Recorded":
        return cls(json.loads(file.read_text(encoding="utf-8")) if file.exists() else {})

    def numbers(self, repository: str, command: str) -> list[str] | None:
        """Returns what Torch7 printed; None if it has not been recorded."""
        return self._numbers.get(repository, {}).get(command)

    def keep(self, repository: str, command: str, numbers: list[str]) -> None:
        self._numbers.setdefault(repository, {})[command] = numbers

    def write(self, file: Path = FILE) -> None:
        """Writes the file: a line for each command."""
        parts = []
        for repository in sorted(self._numbers, key=str.lower):
            commands = sorted(self._numbers[repository].items())
            lines = ",\n".join(f"  {json.dumps(command)}: {json.dumps(found)}" for command, found in commands)
            parts.append(f" {json.dumps(repository)}: {{\n{lines}\n }}")
        file.write_text("{\n" + ",\n".join(parts) + "\n}\n", encoding="utf-8")
