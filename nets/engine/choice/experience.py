"""Remembers which kernels were fast on which shapes, and so which are not worth timing on a similar one."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

_SIMILAR = 2.5  # sum of the factors, as logarithms to base 2, by which two shapes differ
_PROMISING = 1.25  # times the best one on the similar shape


@dataclass(frozen=True)
class Features:
    """The shape that a kernel is chosen for. ``kind``: what must be the same in shapes that are compared
    (filter, stride, phase, number format); ``place``: sizes, as logarithms to base 2."""

    kind: str
    place: tuple[float, ...]

    def distance(self, other: "Features") -> float:
        """Returns how different the two shapes are; infinite for shapes of different kinds."""
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
        """Returns those of ``names`` that may be the fastest: all but the ones that were clearly slower than
        the best of them on a similar shape."""
        times = self.nearest(features)
        known = [times[name] for name in names if name in times] if times else []
        if not times or not known:
            return list(names)
        limit = _PROMISING * min(known)
        return [name for name in names if times.get(name, limit) <= limit]
