"""backends: a net with a library on and off, timed in turns; the speed-up and the outputs' difference.

What MXNet's table "with and without MKL-DNN" showed: latency at batch 1 and throughput at a large batch.
"""

import argparse
import itertools
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from convnet_benchmarks.commands import accuracy
from convnet_benchmarks.commands.backends.published import NETS, published_table
from convnet_benchmarks.commands.backends.tables import details_table, speed_table
from convnet_benchmarks.errors import UserError
from convnet_benchmarks.nets import registry
from convnet_benchmarks.options import study, types
from convnet_benchmarks.points.between_processes import in_rounds, merged_comparison, processes
from convnet_benchmarks.points.cluster import Job, WorkersLost, open_cluster
from convnet_benchmarks.points.file import PointFile, identity, latest
from convnet_benchmarks.points.point import FAILED, Point
from convnet_benchmarks.points.process import describe_device
from convnet_benchmarks.progress import Progress
from convnet_benchmarks.timing.statistics import FEWEST_FOR_A_VERDICT
from convnet_benchmarks.workload import backends, variants
from convnet_benchmarks.workload import nets as named_nets
from convnet_benchmarks.workload.devices import DTYPES, device_type
from convnet_benchmarks.workload.runtimes import missing_package

if TYPE_CHECKING:
    from convnet_benchmarks.commands.backends.run import Comparison
    from convnet_benchmarks.points.cluster import Cluster
    from convnet_benchmarks.points.file import PointFile
    from convnet_benchmarks.tables import Table
    from convnet_benchmarks.workload.variants import Variant

SUMMARY = "a net with a library on and off (oneDNN, cuDNN, bf16, ...): speed-up and difference"
EXAMPLES = (
    "--nets mxnet --batch-size 128 --threads 18 --cores 0-17 --published",
    "--nets resnet50_v1,alexnet --without stock --with auto,channels-last,bf16,compile",
    "--nets vgg16 --device cuda --without no-cudnn --with stock,tf32,stock:float16",
    "--nets googlenet --without stock+ONEDNN_MAX_CPU_ISA=AVX2 --with stock",
    "--nets mxnet --without unfused --with auto,onnxruntime,openvino",
)
LATENCY, THROUGHPUT = "latency comparison", "throughput comparison"
About = tuple[str, str]  # kind and net
Record = dict[str, Any]


def parser(program: str) -> argparse.ArgumentParser:
    described = "\n".join(
        f"  {b.name:20}{'CPU engine: ' if b.engine else ''}{b.description}"
        for b in backends.BACKENDS.values()
    )
    found = study.study_parser(
        program,
        "Times each net under several variants in turns. Each variant keeps a process of its own.\n"
        f"A verdict (FASTER, SLOWER, SAME, UNSURE) needs at least {FEWEST_FOR_A_VERDICT} pairs. Finished\n"
        "nets are kept in the file of --points, and the same command continues.\n\n"
        f"A variant is {variants.FORM}; the backends:\n"
        f"{described}\n  {'bf16':20}short for stock:bfloat16\n\n"
        "MKL is part of PyTorch and cannot be turned off: no-onednn is what MKL alone does. Variables reach\n"
        "what a library lets them choose, such as ONEDNN_MAX_CPU_ISA=AVX2, KMP_AFFINITY=...",
        EXAMPLES,
    )
    what = found.add_argument_group("what is compared (lists are separated by commas)")
    what.add_argument(
        "--nets",
        type=types.names,
        required=True,
        metavar="LIST",
        help="nets by name, module:function, file.py:function or model.t7; mxnet: those of MXNet's table",
    )
    what.add_argument("--without", default="no-onednn", metavar="VARIANT", help="the reference [no-onednn]")
    what.add_argument(
        "--with", type=types.names, default=["stock"], dest="others", metavar="LIST", help="[stock]"
    )
    what.add_argument("--latency-batch", type=types.positive, default=1, metavar="N", help="for latency [1]")
    what.add_argument(
        "--batch-size", type=types.positive, default=32, metavar="N", help="for throughput [32]"
    )
    what.add_argument("--device", default="cpu", help="cpu, cuda or cuda:N [cpu]")
    what.add_argument(
        "--dtype", choices=DTYPES, default="float32", help="number format of variants that name none"
    )
    study.add_input_size(what)
    what.add_argument("--seed", type=types.seed, default=1, metavar="N", help="[1]")
    what.add_argument(
        "--published", action="store_true", help="also show MXNet's published numbers for these nets"
    )
    what.add_argument(
        "--accuracy",
        action="store_true",
        help="then run the command accuracy with the same variants, on the digits",
    )
    how = found.add_argument_group("how")
    how.add_argument("--pairs", type=types.positive, default=15, metavar="N", help="rounds of samples [15]")
    how.add_argument(
        "--seconds",
        type=types.seconds,
        default=120.0,
        metavar="S",
        help="at most, for a net at one batch size [120]",
    )
    study.add_processes(how, "net's variants")
    study.add_cold_cache(how)
    study.add_point_options(
        how,
        points="backends.jsonl",
        memory_budget="main memory that each variant's process may take, such as 4GiB [an equal share of "
        "90 %% of what is available]",
    )
    return found


