"""The answers of a net on several backends, compared example by example."""

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from convnet_benchmarks.commands.accuracy.examples import Examples, check_labels
from convnet_benchmarks.errors import UserError
from convnet_benchmarks.options.nets import one_line_errors
from convnet_benchmarks.workload.backends import UnsupportedError
from convnet_benchmarks.workload.inputs import in_format
from convnet_benchmarks.workload.kernels import open_inference
from convnet_benchmarks.workload.variants import Variant

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn

    from convnet_benchmarks.progress import Progress


@dataclass(frozen=True)
class Agreement:
    """A variant against the reference. ``differing``: the examples whose first answers differ."""

    name: str
    top1: float
    top5: float
    differing: tuple[int, ...]
    largest_difference: float
    largest_output: float


def answer(
    variant: Variant,
    module: "nn.Module",
    examples: Examples,
    batch_size: int,
    device: "torch.device",
    progress: "Progress",
    answers: "list[Tensor]",
) -> None:
    """Appends the outputs of ``module`` to ``answers``, batch by batch: (examples, classes), float32, CPU.

    Raises UserError if the variant cannot run the net.
    """
    import torch

    why = variant.backend.why_not_on(device.type)
    if why:
        raise UserError(f"option --backends: {why}")
    dtype = getattr(torch, variant.dtype)
    layout = torch.channels_last if variant.backend.channels_last else torch.contiguous_format
    shape = (batch_size, *examples.image(0).shape)
    where = f"option --backends: {variant.name} on {batch_size} images of {'x'.join(map(str, shape[1:]))}"
    try:
        with one_line_errors(where):
            own = in_format(copy.deepcopy(module), device, dtype).eval()
            # One input for all batches: a backend is opened for it. A last, smaller batch leaves old images.
            input = torch.zeros(shape, device=device, dtype=dtype).contiguous(memory_format=layout)
            with open_inference(variant.backend, own, input, device) as opened:
                for start in range(0, len(examples), batch_size):
                    progress.start(f"{variant.name}: {start} of {len(examples)} examples")
                    positions = range(start, min(start + batch_size, len(examples)))
                    images = torch.stack([examples.image(position) for position in positions])
                    input[: len(positions)].copy_(images)
                    output = opened.infer()
                    if not isinstance(output, torch.Tensor) or output.dim() != 2:
                        raise UserError(
                            "option --net: accuracy needs a net with one row of scores for each image"
                        )
                    if start == 0:
                        check_labels(examples, output.shape[1])
                    answers.append(output[: len(positions)].float().cpu().clone())
    except UnsupportedError as error:
        raise UserError(f"option --backends: {variant.name}: {error}") from None


def compare(answers: "Sequence[tuple[str, Tensor]]", labels: Sequence[int]) -> list[Agreement]:
    """Returns every variant against the first, on the examples that all have answered."""
    count = min(len(outputs) for _, outputs in answers)
    reference = answers[0][1][:count]
    return [_agreement(name, outputs[:count], reference, labels[:count]) for name, outputs in answers]


def _agreement(name: str, outputs: "Tensor", reference: "Tensor", labels: Sequence[int]) -> Agreement:
    import torch

    right = outputs.topk(min(5, outputs.shape[1])).indices == torch.tensor(labels).unsqueeze(1)
    differing = (outputs.argmax(1) != reference.argmax(1)).nonzero().flatten().tolist()
    return Agreement(
        name=name,
        top1=right[:, 0].double().mean().item(),
        top5=right.any(1).double().mean().item(),
        differing=tuple(differing),
        largest_difference=(outputs - reference).abs().max().item(),
        largest_output=reference.abs().max().item(),
    )
