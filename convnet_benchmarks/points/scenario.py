"""The loads of MLPerf's load generator that a point can be measured under."""

from dataclasses import dataclass

SINGLE_STREAM, OFFLINE, SERVER = SCENARIOS = ("single-stream", "offline", "server")
MET, NOT_MET = "met", "not met"  # verdicts on a latency target


@dataclass(frozen=True)
class Scenario:
    """``name``: of SCENARIOS. ``latency_target_ms``: a server's, and a single stream's if any.

    ``seconds``: of a single stream, of all samples at once, or of each rate that a server is tried at; more
    where that is too short for the percentile.
    """

    name: str
    latency_target_ms: float | None
    seconds: float
