"""Reads from a result file what was measured. Older files have no such field and are read without it."""

from typing import Any

from convnet_benchmarks.points.fields import Fields
from convnet_benchmarks.workload.ran import Ran


def read_ran(holder: Fields) -> Ran | None:
    """Returns the field ``ran`` of a record; None in a file that was written before there was one.

    Raises FieldError if it is not as docs/results.md describes it.
    """
    if "ran" not in holder:
        return None
    fields = holder.inner("ran")
    return Ran(
        net=fields.text("net"),
        batch_size=fields.whole("batch_size"),
        input_shape=fields.wholes("input_shape"),
        backend=fields.text("backend"),
        dtype=fields.text("dtype"),
        device=fields.text("device"),
        device_name=fields.text("device_name"),
        threads=fields.whole("threads"),
        cold_cache="cold_cache" in fields and fields.flag("cold_cache"),
        inputs=fields.text("inputs") if "inputs" in fields else "",
        unit=fields.text("unit") if "unit" in fields else "images",
    )


def ran_of(content: Any, place: str) -> Ran | None:
    """Returns ``read_ran`` of plain JSON values; ``place``: where in their file they are."""
    return read_ran(Fields(content, place))


def commit_of(holder: Fields) -> str:
    """Returns the commit of the working folder in a record's environment, '' where it has none."""
    found = holder.inner("environment") if "environment" in holder else None
    if found is None or "commit" not in found or found.is_null("commit", "a commit"):
        return ""
    return found.text("commit")
