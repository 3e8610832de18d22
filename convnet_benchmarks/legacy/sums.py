"""The lines of the legacy scripts that are sums of other lines."""

_BENCHMARK = {
    ":Forward:": (":updateOutput():",),
    ":Backward:": (":updateGradInput():", ":accGradParameters():"),
    ":TOTAL:": (":updateOutput():", ":updateGradInput():", ":accGradParameters():"),
}
_CRITERION = {":TOTAL:": (":Net Forward:", ":Criterion Forward:", ":Criterion Backward:", ":Net Backward:")}


def sums_of(kind: str) -> dict[str, tuple[str, ...]]:
    """Returns the labels that each sum of a script (``benchmark`` or ``criterion``) is made of."""
    return _BENCHMARK | _CRITERION if kind == "criterion" else _BENCHMARK
