"""Measurements of whole nets as speeds, whatever said them: times of a run, throughputs of a sweep."""

from collections.abc import Iterable
from dataclasses import dataclass

from convnet_benchmarks.results.measurement import Measurement, images_per_second, net_key

# What a pass did, by the names that the sources and this program give it.
_PASSES = {
    "forward+backward": "training",
    "training": "training",
    "inference": "inference",
    "forward": "inference",
}


@dataclass(frozen=True)
class Speed:
    """A measurement as a speed. ``what``: the net's key and the kind of pass."""

    measurement: Measurement
    what: tuple[str, str]
    images_per_second: float


def speeds(found: Iterable[Measurement]) -> list[Speed]:
    """Returns those that say how fast a whole net trains or infers."""
    known = []
    for one in found:
        speed = images_per_second(one)
        if speed and one.phase in _PASSES:
            known.append(Speed(one, (net_key(one.net), _PASSES[one.phase]), speed))
    return known


def fastest(found: Iterable[Speed], *conditions: str) -> list[Speed]:
    """Returns the fastest for each net, pass and value of the fields ``conditions`` of its measurement."""
    best: dict[tuple[object, ...], Speed] = {}
    for speed in found:
        key = speed.what, *(getattr(speed.measurement, name) for name in conditions)
        if key not in best or speed.images_per_second > best[key].images_per_second:
            best[key] = speed
    return list(best.values())
