"""sweep: throughput, latency and memory of nets over batch sizes, devices, number formats and backends.

What dlmark did for Gluon's model zoo: throughput against batch size, and the largest batch size.
"""

import argparse
import itertools
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from convnet_benchmarks.commands.sweep.back_off import measure_backing_off
from convnet_benchmarks.commands.sweep.per_net import describe_nets
from convnet_benchmarks.commands.sweep.run import LARGEST_BATCH, THROUGHPUT, Task, measure_missing
from convnet_benchmarks.commands.sweep.scenarios import check_scenarios, scenario_kinds
from convnet_benchmarks.commands.sweep.tables import sweep_tables
from convnet_benchmarks.errors import UserError, unknown
from convnet_benchmarks.nets import registry
from convnet_benchmarks.nets.net import InputSize
from convnet_benchmarks.options import study, types
from convnet_benchmarks.points.cluster import open_cluster
from convnet_benchmarks.points.file import PointFile, latest
from convnet_benchmarks.points.point import FAILED, MODES, Point
from convnet_benchmarks.points.process import describe_device
from convnet_benchmarks.points.scenario import Scenario
from convnet_benchmarks.workload import backends
from convnet_benchmarks.workload import nets as named_nets
from convnet_benchmarks.workload.devices import DTYPES
from convnet_benchmarks.workload.runtimes import missing_package

if TYPE_CHECKING:
    from convnet_benchmarks.commands.sweep.run import Task
    from convnet_benchmarks.points.cluster import Cluster

_PLANES = 3  # of an image
SUMMARY = "throughput, latency, memory over nets, batch sizes, devices; the largest batch"
EXAMPLES = (
    "--nets alexnet_owt,googlenet --batch-sizes 1,2,4,8,16",
    "--nets vgg_a --backends stock,no-onednn,auto --modes inference,training --threads 2",
    "--nets all --devices cpu,cuda --dtypes float32,bfloat16 --points zoo.jsonl --csv zoo.csv",
    "--nets googlenet --batch-sizes none --largest-batch --memory-budget 4GiB",
    "--nets mobilenet1.0,resnet50_v1 --per-net --batch-sizes 256",
    "--nets resnet50_v1 --input-sizes 128,160,224 --batch-sizes 16",
    "--nets my_nets.py:bert --input-size ids:1x128 mask:1x128 --batch-sizes 1,8",
    "--nets mobilenet1.0 --scenario server --latency-target 100 --batch-sizes 1,4",
)


def parser(program: str) -> argparse.ArgumentParser:
    found = study.study_parser(
        program,
        "Measures every combination of the lists below, each in a process of its own. Every finished point\n"
        "is kept in the file of --points: after a kill or Ctrl-C the same command continues where it was.",
        EXAMPLES,
    )
    what = found.add_argument_group("what is measured (lists are separated by commas)")
    what.add_argument(
        "--nets",
        type=types.names,
        required=True,
        metavar="LIST",
        help="nets by name, module:function, file.py:function or model.t7; or all",
    )
    what.add_argument(
        "--batch-sizes",
        type=lambda text: [] if text == "none" else types.sizes(text),
        default=[1, 2, 4, 8, 16, 32, 64],
        metavar="LIST",
        help="batch sizes, or none [1,2,4,8,16,32,64]",
    )
    what.add_argument(
        "--devices", type=types.names, default=["cpu"], metavar="LIST", help="cpu, cuda, cuda:N [cpu]"
    )
    what.add_argument(
        "--dtypes",
        type=types.names,
        default=["float32"],
        metavar="LIST",
        help=f"{', '.join(DTYPES)} [float32]",
    )
    what.add_argument(
        "--backends",
        type=types.names,
        default=["stock"],
        metavar="LIST",
        help=f"{', '.join(backends.BACKENDS)} [stock]",
    )
    what.add_argument(
        "--modes",
        type=types.names,
        metavar="LIST",
        help=f"{', '.join(MODES)} [inference; with --per-net both]",
    )
    what.add_argument(
        "--per-net",
        action="store_true",
        help="a row for each net: parameters, multiply-adds, activations, throughput; at the largest of "
        "--batch-sizes, halved while it is out of memory",
    )
    what.add_argument(
        "--largest-batch",
        action="store_true",
        help="also search for the largest batch: until a GPU is out of memory, or a CPU's process takes more "
        "than --memory-budget",
    )
    what.add_argument(
        "--scenario",
        type=types.names,
        default=[],
        metavar="LIST",
        help="instead of passes, the loads of MLPerf: single-stream (one query at a time: 90th percentile of "
        "the latency), offline (all at once: images/s), server (random arrivals: the highest rate whose "
        "99th percentile is within --latency-target)",
    )
    what.add_argument(
        "--latency-target",
        type=types.milliseconds,
        metavar="MS",
        help="of the server and of single-stream, from a query's arrival to its answer",
    )
    study.add_input_size(what)
    what.add_argument(
        "--input-sizes",
        type=types.input_sizes,
        metavar="LIST",
        help="a point for each of several sizes: 3x128x128,3x160x96, or the sides of square images: "
        "128,160,224",
    )
    what.add_argument("--seed", type=types.seed, default=1, metavar="N", help="[1]")
    how = found.add_argument_group("how")
    how.add_argument(
        "--seconds",
        type=types.seconds,
        default=10.0,
        metavar="S",
        help="maximum for a timed loop, which ends sooner when the median is known to 1 %%; with --scenario "
        "the minimum, for a server of each rate tried [10]",
    )
    study.add_processes(how, "point")
    study.add_cold_cache(how)
    how.add_argument("--time-limit", type=types.seconds, metavar="S", help="maximum for a point")
    study.add_point_options(
        how,
        points="sweep.jsonl",
        memory_budget="memory that a point's process may take, such as 4GiB [90 %% of what is available]",
    )
    return found


