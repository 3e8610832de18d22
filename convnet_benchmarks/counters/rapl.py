"""The energy of the processor's packages and of its main memory, by RAPL (Linux's powercap).

It is that of the whole machine, whatever else runs on it.
"""

from dataclasses import dataclass
from pathlib import Path

from convnet_benchmarks.counters.counter import UnreadableError

_FOLDER = Path("/sys/class/powercap")
# Top-level domains by name; another one (psys) is the whole platform, with these in it.
_PACKAGE, _MEMORY = "package", "dram"


@dataclass
class _Domain:
    """A counter in microjoules, which begins again at 0 after ``range``."""

    file: Path
    range: int
    last: int

    def grown(self) -> int:
        """Returns the microjoules since the call before. It must not have wrapped twice since then."""
        now = int(self.file.read_text(encoding="ascii"))
        grown, self.last = now - self.last, now
        return grown if grown >= 0 else grown + self.range


class RaplEnergy:
    """Counts joules. Raises UnreadableError if there are no packages, or they may not be read."""

    def __init__(self, folder: Path | None = None) -> None:
        self._joules = 0.0
        try:
            self._domains = [_opened(domain) for domain in _folders(folder or _FOLDER)]
        except PermissionError:
            raise UnreadableError(
                "joules: RAPL may be read by root only (energy_uj in /sys/class/powercap)"
            ) from None
        except (OSError, ValueError) as error:
            raise UnreadableError(f"joules: RAPL cannot be read: {error}") from None
        if not self._domains:
            raise UnreadableError("joules: this machine shows no RAPL packages in /sys/class/powercap")

    def read(self) -> float:
        """Returns joules since this was made. A counter wraps within minutes under load, and must be read
        before it wraps again.
        """
        self._joules += sum(domain.grown() for domain in self._domains) / 1e6
        return self._joules

    def close(self) -> None:
        """Does nothing: no file is held open."""


def _folders(folder: Path) -> list[Path]:
    """Returns the folders of the packages and of their memory, which a package does not count."""
    found = []
    for domain in sorted(folder.glob("intel-rapl:*")):  # AMD's have the same name
        kind = (domain / "name").read_text(encoding="ascii").strip()
        top = domain.name.count(":") == 1
        if (top and kind.startswith(_PACKAGE)) or (not top and kind == _MEMORY):
            found.append(domain)
    return found


def _opened(folder: Path) -> _Domain:
    file = folder / "energy_uj"
    largest = int((folder / "max_energy_range_uj").read_text(encoding="ascii"))
    return _Domain(file, largest, int(file.read_text(encoding="ascii")))
