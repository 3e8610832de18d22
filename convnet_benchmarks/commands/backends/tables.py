"""The tables of a comparison, in the layout of MXNet's: latency and throughput without, with, speed-up."""

from collections.abc import Sequence
from typing import Any

from convnet_benchmarks.nets import registry
from convnet_benchmarks.points.between_processes import processes_note
from convnet_benchmarks.points.point import OK
from convnet_benchmarks.tables import Cell, Column, Table, counted
from convnet_benchmarks.timing.counted import counted_cells, counted_columns
from convnet_benchmarks.workload.ran import unit_of_records

Records = Sequence[dict[str, Any]]

# Families of nets that are not classifiers.
_CATEGORIES = {
    "SSD": "CNN/object detection",
    "Faster R-CNN": "CNN/object detection",
    "GNMT": "RNN",
    "DCGAN": "GAN",
}


def category(net: str) -> str:
    """Returns the kind of net, as MXNet's table calls it; empty for a net from outside."""
    if net not in registry.NETS:
        return ""
    return _CATEGORIES.get(registry.NETS[net].family, "CNN/classification")


def speed_table(name: str, latencies: Records, throughputs: Records) -> Table:
    """Returns a row per net for the variant called ``name``; its records at the small and at the large
    batch.
    """
    any_record = (*latencies, *throughputs)[0]
    without = any_record["variants"][0]
    by_net = [{record["point"]["net"]: record for record in records} for records in (latencies, throughputs)]
    columns = [Column("category", key="category", condition=True), Column("model", key="net")]
    per_second = f"{unit_of_records(_results(throughputs))}/s"
    for records, quantity, unit in ((latencies, "latency", "ms"), (throughputs, "throughput", per_second)):
        batches = {record["point"]["batch_size"] for record in records}
        heading = f"{quantity} batch {'/'.join(map(str, sorted(batches)))}" if batches else quantity
        columns += [
            Column(f"{heading}, {without}", unit, key=f"{quantity}_without"),
            Column(f"{heading}, {name}", unit, key=f"{quantity}_with"),
            Column("speed-up", digits=3, key=f"{quantity}_speed_up"),
            Column("verdict", key=f"{quantity}_verdict"),
        ]
    rows: list[Sequence[Cell]] = []
    for net in dict.fromkeys(record["point"]["net"] for record in (*latencies, *throughputs)):
        latency, throughput = (records.get(net) for records in by_net)
        cells = [
            *_cells(latency, without, name, "latency_ms"),
            *_cells(throughput, without, name, "samples_per_second"),
        ]
        rows.append([category(net), net, *cells])
    records = (*latencies, *throughputs)
    notes = [*_machines(records), *_reasons((without, name), *records)]
    return Table(f"{name} against {without}", columns, rows, notes)


def _results(records: Records) -> list[dict[str, Any]]:
    return [result for record in records for result in record["results"].values()]


def _machines(records: Records) -> list[str]:
    """Returns what the nets ran on, for below the table; with their names where it was not all the same."""
    nets: dict[str, list[str]] = {}
    for record in records:
        names = nets.setdefault(_where(record), [])
        if record["point"]["net"] not in names:
            names.append(record["point"]["net"])
    return list(nets) if len(nets) == 1 else [f"{where}: {', '.join(names)}" for where, names in nets.items()]


def _where(record: dict[str, Any]) -> str:
    """Returns the machine, and on a CPU the threads where they were chosen."""
    point, machine = record["point"], record["machine"]
    threads = f", {counted(point['threads'], 'thread')}" if point["threads"] else ""
    return f"{point['device']}: {machine['device']}, torch {machine['torch']}{threads}"


def _cells(record: dict[str, Any] | None, without: str, name: str, quantity: str) -> list[Cell]:
    if record is None:
        return [None] * 4
    results = [record["results"][variant] for variant in (without, name)]
    values = [result.get(quantity, result["status"]) for result in results]
    speed_up = results[1].get("speed_up", {})
    return [*values, speed_up.get("value"), speed_up.get("verdict")]


def _reasons(variants: Sequence[str], *records: dict[str, Any]) -> list[str]:
    """Returns why there is no number, for below the table."""
    found: dict[str, None] = {}
    for record in records:
        for variant in variants:
            result = record["results"][variant]
            if result["status"] != OK:
                found[f"{_place(record, variant)}: {result['status']}: {result['reason']}"] = None
    return list(found)


def details_table(records: Records) -> Table:
    """Returns every variant of every sitting: its time with the interval, the speed-up's, the outputs'
    difference.
    """
    columns = [
        Column("net", key="net"),
        Column("batch", key="batch_size"),
        Column("variant", key="variant"),
        Column("pass", "ms", key="pass_ms"),
        Column("95 % interval", "ms", key="pass_interval_ms"),
        Column("busy cores", digits=3, key="busy_cores"),
        *counted_columns(
            result.get("conditions", {}) for record in records for result in record["results"].values()
        ),
        Column("speed-up", digits=3, key="speed_up"),
        Column("95 % interval", key="speed_up_interval"),
        Column("pairs", key="pairs"),
        Column("verdict", key="verdict"),
        Column("largest difference of the outputs", digits=2, key="output_difference"),
        Column("over the largest output", digits=2, key="relative_output_difference"),
    ]
    rows = [_detail(record, name, columns) for record in records for name in record["variants"]]
    throttled = [
        f"{_place(record, name)}: throttled: the clock fell meanwhile"
        for record in records
        for name in record["variants"]
        if record["results"][name].get("conditions", {}).get("throttled_passes")
    ]
    return Table("Times, speed-ups and outputs", columns, rows, [*throttled, *processes_note(records)])


def _place(record: dict[str, Any], name: str) -> str:
    point = record["point"]
    return f"{point['net']}, batch {point['batch_size']}, {name}"


def _detail(record: dict[str, Any], name: str, columns: Sequence[Column]) -> Sequence[Cell]:
    result = record["results"][name]
    about = [record["point"]["net"], record["point"]["batch_size"], name]
    if "pass_ms" not in result:
        nothing = [None] * (len(columns) - len(about) - 3)
        return [*about, *nothing, result["status"], None, None]
    times, speed_up = result["pass_ms"], result.get("speed_up", {})
    difference, conditions = result.get("output_difference", {}), result.get("conditions", {})
    return [
        *about,
        times["median"],
        _interval(times),
        conditions.get("busy_cores"),
        *counted_cells(columns, conditions, record["point"]["batch_size"]),
        speed_up.get("value"),
        _interval(speed_up),
        speed_up.get("pairs"),
        speed_up.get("verdict"),
        difference.get("absolute"),
        difference.get("relative"),
    ]


def _interval(bounds: dict[str, Any]) -> str | None:
    return f"{bounds['low']:.4g} .. {bounds['high']:.4g}" if "low" in bounds else None
