"""Remembers which kernels were fast on which shapes, to skip those not worth timing on a similar one."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

_SIMILAR = 2.5  # largest distance: the sum of log2 of the factors by which two shapes differ
_PROMISING = 1.25  # times the best one on the similar shape


@dataclass(frozen=True)
class Features:
    """The shape that a kernel is chosen for. ``kind``: what must be equal in shapes to be compared (filter,
    stride, phase, number format); ``place``: log2 of sizes."""

    kind: str
    place: tuple[float, ...]

    def distance(self, other: "Features") -> float:
        """Returns the distance of two shapes; infinite for shapes of different kinds."""
        if self.kind != other.kind or len(self.place) != len(other.place):
            return float("inf")
        return sum(abs(a - b) for a, b in zip(self.place, other.place, strict=True))


@dataclass
class Experience:
    """The times of all candidates on the shapes met so far."""

    _met: list[tuple[Features, dict[str, float]]] = field(default_factory=list)

    def add(self, features: Features, times: Mapping[str, float]) -> None:
        self._met.append((features, dict(times)))

    def nearest(self, features: Features) -> dict[str, float] | None:
        """Returns the times in ms of the most similar shape, or None if none is similar."""
        distance, times = min(
            ((features.distance(known), times) for known, times in self._met),
            key=lambda found: found[0],
            default=(float("inf"), None),
        )
        return times if distance <= _SIMILAR else None

    def promising(self, features: Features, names: Collection[str]) -> list[str]:
        """Returns those of ``names`` that may be the fastest: all except those that were clearly slower than
        the best of them on a similar shape."""
        times = self.nearest(features)
        known = [times[name] for name in names if name in times] if times else []
        if not times or not known:
            return list(names)
        limit = _PROMISING * min(known)
        return [name for name in names if times.get(name, limit) <= limit]