def main(arguments: Sequence[str], program: str) -> int:
    """Returns 0, or 1 when a point failed; Ctrl-C shows what has been measured before it ends the command."""
    options = parser(program).parse_args(arguments)
    _check(options)

    with (
        study.open_output("sweep", options, others=["points"]) as output,
        PointFile("--points", options.points, fresh=options.fresh, label=options.label) as file,
        open_cluster(options.scheduler) as cluster,
    ):
        tasks = plan(options, cluster)
        interrupted = False
        measure = measure_backing_off if options.per_net else measure_missing
        try:
            measure(tasks, file, options, cluster)
        except KeyboardInterrupt:
            interrupted = True
        found = latest(file.records)
        kept = [task.record_in(found) for task in tasks]
        records = [record for record in kept if record is not None]
        nets = describe_nets(options.nets, options.input_size) if options.per_net else None
        content: dict[str, Any] = {"points": records, **({} if nets is None else {"nets": nets})}
        if records or not interrupted:  # else older files are kept
            output.write(sweep_tables(records, nets), content)
    if interrupted:
        counted = f"{len(records)} of {len(tasks)} points are in {options.points}"
        print(f"{counted}; run the same command to continue", file=sys.stderr)
        raise KeyboardInterrupt
    return 1 if any(record["status"] == FAILED for record in records) else 0


def _check(options: argparse.Namespace) -> None:
    """Refuses unknown names before anything is opened."""
    if options.modes is None:
        options.modes = list(MODES) if options.per_net else ["inference"]
    if options.nets == ["all"]:
        options.nets = list(registry.NETS)
    if options.input_sizes and (options.input_size or options.per_net):
        other = "--input-size" if options.input_size else "--per-net"
        raise UserError(f"option --input-sizes: {other} takes one size; use only one of the two")
    for name in options.nets:
        for size in _sizes(options, name):
            named_nets.find(name, size, "--nets")
    for option, what, given, accepted in (
        ("--dtypes", "number format", options.dtypes, DTYPES),
        ("--backends", "backend", options.backends, backends.BACKENDS),
        ("--modes", "mode", options.modes, MODES),
    ):
        for name in given:
            if name not in accepted:
                raise UserError(f"option {option}: {unknown(what, name, accepted)}")
    for name in options.backends:
        if (missing := missing_package(backends.BACKENDS[name])) and not options.scheduler:
            raise UserError(f"option --backends: {missing}")
    if options.per_net and (options.scenario or not options.batch_sizes):
        raise UserError("option --per-net: measures the throughput at one batch size; omit --scenario")
    check_scenarios(options)
    if options.cold_cache and options.scenario:
        raise UserError(
            "option --cold-cache: the queries of --scenario follow each other; use only one of the two"
        )
    if not options.batch_sizes and not options.largest_batch:
        raise UserError("option --batch-sizes: none needs --largest-batch, or there is nothing to do")


def _sizes(options: argparse.Namespace, net: str) -> list[InputSize | None]:
    """Returns the input sizes to measure ``net`` at; None stands for its own.

    A number alone is the side of a square image, of as many planes as a net of the registry takes.
    """
    if not options.input_sizes:
        return [options.input_size]
    planes = registry.NETS[net].input_size[0] if net in registry.NETS else _PLANES
    return [(planes, *size, *size) if len(size) == 1 else size for size in options.input_sizes]


def plan(options: argparse.Namespace, cluster: "Cluster | None") -> "list[Task]":
    """Returns everything asked for; a combination's batch sizes from small to large, then its search."""
    machines = {
        device: tuple(cluster.machines(device) if cluster else [describe_device(device, "--devices")])
        for device in options.devices
    }
    batches = sorted(options.batch_sizes)[-1 if options.per_net else 0 :]
    kinds: list[tuple[str, int, Scenario | None]] = scenario_kinds(options, batches)
    if not options.scenario:
        kinds = [(THROUGHPUT, batch, None) for batch in batches]
    if options.largest_batch:
        kinds.append((LARGEST_BATCH, 1, None))
    tasks = []
    nets = [(net, size) for net in options.nets for size in _sizes(options, net)]
    for (net, size), device, dtype, backend, mode in itertools.product(
        nets, options.devices, options.dtypes, options.backends, options.modes
    ):
        for kind, batch, scenario in kinds:
            about = (options.threads, size, options.seed, options.cold_cache)
            point = Point(net, batch, device, dtype, backend, mode, *about)
            tasks.append(Task(kind, point, machines[device], scenario))
    return tasks
