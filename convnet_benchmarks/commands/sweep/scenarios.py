"""The loads of ``--scenario``: which of a sweep's combinations they are measured at."""

import argparse
from collections.abc import Sequence

from convnet_benchmarks.errors import UserError, unknown
from convnet_benchmarks.points.scenario import OFFLINE, SCENARIOS, SERVER, SINGLE_STREAM, Scenario


def check_scenarios(options: argparse.Namespace) -> None:
    """Refuses what does not go together with ``--scenario`` and ``--latency-target``."""
    for name in options.scenario:
        if name not in SCENARIOS:
            raise UserError(f"option --scenario: {unknown('scenario', name, SCENARIOS)}")
    if options.latency_target is not None and not set(options.scenario) - {OFFLINE}:
        raise UserError("option --latency-target: is for --scenario server or single-stream")
    if not options.scenario:
        return
    if SERVER in options.scenario and options.latency_target is None:
        raise UserError("option --scenario: server needs --latency-target MS")
    if options.modes != ["inference"]:
        raise UserError("option --scenario: queries are answered by inference; accepted: --modes inference")
    if options.processes != 1:
        raise UserError("option --scenario: is measured in one process; accepted: --processes 1")


def scenario_kinds(
    options: argparse.Namespace, batches: Sequence[int]
) -> list[tuple[str, int, Scenario | None]]:
    """Returns kind, batch size and load of what ``--scenario`` asks for; a single stream has batch 1."""
    found: list[tuple[str, int, Scenario | None]] = []
    for name in options.scenario:
        target = None if name == OFFLINE else options.latency_target
        scenario = Scenario(name, target, options.seconds)
        sizes = batches if name != SINGLE_STREAM else [1]
        found += [(name, batch, scenario) for batch in sizes]
    return found
