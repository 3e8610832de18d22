"""``convnet-benchmarks ops``: where a net's time goes, by layer and by operator."""

import argparse
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from convnet_benchmarks import environment
from convnet_benchmarks.child_process import call
from convnet_benchmarks.commands.ops.show import mean_of_runs, tables
from convnet_benchmarks.errors import OutOfDeviceMemoryError, UserError, unknown
from convnet_benchmarks.options.nets import add_net_options, find_devices, find_net
from convnet_benchmarks.options.study import (
    add_cold_cache,
    add_scheduler,
    open_output,
    study_parser,
    without_files,
)
from convnet_benchmarks.options.types import names, positive, sizes
from convnet_benchmarks.points.cluster import Job, WorkersLost, open_cluster
from convnet_benchmarks.progress import Progress
from convnet_benchmarks.workload.backends import BACKENDS, Backend
from convnet_benchmarks.workload.devices import DTYPES, device_type

if TYPE_CHECKING:
    from convnet_benchmarks.options.study import StudyOutput
    from convnet_benchmarks.points.cluster import Cluster

SUMMARY = "times by layer and by operator, for a list of batch sizes, on CPU and GPU"
_BATCHES = [1, 2, 8, 32, 64, 128, 256]
_TABLES = ("total", "layers", "operators")
_TABLES_OF_A_GRAPH = ("total", "layers")
# The engine, torch.compile and other libraries join layers.
_BACKENDS = tuple(
    name for name, backend in BACKENDS.items() if not (backend.engine or backend.compiled or backend.runtime)
)
_EXAMPLES = (
    "                               the recognize_digits tables of PaddlePaddle",
    "--net resnet50_v1 --batch-sizes 1,32 --runs 3 --csv ops.csv",
    "--net alexnet --batch-sizes 16 --mode training --tables total,layers",
    "--devices cpu --threads 1 --json ops.json",
    "--devices cuda --backend cuda-graph",
)


def main(arguments: Sequence[str], program: str) -> int:
    """Runs the command. Returns 0; raises UserError for bad options."""
    options = _parser(program).parse_args(arguments)
    wrong = [name for name in options.tables if name not in _TABLES]
    if wrong:
        raise UserError(f"option --tables: {unknown('table', wrong[0], _TABLES)}")

    find_net(vars(options))
    backend = _backend(options)
    with open_output("ops", options) as output:
        if options.scheduler is None or options.devices is None:
            options.devices = _devices(backend, options.devices)
        _study(options, output)
    return 0


def _backend(options: argparse.Namespace) -> Backend:
    """Returns the backend that --backend names; raises UserError where its layers cannot be timed."""
    if options.backend not in _BACKENDS:
        problem = unknown("backend", options.backend, _BACKENDS)
        if options.backend in BACKENDS:
            accepted = ", ".join(_BACKENDS)
            joins = "joins layers" if BACKENDS[options.backend].fuses else "has its own layers"
            problem = f"{options.backend} {joins}, so that none can be timed; accepted: {accepted}"
        raise UserError(f"option --backend: {problem}")
    backend = BACKENDS[options.backend]
    if backend.graph and options.mode == "training":
        raise UserError("option --backend: a CUDA graph joins the phases of training; use --mode inference")
    if backend.graph and options.tables is _TABLES:
        options.tables = _TABLES_OF_A_GRAPH
    if backend.graph and "operators" in options.tables:
        accepted = ", ".join(_TABLES_OF_A_GRAPH)
        raise UserError(f"option --tables: a CUDA graph has no operators; accepted with it: {accepted}")
    return backend


def _devices(backend: Backend, asked: Sequence[str] | None) -> list[str]:
    """Returns the devices asked for, by default those here that the backend is for. Raises UserError."""
    found = [str(device) for device in find_devices(asked)]
    reasons = {device: backend.why_not_on(device_type(device)) for device in found}
    able = [device for device, why in reasons.items() if not why]
    if not able or (asked is not None and len(able) < len(found)):
        raise UserError(f"option --backend: {next(filter(None, reasons.values()))} (--devices)")
    return able


