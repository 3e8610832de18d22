"""Where images per second stop growing with the batch."""

from collections.abc import Sequence
from dataclasses import dataclass

# The knee is the smallest batch that gives this share of the largest throughput measured.
KNEE_SHARE = 0.9
# A curve whose last step still gains more than this has not shown its plateau.
PLATEAU_GAIN = 0.05


@dataclass(frozen=True)
class Knee:
    """``still_rising``: the largest batch was the fastest, by more than PLATEAU_GAIN over the one before."""

    batch: int
    images_per_second: float
    still_rising: bool

    @property
    def text(self) -> str:
        knee = f"knee: batch {self.batch}, the smallest with {KNEE_SHARE:.0%} of the largest throughput"
        return f"{knee}; the curve still rises at its end" if self.still_rising else knee


def find_knee(curve: Sequence[tuple[int, float]]) -> Knee:
    """Returns the knee of (batch, images per second), by rising batch. Raises ValueError if there is
    no point.
    """
    largest = max(throughput for _, throughput in curve)
    batch, throughput = next(point for point in curve if point[1] >= KNEE_SHARE * largest)
    rising = len(curve) > 1 and curve[-1][1] == largest and largest > (1 + PLATEAU_GAIN) * curve[-2][1]
    return Knee(batch, throughput, rising)
