"""``convnet-benchmarks flops``: how much arithmetic a net does, and how fast the machine is at it."""

import argparse
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from convnet_benchmarks.errors import UserError, unknown
from convnet_benchmarks.options.nets import add_net_options, find_net
from convnet_benchmarks.options.study import open_output, study_parser
from convnet_benchmarks.options.types import names, positive, seconds, sizes
from convnet_benchmarks.workload.devices import DTYPES

if TYPE_CHECKING:
    from convnet_benchmarks.tables import Table

SUMMARY = "operations by layer, the slope test, throughput against batch, roofline"
PARTS = ("counts", "slope", "throughput", "roofline", "counters")
_BATCHES = [1, 2, 4, 8, 16, 32, 64, 128, 256]
_EXAMPLES = (
    "                                     operations of AlexNet's layers",
    "--mode training --batch-size 512 --parts slope --slope-layer 1.3   the table of Levinthal's analysis",
    "--net resnet50_v1 --parts roofline --batch-size 8 --json roofline.json",
    "--net mobilenet1.0 --parts throughput --batch-sizes 1,2,4,8,16,32,64 --csv images_per_second.csv",
)


def main(arguments: Sequence[str], program: str) -> int:
    """Runs the command. Returns 0; raises UserError for bad options and for missing counters."""
    options = _parser(program).parse_args(arguments)
    wrong = [name for name in options.parts if name not in PARTS]
    if wrong:
        raise UserError(f"option --parts: {unknown('part', wrong[0], PARTS)}")
    if options.slope_layer is not None and not {"slope", "counters"} & set(options.parts):
        raise UserError("option --slope-layer: needs --parts slope or counters")
    find_net(vars(options))
    with open_output("flops", options) as output:
        from convnet_benchmarks.commands.flops.parts import Study

        study = Study(options)
        makers: dict[str, Callable[[], list[Table]]] = {name: getattr(study, name) for name in PARTS}
        tables: list[Table] = []
        status = "interrupted"
        try:
            for name in options.parts:
                tables += makers[name]()
            status = "complete"
        finally:
            tables += study.unfinished
            if tables:
                output.write(tables, study.content(status))
    return 0


def _parser(program: str) -> argparse.ArgumentParser:
    parser = study_parser(
        program,
        "counts      operations of each layer by torch.utils.flop_counter and by formula, side by side\n"
        "slope       the same net with 1, 2 and 4 of a layer: the counted growth over the expected one\n"
        "throughput  images/s (sequences/s) against the batch size, and the knee of the curve\n"
        "roofline    each layer under the measured peak and bandwidth of this machine\n"
        "counters    operations counted by the processor (perf stat), and what counting costs",
        _EXAMPLES,
    )
    add_net_options(parser, default="alexnet_owt")
    parser.add_argument(
        "--parts",
        type=names,
        default=["counts"],
        metavar="NAMES",
        help=f"what to measure: {', '.join(PARTS)} [counts]",
    )
    parser.add_argument(
        "--batch-size", type=positive, default=1, help="batch size of all parts but throughput [1]"
    )
    parser.add_argument(
        "--batch-sizes",
        type=sizes,
        default=_BATCHES,
        metavar="N,N",
        help="of throughput [1,2,...,256]",
    )
    parser.add_argument(
        "--mode",
        choices=("inference", "training"),
        default="inference",
        help="what counts, slope and throughput do [inference]",
    )
    parser.add_argument("--slope-layer", metavar="PATH", help="the layer to repeat [the largest]")
    parser.add_argument(
        "--device", default="cpu", help="device of throughput and roofline: cpu, cuda, cuda:N"
    )
    parser.add_argument("--dtype", choices=DTYPES, default="float32")
    parser.add_argument(
        "--passes", type=positive, default=10, help="passes that roofline and counters time [10]"
    )
    parser.add_argument(
        "--seconds", type=seconds, default=5.0, help="at most, for each batch size of throughput [5]"
    )
    return parser
