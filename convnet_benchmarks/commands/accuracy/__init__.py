"""``convnet-benchmarks accuracy``: how accurate a net is, and whether backends agree."""

import argparse
from collections.abc import Sequence

from convnet_benchmarks.options.nets import add_net_options
from convnet_benchmarks.options.study import open_output, study_parser
from convnet_benchmarks.options.types import names, positive

SUMMARY = "top-1 and top-5 on images, or on digits it trains for; backends compared example by example"
_EXAMPLES = (
    "                                  recognize_digits, trained on the spot, with oneDNN off and on",
    "--save digits.safetensors --backends stock,mm,winograd,fft,auto,stock:bfloat16",
    "--net resnet50_v1 --weights resnet50.pt --images val --labels val.txt",
    "--net alexnet_owt --weights alexnet.t7 --images photos --resize 256 --crop 224",
)


def main(arguments: Sequence[str], program: str) -> int:
    """Runs the command. Returns 0; raises UserError for bad options, files and examples."""
    options = _parser(program).parse_args(arguments)
    files = ("weights", "labels", "classes")
    with open_output("accuracy", options, others=["save"], reads=files) as output:
        from convnet_benchmarks.commands.accuracy.study import run

        run(options, output)
    return 0


def _parser(program: str) -> argparse.ArgumentParser:
    parser = study_parser(
        program,
        "Without --images the net is trained on the digits that come with scikit-learn, or read from\n"
        "--weights, and tested on the fifth of the digits that is held out.",
        _EXAMPLES,
    )
    add_net_options(parser, default="recognize_digits")
    parser.add_argument(
        "--weights", metavar="FILE", help="a state_dict (.pt, .safetensors) or a Torch7 model (.t7)"
    )
    parser.add_argument("--get", metavar="PATH", help="where in a .t7 file the model is: net, models.2")
    parser.add_argument(
        "--save", metavar="FILE", help="where to write the trained net: .pt, .safetensors or .t7"
    )
    parser.add_argument(
        "--backends",
        type=names,
        default=["no-onednn", "stock"],
        metavar="NAMES",
        help="the first is the reference; BACKEND:DTYPE is another number format [no-onednn,stock]",
    )
    parser.add_argument("--device", default="cpu", help="cpu, cuda, cuda:N [cpu]")
    parser.add_argument("--batch-size", type=positive, default=32, help="images at a time [32]")
    parser.add_argument("--limit", type=positive, metavar="N", help="use only the first N examples")
    parser.add_argument("--epochs", type=positive, default=12, help="epochs of training on the digits [12]")
    images = parser.add_argument_group("images")
    images.add_argument("--images", metavar="FOLDER", help="a folder for each class, or with --labels")
    images.add_argument("--labels", metavar="FILE", help="lines 'image label': a number from 0, or a class")
    images.add_argument(
        "--classes", metavar="FILE", help="the classes in the order of the outputs, one a line (synsets)"
    )
    images.add_argument(
        "--resize", type=positive, metavar="N", help="length of the shorter side [crop / 0.875]"
    )
    images.add_argument(
        "--crop", type=positive, metavar="N", help="size of the centre crop [the net's input]"
    )
    images.add_argument(
        "--mean", type=_numbers, metavar="R,G,B", help="mean of values in [0, 1] [ImageNet's]"
    )
    images.add_argument("--std", type=_numbers, metavar="R,G,B", help="standard deviation [ImageNet's]")
    images.add_argument("--interpolation", choices=("nearest", "bilinear", "bicubic"), default="bilinear")
    return parser


def _numbers(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"'{text}' is not a list of numbers such as 0.485,0.456,0.406"
        ) from None