def _parser(program: str) -> argparse.ArgumentParser:
    parser = study_parser(
        program,
        "Times a net by layer (inside whole passes of the net) and by PyTorch operator. Each of --runs runs\n"
        "is a process of its own; a run's figure is the median of its passes, the tables show the mean of\n"
        "the runs. Setting up the input has its own table.",
        _EXAMPLES,
    )
    add_net_options(parser, default="recognize_digits")
    parser.add_argument(
        "--batch-sizes", type=sizes, default=_BATCHES, metavar="N,N", help="[1,2,8,32,64,128,256]"
    )
    parser.add_argument("--devices", type=names, metavar="NAMES", help="cpu, cuda, cuda:N [those available]")
    parser.add_argument(
        "--backend",
        default="stock",
        metavar="NAME",
        help=f"PyTorch's kernels: {', '.join(_BACKENDS)} [stock]; cuda-graph times the net as one graph, and "
        "each layer alone as another",
    )
    parser.add_argument("--dtype", choices=DTYPES, default="float32")
    parser.add_argument("--mode", choices=("inference", "training"), default="inference")
    parser.add_argument(
        "--runs",
        "--processes",
        type=positive,
        default=10,
        metavar="N",
        help="independent runs, each of everything in a process of its own [10]",
    )
    parser.add_argument("--passes", type=positive, default=10, help="passes per run and batch [10]")
    parser.add_argument(
        "--tables", type=names, default=_TABLES, metavar="NAMES", help=f"[{','.join(_TABLES)}]"
    )
    add_cold_cache(parser)
    add_scheduler(parser)
    parser.add_argument(
        "--layout",
        choices=("auto", "columns", "rows"),
        default="auto",
        help="a column for each layer, or a row [columns for nets of few layers]",
    )
    return parser


def _study(options: argparse.Namespace, output: "StudyOutput") -> None:

    request = without_files(options)
    runs: list[list[dict[str, Any]]] = []
    progress = Progress(options.runs)
    status = "interrupted"
    lost = ""
    with open_cluster(options.scheduler) as cluster:
        machine = _environment(cluster, options.devices[-1])
        measured = _spread(cluster, request, progress) if cluster else _in_turn(request, progress)
        try:
            for run in measured:
                runs.append(run["measured"])
                if run["problem"]:
                    lost = run["problem"]
                    smaller = [batch for batch in request["batch_sizes"] if batch < run["too_large"]]
                    request["batch_sizes"] = smaller  # of the runs to come
                    runs = [[entry for entry in one if entry["batch"] in smaller] for one in runs]
                    if not smaller:
                        raise OutOfDeviceMemoryError(lost)
            status = "out of memory" if lost else "complete"
        finally:
            progress.clear()
            if any(runs):
                _report(options, output, runs, {"status": status, "environment": machine})
    if lost:
        raise OutOfDeviceMemoryError(f"{lost}; the tables have the smaller batches")


def _environment(cluster: "Cluster | None", device: str) -> dict[str, Any]:
    """Returns the machine that measures: one of the workers, which are all of one kind."""
    if cluster is None:
        return environment_of(device)
    if len(kinds := cluster.machines(device)) > 1:
        names = " and ".join(", torch ".join(kind.values()) for kind in kinds)
        raise UserError(f"option --scheduler: ops takes the mean of runs, and its workers differ: {names}")
    ((_, found),) = cluster.run(environment_of, [Job((device,), device, None)])
    return dict(found)


def _in_turn(request: dict[str, Any], progress: Progress) -> Iterator[dict[str, Any]]:
    """Yields the runs as they are made on this machine."""
    for number in range(1, request["runs"] + 1):
        progress.start(f"run {number}")
        yield measure_apart(request)


def _spread(cluster: "Cluster", request: dict[str, Any], progress: Progress) -> Iterator[dict[str, Any]]:
    """Yields the runs as the workers of ``cluster`` have made them."""
    jobs = [Job((request,), request["devices"][-1], None)] * request["runs"]
    for number, (_, run) in enumerate(cluster.run(measure_apart, jobs), 1):
        progress.start(f"run {number}")
        if isinstance(run, WorkersLost):
            raise UserError(f"option --scheduler: {run.reason}")
        yield run


def environment_of(device: str) -> dict[str, Any]:
    """Returns ``environment.collect`` of a device of this machine."""
    import torch

    return environment.collect(torch.device(device))


def measure_apart(request: dict[str, Any]) -> dict[str, Any]:
    """Makes one run in a process of its own."""
    found: dict[str, Any] = call("convnet_benchmarks.commands.ops.measure:run", request)
    return found


def _report(
    options: argparse.Namespace,
    output: "StudyOutput",
    runs: list[list[dict[str, Any]]],
    about: dict[str, Any],
) -> None:
    mean = mean_of_runs(runs)
    content = {"net": options.net, "options": without_files(options), "mean": mean, "runs": runs, **about}
    output.write(tables(mean, runs, options), content)