def main(arguments: Sequence[str], program: str) -> int:
    """Returns 0, or 1 when a variant failed; Ctrl-C shows what was measured before it ends the command."""
    options = parser(program).parse_args(arguments)
    without = variants.find(options.without, options.dtype, "--without")
    others = [variants.find(name, options.dtype, "--with") for name in options.others]
    if without.name in options.others:
        raise UserError(f"option --with: '{without.name}' is the reference (--without) already")
    try:
        device = device_type(options.device)
    except UserError as error:
        raise UserError(f"option --device: {error}") from None
    for variant in (without, *others):
        why = variant.backend.why_not_on(device)
        if why:
            raise UserError(f"option --{'without' if variant is without else 'with'}: {why} (--device)")
        missing = missing_package(variant.backend)
        if missing and not options.scheduler:
            raise UserError(f"option --{'without' if variant is without else 'with'}: {missing}")
    if options.accuracy and (changed := [v.name for v in (without, *others) if v.variables]):
        raise UserError(f"option --accuracy: does not take variants with variables ({', '.join(changed)})")
    options.nets = _nets(options)

    with (
        study.open_output("backends", options, others=["points"]) as output,
        PointFile("--points", options.points, fresh=options.fresh, label=options.label) as file,
        open_cluster(options.scheduler) as cluster,
    ):
        known: dict[About, Record | None] = {}
        interrupted = False
        try:
            _measure_missing(options, without, others, file, cluster, known)
        except KeyboardInterrupt:
            interrupted = True
        records = [record for record in known.values() if record is not None]
        if records or not interrupted:  # else older files are kept
            output.write([*_tables(records, others), *_published(options)], {"comparisons": records})
    if interrupted:
        print(
            f"finished comparisons are in {options.points}; run the same command to continue", file=sys.stderr
        )
        raise KeyboardInterrupt
    if options.accuracy:
        print()
        compared = ",".join(f"{v.backend.name}:{v.dtype}" for v in (without, *others))
        accuracy.main(["--backends", compared, "--device", options.device], program)
    return 1 if any(record["status"] == FAILED for record in records) else 0


def _nets(options: argparse.Namespace) -> list[str]:
    if options.nets == ["mxnet"]:
        return [name for name in NETS.values() if name in registry.NETS]
    for name in options.nets:
        named_nets.find(name, options.input_size, "--nets")
    return list(options.nets)


def _measure_missing(
    options: argparse.Namespace,
    without: "Variant",
    others: "Sequence[Variant]",
    file: "PointFile",
    cluster: "Cluster | None",
    known: dict[About, Record | None],
) -> None:
    """Fills ``known`` with the record of every net at both batch sizes, from ``file`` or measured now and
    appended to it.
    """
    comparisons = _comparisons(options, without, others, cluster)
    there = {key: record for key, record in latest(file.records).items() if record["status"] != FAILED}
    for about, (comparison, machines) in comparisons.items():
        heads = [{**comparison.head, "machine": machine} for machine in machines]
        found = [there[identity(head)] for head in heads if identity(head) in there]
        known[about] = found[-1] if found else None
    lacking = {
        about: max(0, options.processes - (processes(record) if record else 0))
        for about, record in known.items()
    }
    progress = Progress(sum(lacking.values()))

    def measure(missing: list[About]) -> Iterator[tuple[About, Record]]:
        asked = [comparisons[about][0] for about in missing]
        measured = _spread(cluster, asked, progress) if cluster else _in_turn(asked, progress)
        return ((missing[index], record) for index, record in measured)

    try:
        for _, record in in_rounds(lacking, known, measure, merged_comparison):
            file.append(record)
    finally:
        progress.clear()


def _comparisons(
    options: argparse.Namespace,
    without: "Variant",
    others: "Sequence[Variant]",
    cluster: "Cluster | None",
) -> "dict[About, tuple[Comparison, list[dict[str, str]]]]":
    """Returns what is to be compared, each with the machines that may have done it."""
    from convnet_benchmarks.commands.backends.run import Comparison, Sitting, variant_point

    device = options.device
    machines = cluster.machines(device) if cluster else [describe_device(device, "--device")]
    names = [without.name, *(other.name for other in others)]
    batches = {LATENCY: options.latency_batch, THROUGHPUT: options.batch_size}
    limits = {"memory_budget": options.memory_budget, "cores": options.cores}
    found = {}
    for net, (kind, batch) in itertools.product(options.nets, batches.items()):
        point = Point(
            net,
            batch,
            device,
            threads=options.threads,
            input_size=options.input_size,
            seed=options.seed,
            cold_cache=options.cold_cache,
        )
        asked = variant_point(point, without).as_dict()
        head = {"kind": kind, "point": asked, "machine": machines[0], "variants": names}
        sitting = Sitting(options.pairs, options.seconds, kind == LATENCY, limits)
        found[kind, net] = Comparison(head, point, without, tuple(others), sitting), machines
    return found


def _in_turn(asked: "Sequence[Comparison]", progress: Progress) -> Iterator[tuple[int, Record]]:
    """Yields the records as they are measured on this machine, with their places in ``asked``."""
    for index, comparison in enumerate(asked):
        progress.start(str(comparison))
        yield index, comparison.measured()


def _spread(
    cluster: "Cluster", asked: "Sequence[Comparison]", progress: Progress
) -> Iterator[tuple[int, Record]]:
    """Yields the same as the workers of ``cluster`` measured them; a net stays on one kind of machine."""
    from convnet_benchmarks.commands.backends.run import measure_on_worker

    jobs = [Job((comparison,), comparison.point.device, comparison.point.net) for comparison in asked]
    for index, record in cluster.run(measure_on_worker, jobs):
        progress.start(str(asked[index]))
        lost = isinstance(record, WorkersLost)
        yield index, asked[index].failed(record.reason) if lost else record


def _published(options: argparse.Namespace) -> "list[Table]":

    return [published_table(options.nets)] if options.published else []


def _tables(records: list[dict[str, Any]], others: "Sequence[Variant]") -> "list[Table]":

    if not records:
        return []
    latencies, throughputs = ([r for r in records if r["kind"] == kind] for kind in (LATENCY, THROUGHPUT))
    return [*(speed_table(other.name, latencies, throughputs) for other in others), details_table(records)]
