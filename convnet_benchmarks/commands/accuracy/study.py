"""One run of ``accuracy``: the examples, the net with its parameters, its answers on every backend."""

import argparse
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import torch

from convnet_benchmarks import environment
from convnet_benchmarks.commands.accuracy import digits, image_folder, show
from convnet_benchmarks.commands.accuracy.agreement import answer, compare
from convnet_benchmarks.commands.accuracy.examples import Examples
from convnet_benchmarks.errors import UserError
from convnet_benchmarks.nets import registry
from convnet_benchmarks.options.nets import find_devices, find_net
from convnet_benchmarks.options.study import without_files
from convnet_benchmarks.progress import Progress
from convnet_benchmarks.workload import model_files, variants
from convnet_benchmarks.workload.ran import Ran, ran_on
from convnet_benchmarks.workload.torch7_models import is_t7_file, load_module, without_lua_files

if TYPE_CHECKING:
    from torch import nn

    from convnet_benchmarks.nets.registry import Net
    from convnet_benchmarks.options.study import StudyOutput


def run(options: argparse.Namespace, output: "StudyOutput") -> None:
    """Measures what the options ask for and writes it. An interrupted run writes what it has."""
    net = find_net(vars(options))
    compared = [_variant(name) for name in options.backends]
    (device,) = find_devices([options.device], "--device")
    _check_together(options, net)
    if options.threads is not None:
        torch.set_num_threads(options.threads)
    examples, module = _examples_and_net(options, net)
    if options.save is not None:
        model_files.write_model(module, options.save, "option --save")
    batches = -(-len(examples) // options.batch_size)
    progress = Progress(batches * len(compared))
    answers: list[tuple[str, list[torch.Tensor]]] = []
    status = "interrupted"
    try:
        for variant in compared:
            answers.append((variant.name, []))
            answer(variant, module, examples, options.batch_size, device, progress, answers[-1][1])
        status = "complete"
    finally:
        progress.clear()
        answered = [(name, torch.cat(parts)) for name, parts in answers if parts]
        if answered:
            ran = {
                variant.name: _ran(variant, net, examples, options.batch_size, device) for variant in compared
            }
            _report(options, output, net, module, examples, answered, status, ran)


def _variant(name: str) -> variants.Variant:
    found = variants.find(name, "float32", "--backends")
    if found.variables:  # all variants answer in this process
        raise UserError(f"option --backends: '{name}': variables are for the command backends")
    return found


def _ran(
    variant: variants.Variant,
    net: "Net",
    examples: Examples,
    batch_size: int,
    device: torch.device,
) -> Ran:
    images = torch.empty(batch_size, *examples.image(0).shape, device="meta")
    return ran_on(net, images, variant.backend.name, variant.dtype, device)


def _check_together(options: argparse.Namespace, net: "Net") -> None:
    if options.images is None:
        for name in ("labels", "classes", "resize", "crop", "mean", "std"):
            if getattr(options, name) is not None:
                raise UserError(f"option --{name}: needs --images")
        if len(net.input_size) != 3 or net.input_size[0] != 1:
            raise UserError(
                f"option --net: {net.name} does not take grey digits; give it --images and --weights"
            )
    elif options.weights is None and not net.own_parameters:
        raise UserError(
            "option --images: needs --weights; a net with random parameters is right by chance only"
        )
    if options.get is not None and options.weights is None:
        raise UserError("option --get: needs --weights with a Torch7 model")
    if options.save is not None:
        model_files.check_target(options.save, "option --save")


def _examples_and_net(options: argparse.Namespace, net: "Net") -> "tuple[Examples, nn.Module]":
    if options.images is not None:
        preprocessing = image_folder.preprocessing_of(options, net.input_size)
        examples = image_folder.load(options.images, options.labels, options.classes, preprocessing)
        return _limited(examples, options.limit), _read(net, options)
    training, held_out = digits.load(net.input_size, options.seed)
    if options.weights is not None:
        return _limited(held_out, options.limit), _read(net, options)
    module = registry.build(net, options.seed)
    progress = Progress(options.epochs)
    digits.train(module, training, options.epochs, options.seed, progress)
    progress.clear()
    return _limited(held_out, options.limit), module


def _limited(examples: Examples, limit: int | None) -> Examples:
    return Examples(examples.names[:limit], examples.labels[:limit], examples.image)


def _read(net: "Net", options: argparse.Namespace) -> "nn.Module":
    if options.weights is None:  # a net that brings its parameters
        return registry.build(net, options.seed)
    if is_t7_file(without_lua_files(options.weights)[0]) or options.weights.endswith(".t7"):
        return load_module(options.weights, options.get, "option --get").float().eval()
    if options.get is not None:
        raise UserError("option --get: is for a Torch7 model in --weights")
    return model_files.net_with_state(net, options.weights)


def _report(
    options: argparse.Namespace,
    output: "StudyOutput",
    net: "Net",
    module: "nn.Module",
    examples: Examples,
    answered: list[tuple[str, torch.Tensor]],
    status: str,
    ran: dict[str, Ran],
) -> None:
    found = compare(answered, examples.labels)
    count = min(len(outputs) for _, outputs in answered)
    parameters = registry.count_with_statistics(module)
    tables = [show.accuracy_table(net.name, net.source, parameters, found)]
    tables[0].notes.append(
        f"{count} examples{'' if status == 'complete' else ', interrupted'}; "
        "parameters with the statistics of batch normalisation, as MXNet counts them"
    )
    if len(found) > 1:
        tables.append(show.agreement_table(found, examples.names, count))
    content: dict[str, Any] = {
        "status": status,
        "net": net.name,
        "parameters": parameters,
        "examples": count,
        "options": without_files(options),
        "backends": [{**asdict(one), "ran": ran[one.name].as_dict()} for one in found],
        "differing": _differing(answered, examples, found),
        "environment": environment.collect(torch.device(ran[found[0].name].device)),
    }
    output.write(tables, content)


def _differing(
    answered: list[tuple[str, torch.Tensor]], examples: Examples, found: list[Any]
) -> list[dict[str, Any]]:
    """Returns every example on which some backend predicts something else than the first."""
    positions = sorted({position for agreement in found for position in agreement.differing})
    return [
        {
            "name": examples.names[position],
            "label": examples.labels[position],
            "predictions": {name: int(outputs[position].argmax()) for name, outputs in answered},
        }
        for position in positions
    ]
