"""Benchmark runs from a file: a legacy log, or what ``benchmark.py --json`` wrote."""

import json
from pathlib import Path
from typing import Any

from convnet_benchmarks.errors import UserError
from convnet_benchmarks.legacy.log_text import log_text
from convnet_benchmarks.legacy.logs import PER_SAMPLE, LoggedRun, parse_log, parse_model
from convnet_benchmarks.legacy.setup import of_result
from convnet_benchmarks.output import SCHEMA
from convnet_benchmarks.points.fields import FieldError, is_finite, is_whole, shown
from convnet_benchmarks.results.line_summaries import line_summaries, per_sample
from convnet_benchmarks.results.ran import ran_of


def is_run_json(path: str) -> bool:
    """Returns whether the file is JSON that names this project's schema, in whatever version."""
    try:
        with open(path, encoding="utf-8") as file:
            document = json.load(file)
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(document, dict) and str(document.get("schema", "")).startswith("convnet-benchmarks/")


def load_runs(path: str) -> tuple[LoggedRun, ...]:
    """Returns the runs of a log or a JSON result. Raises UserError if the file is neither."""
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}") from None
    if Path(path).suffix.lower() == ".json":
        return (_run_of_json(path, data.decode("utf-8", errors="replace")),)
    try:
        return parse_log(log_text(data))
    except ValueError as error:
        raise UserError(f"{path}: {error}") from None


def _run_of_json(path: str, text: str) -> LoggedRun:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path}: not a JSON file ({error})") from None
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        raise UserError(f'{path}: not a result of benchmark.py --json; accepted: "schema": "{SCHEMA}"')
    kind, lines = document.get("kind"), document.get("lines")
    if kind not in ("benchmark", "criterion"):
        raise UserError(f"{path}: kind is {kind!r}; accepted: 'benchmark', 'criterion'")
    if not isinstance(lines, dict) or not lines:
        raise UserError(f"{path}: 'lines' must hold a number of milliseconds for each label")
    for label, value in lines.items():
        if not (is_finite(value) and value > 0):
            raise UserError(f"{path}: label '{label}' is {shown(value)}; accepted: milliseconds above 0")
    try:
        model = parse_model(str(document.get("model", "")))
    except ValueError as error:
        raise UserError(f"{path}: 'model': {error}") from None
    try:
        ran = ran_of(document, "")
        setup = of_result(kind, document, ran) if ran else None
    except FieldError as error:
        raise UserError(f"{path}: {error}") from None
    except AttributeError:
        raise UserError(f"{path}: 'options' and 'backend' must be objects") from None
    figures = _figures(path, document, ran.batch_size) if ran else {}
    times = {label: figures[label]["value"] if label in figures else float(lines[label]) for label in lines}
    return LoggedRun(
        kind,
        PER_SAMPLE,
        times,
        batch_size=ran.batch_size if ran else None,
        device=ran.device_name if ran else None,
        kernels=ran.software if ran else "",
        setup=setup,
        figures=figures,
        model=model,
    )


def _figures(path: str, document: dict[str, Any], batch_size: int) -> dict[str, dict[str, Any]]:
    """Returns the statistics of the lines that were timed in a loop, in ms per sample."""
    try:
        found = {label: per_sample(one, batch_size) for label, one in line_summaries(document).items()}
    except (LookupError, TypeError, ValueError, AttributeError):
        raise UserError(f"{path}: 'phases' must hold a 'summary' for each label") from None
    for label, one in found.items():
        ends = low, _, high = one["low"], one["value"], one["high"]
        if not (all(map(is_finite, ends)) and 0 < low <= one["value"] <= high and is_whole(one["samples"])):
            raise UserError(f"{path}: label '{label}': {low:g} to {high:g} is no interval of times")
    return found
