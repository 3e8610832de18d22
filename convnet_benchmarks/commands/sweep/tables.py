"""The tables of a sweep, from its records."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from convnet_benchmarks.commands.sweep.per_net import per_net_table
from convnet_benchmarks.commands.sweep.run import LARGEST_BATCH, THROUGHPUT
from convnet_benchmarks.nets.net import size_of, size_text
from convnet_benchmarks.points.between_processes import processes_note
from convnet_benchmarks.points.measure import FEWEST_FOR_PERCENTILE
from convnet_benchmarks.points.point import OK
from convnet_benchmarks.points.scenario import OFFLINE, SERVER, SINGLE_STREAM
from convnet_benchmarks.tables import Cell, Column, Table, counted
from convnet_benchmarks.timing.counted import counted_cells, counted_columns
from convnet_benchmarks.workload.ran import unit_of_records

Record = dict[str, Any]
Records = Sequence[Record]
_MIB = 2**20
_COMBINATION = (
    Column("net", key="net"),
    Column("device", key="device", condition=True),
    Column("dtype", key="dtype", condition=True),
    Column("backend", key="backend", condition=True),
    Column("mode", key="mode", condition=True),
    Column("cache", key="cache", condition=True),
    Column("input", key="input", condition=True),
)


def sweep_tables(records: Records, nets: Mapping[str, Mapping[str, Any]] | None) -> list[Table]:
    """Returns throughput against batch size, then every point, then the largest batches; those that have
    rows.

    With ``nets``, what is known of each (``describe_nets``), a row for each net instead of the first.
    """
    points = [record for record in records if record["kind"] == THROUGHPUT]
    searches = [record for record in records if record["kind"] == LARGEST_BATCH]
    first = _throughput(points) if nets is None else per_net_table(points, nets)
    found = [first, _details(points), *_scenarios(records), _largest_batches(searches)]
    return [table for table in found if table.rows]


def _throughput(points: Records) -> Table:
    batches = sorted({record["point"]["batch_size"] for record in points})
    rows: dict[tuple[Cell, ...], dict[int, Cell]] = {}
    for record in points:
        row = rows.setdefault(_combination(record, points), {})
        row[record["point"]["batch_size"]] = record.get("samples_per_second") or record["status"]
    columns = [Column(f"batch {batch}", key=f"batch_{batch}") for batch in batches]
    return Table(
        f"Throughput in {unit_of_records(points)}/s against batch size",
        [*_COMBINATION, *columns],
        [[*names, *(row.get(batch) for batch in batches)] for names, row in rows.items()],
        _machines(points),
    )


def _details(points: Records) -> Table:
    columns = [
        *_COMBINATION,
        Column("batch", key="batch_size"),
        Column("throughput", f"{unit_of_records(points)}/s", key="samples_per_second"),
        *(Column(f"latency p{p}", "ms", key=f"latency_p{p}_ms", missing="-") for p in FEWEST_FOR_PERCENTILE),
        *(Column(phase, "ms", key=f"{phase}_ms") for phase in _phases(points)),
        Column("busy cores", digits=3, key="busy_cores"),
        *counted_columns(record.get("conditions", {}) for record in points),
        Column("peak memory", "MiB", key="peak_memory_mib"),
        Column("verdict", key="verdict"),
    ]
    rows = [_detail(record, points, columns) for record in points]
    measured = [record["latency_ms"] for record in points if record["status"] == OK]
    notes = [
        f"latency p{percent}: needs {fewest} passes (--seconds)"
        for percent, fewest in FEWEST_FOR_PERCENTILE.items()
        if any(f"p{percent}" not in latency for latency in measured)
    ]
    return Table("Latency of a pass, and memory", columns, rows, notes + processes_note(points))


def _detail(record: dict[str, Any], points: Records, columns: Sequence[Column]) -> Sequence[Cell]:
    names = [*_combination(record, points), record["point"]["batch_size"]]
    if record["status"] != OK:
        nothing = [None] * (len(columns) - len(names) - 1)
        return [*names, *nothing, f"{record['status']}: {record['reason']}"]
    latency, conditions = record["latency_ms"], record.get("conditions", {})
    return [
        *names,
        record["samples_per_second"],
        *(latency.get(f"p{percent}") for percent in FEWEST_FOR_PERCENTILE),
        *(record["phases_ms"].get(phase, {}).get("median") for phase in _phases(points)),
        conditions.get("busy_cores"),
        *counted_cells(columns, conditions, record["point"]["batch_size"]),
        _mebibytes(record["peak_memory_bytes"]),
        record["pass_ms"]["verdict"],
    ]


def _phases(points: Records) -> list[str]:
    """Returns the phases that any of the points has: none without training."""
    return list(dict.fromkeys(phase for record in points for phase in record.get("phases_ms", ())))


def _scenarios(records: Records) -> list[Table]:
    """Returns a table for each load."""
    latencies = [Column(f"p{p}", "ms", key=f"latency_p{p}_ms", missing="-") for p in FEWEST_FOR_PERCENTILE]
    batch, queries = Column("batch", key="batch_size"), Column("queries", key="queries")
    target = Column("target", key="latency_target", condition=True)
    verdict = Column("verdict", key="verdict")
    unit = unit_of_records(record for record in records if record["kind"] == OFFLINE)

    def table(kind: str, title: str, columns: list[Column], figures: Callable[[Record], list[Cell]]) -> Table:
        ones = [record for record in records if record["kind"] == kind]
        made = Table(title, [*_COMBINATION, target, *columns, verdict])
        for record in ones:
            within = record["latency_target_ms"]
            names = [*_combination(record, ones), within and f"within {within:g} ms"]
            if record["status"] == OK:
                reason = f": {record['reason']}" if record["reason"] else ""
                made.rows.append([*names, *figures(record), record["verdict"] + reason])
            else:
                said = f"{record['status']}: {record['reason']}"
                made.rows.append([*names, *[None] * len(columns), said])
        made.notes = _machines(ones)
        return made

    def told(record: Record) -> list[Cell]:
        return [record["latency_ms"].get(f"p{percent}") for percent in FEWEST_FOR_PERCENTILE]

    server = [
        batch,
        Column("highest rate", "queries/s", key="queries_per_second"),
        Column("too high", "queries/s", key="beyond_queries_per_second"),
        Column("capacity", "queries/s", key="capacity_per_second"),
        *latencies[::2],
        queries,
    ]
    return [
        table(
            SINGLE_STREAM,
            "Latency of one query at a time",
            [*latencies, queries],
            lambda record: [*told(record), record["queries"]],
        ),
        table(
            OFFLINE,
            "Throughput with all samples at once",
            [batch, Column("throughput", f"{unit}/s", key="samples_per_second"), queries],
            lambda record: [
                record["point"]["batch_size"],
                record["samples_per_second"],
                record["queries"],
            ],
        ),
        table(
            SERVER,
            "Server: the highest rate of random arrivals whose p99 is within the target",
            server,
            lambda record: [
                record["point"]["batch_size"],
                record["queries_per_second"],
                record["beyond_queries_per_second"],
                record["capacity_per_second"],
                *told(record)[::2],
                record["queries"],
            ],
        ),
    ]


def _largest_batches(searches: Records) -> Table:
    columns = [
        *_COMBINATION,
        Column("largest batch", key="largest_batch"),
        Column("smallest that did not run", key="smallest_failing_batch"),
        Column("peak memory", "MiB", key="peak_memory_mib"),
        Column("memory budget", "MiB", key="memory_budget_mib"),
        Column("tries", key="tries"),
        Column("status", key="status"),
    ]
    rows: list[Sequence[Cell]] = [
        [
            *_combination(record, searches),
            record.get("largest_batch"),
            record.get("smallest_failing_batch"),
            _mebibytes(record.get("peak_memory_bytes")),
            _mebibytes(record["memory_budget_bytes"]),
            len(record.get("tried", ())),
            record["status"] + (f": {record['reason']}" if record["reason"] else ""),
        ]
        for record in searches
    ]
    return Table("Largest batch size", columns, rows)


def _combination(record: dict[str, Any], records: Records) -> tuple[Cell, ...]:
    """Returns what a curve is about; its device with the model where ``records`` have several."""
    point = record["point"]
    device = point["device"]
    same_name = [other["machine"] for other in records if other["point"]["device"] == device]
    if any(machine != record["machine"] for machine in same_name):
        device = f"{device}: {', torch '.join(record['machine'].values())}"
    cache = "cold cache" if point.get("cold_cache") else ""
    found = size_of(point.get("input_size"))
    size = size_text(found) if found else ""
    return point["net"], device, point["dtype"], point["backend"], point["mode"], cache, size


def _machines(records: Records) -> list[str]:
    """Returns what each device is, and the threads, for below the table."""
    found: dict[str, None] = {}
    for record in records:
        if record["status"] == OK:
            point, machine = record["point"], record["machine"]
            threads = f", {counted(record['environment']['torch']['threads'], 'thread')}"
            on_cpu = threads if point["device"] == "cpu" else ""
            found[f"{point['device']}: {machine['device']}, torch {machine['torch']}{on_cpu}"] = None
    return list(found)


def _mebibytes(size: int | None) -> float | None:
    return None if size is None else size / _MIB
