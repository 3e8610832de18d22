"""Published results of 2015 to 2018: facts of the convnet benchmarks of the time, each with its source.

One JSON file per source in this folder. A table's row gives its columns in order: a column that is a name
says what was measured (net, device, batch, ...), one that is an object holds a value and says of what. The
``common`` fields hold for the whole table; null is a value the source does not give. ``nets`` are the names
of nets that are called otherwise here.
"""

import json
from dataclasses import dataclass, fields
from importlib import resources
from typing import Any

from convnet_benchmarks.results.measurement import Measurement

_FIELDS = {field.name for field in fields(Measurement)}


@dataclass(frozen=True)
class Source:
    """A publication and its numbers. ``author``, ``date`` and ``url`` are '' where they are not known."""

    title: str
    author: str
    date: str
    url: str
    machine: str
    notes: tuple[str, ...]
    measurements: tuple[Measurement, ...]


def read_sources() -> list[Source]:
    """Returns every publication, by the name of its file."""
    folder = resources.files(__name__)
    files = sorted((file for file in folder.iterdir() if file.name.endswith(".json")), key=lambda f: f.name)
    return [read_source(json.loads(file.read_text(encoding="utf-8"))) for file in files]


def read_source(document: dict[str, Any]) -> Source:
    """Returns the publication that ``document`` describes, as the module says."""
    measurements = [
        measurement
        for table in document["tables"]
        for row in table["rows"]
        for measurement in _measurements(table, row, document)
    ]
    return Source(
        title=document["title"],
        author=document["author"],
        date=document["date"],
        url=document["url"],
        machine=document["machine"],
        notes=tuple(document["notes"]),
        measurements=tuple(measurements),
    )


def _measurements(table: dict[str, Any], row: list[Any], document: dict[str, Any]) -> list[Measurement]:
    cells = list(zip(table["columns"], row, strict=True))
    about = table["common"] | {name: cell for name, cell in cells if isinstance(name, str)}
    about["source"] = document["title"]
    net = about.get("net", "")
    about["net"] = document["nets"].get(net, net)
    found = []
    for column, value in cells:
        if isinstance(column, dict) and value is not None:
            described = {key: cell for key, cell in (about | column).items() if key in _FIELDS}
            found.append(Measurement(value=value, **described))
    return found
