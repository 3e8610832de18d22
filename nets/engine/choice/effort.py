"""How much time the choice of kernels may take."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Effort:
    """Determines what is timed before a net runs, and how often.

    ``repeats``: timed runs of a candidate; ``repeats_later``: more runs, some time later, for those within
    ``near`` times the best. A batch is timed on the number of images that makes ``multiply_adds`` of the
    direct algorithm and ``positions`` of the output: as every kernel processes a batch in pieces, the fastest
    on these is the fastest on more. The ``bilinear`` numbers apply if Winograd or FFT are among the
    candidates: their weights are large, so that with few positions they look slower than they are.
    ``learns``: candidates that were clearly slower on a similar shape are not timed. ``seconds``: the default
    time limit of choosing, after which nothing more is timed; ``later_seconds``: the same if an earlier
    process has made this plan.
    """

    name: str
    repeats: int
    repeats_later: int
    near: float
    multiply_adds: int
    positions: int
    bilinear_multiply_adds: int
    bilinear_positions: int
    learns: bool
    seconds: float
    later_seconds: float


_ALL = float("inf")

THOROUGH = Effort("thorough", 4, 2, 1.8, 6_000_000_000, 1600, 12_000_000_000, 3200, False, _ALL, _ALL)
QUICK = Effort("quick", 1, 0, 1.1, 1_000_000_000, 400, 2_000_000_000, 800, True, 0.0, 1.0)

EFFORTS = {effort.name: effort for effort in (QUICK, THOROUGH)}
