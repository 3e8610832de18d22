"""The input of a net from outside: drawn in the types that the net takes, which is found out by trying."""

import re
from collections.abc import Iterator, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

from convnet_benchmarks.errors import UserError
from convnet_benchmarks.nets.net import Input, Net
from convnet_benchmarks.workload.author_errors import text_of, without_tensors
from convnet_benchmarks.workload.devices import DTYPES
from convnet_benchmarks.workload.memory import is_out_of_memory
from convnet_benchmarks.workload.nets import an
from convnet_benchmarks.workload.tensors import sizes, tensors_in

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn

_WHOLE, _FLOATS = "2", "float32"  # kinds that are tried: zeros and ones, and floating-point numbers
_MOST_TRIED = 6  # inputs of unknown kind; more are all of one kind
_ABOUT_TYPES = re.compile(r"\b(?:d?types?|int|long|half|float|double|floating|integers?)\b", re.IGNORECASE)
_FEW = 2  # samples that a net is tried on
_LONGEST = 300  # characters of an error


def own_batch(
    net: Net,
    module: "nn.Module",
    batch_size: int,
    seed: int,
    device: "torch.device",
    dtype: "torch.dtype",
    named_by: str,
) -> Any:
    """Returns a batch of inputs that ``module`` takes: a tensor, or a dict of several.

    Of one input without a kind, whole numbers are tried where the net does not take floating-point ones; of
    several, whole numbers first. Those that an embedding reads are below its number of rows. Raises
    UserError, which begins with ``named_by``, where nothing fits.
    """
    inputs = [one.of(batch_size) for one in net.inputs] or [Input("", (batch_size, *net.input_size))]
    refusals = []
    for kinds in _kinds(inputs, first=_WHOLE if net.inputs else _FLOATS):
        tried = _drawn(inputs, kinds, seed, device, dtype)
        limits, refusal = _run(module, tried)
        if refusal is None:
            whole = [one.kind or limits.get(n, kinds[n]) for n, one in enumerate(inputs)]
            return tried if whole == kinds else _drawn(inputs, whole, seed, device, dtype)
        refusals.append(refusal)
    problem = next((one for one in refusals if not _ABOUT_TYPES.search(one)), refusals[0])
    raise UserError(f"{named_by}: {net.name} {problem}")


def check_runs(net: Net, module: "nn.Module", input: Any, named_by: str) -> None:
    """Checks that a net from outside computes something from ``input``, two samples of it.

    Raises UserError that says what went wrong, after ``named_by``, where the net was named: "option --net".
    """
    _, refusal = _run(module, input)
    if refusal is not None:
        raise UserError(f"{named_by}: {net.name} {refusal}")


def runs(module: "nn.Module", input: Any) -> bool:
    """Returns whether the module gives tensors for ``input``."""
    return _run_once(module, input)[1] is None


def _kinds(inputs: Sequence[Input], first: str) -> Iterator[list[str]]:
    """Yields the kinds to try, one for each input: of those without one, most are ``first`` at first."""
    other = _FLOATS if first == _WHOLE else _WHOLE
    unknown = [one for one in inputs if not one.kind]
    choices = list(product((first, other), repeat=len(unknown)))
    if len(unknown) > _MOST_TRIED:
        choices = [choices[0], choices[-1]]
    for choice in sorted(choices, key=lambda one: one.count(other)):
        rest = iter(choice)
        yield [one.kind or next(rest) for one in inputs]


def _drawn(
    inputs: Sequence[Input], kinds: Sequence[str], seed: int, device: "torch.device", dtype: "torch.dtype"
) -> Any:
    import torch

    from convnet_benchmarks.nets.torch7.initialisation import normal_input
    from convnet_benchmarks.nets.torch7.random import Generator

    whole_numbers, numbers = torch.Generator().manual_seed(seed + 1), Generator((seed + 1) % 2**32)
    found = {}
    for one, kind in zip(inputs, kinds, strict=True):
        if device.type == "meta":
            drawn = torch.empty(one.shape, dtype=torch.int64 if kind not in DTYPES else dtype, device="meta")
        elif kind not in DTYPES:
            drawn = torch.randint(int(kind), one.shape, generator=whole_numbers)
        else:
            drawn = normal_input(one.shape, numbers).to(getattr(torch, one.kind) if one.kind else dtype)
        found[one.name] = drawn.to(device)
    return found if inputs[0].name else found[""]


def _run(module: "nn.Module", input: Any) -> tuple[dict[int, str], str | None]:
    """Runs the module on few samples, or on all where it does not take few.

    Returns for the inputs that embeddings read, by their number, how many rows those have, and why it does
    not run, None where it does.
    """
    import torch
    from torch.utils._pytree import tree_map

    from convnet_benchmarks.nets.several_inputs import ListOfSamples, SeveralInputs

    limits, refusal = _run_once(module, tree_map(lambda one: one[:_FEW], input))
    if refusal is not None and max(map(len, tensors_in(input))) > _FEW:
        limits, refusal = _run_once(module, input)  # it may take no other number of samples
    if refusal is not None:
        if isinstance(module, SeveralInputs) and module.takes_dict:
            refusal += " (it got one dict: its forward has none of these names)"
        if isinstance(input, torch.Tensor) and runs(ListOfSamples(module), input[:_FEW]):
            sample = "x".join(map(str, input.shape[1:]))
            refusal = f"takes a list of samples, not a batch; accepted: their size as '[{sample}]'"
    return limits, refusal


def _run_once(module: "nn.Module", input: Any) -> tuple[dict[int, str], str | None]:
    import torch
    from torch.utils._pytree import tree_map

    from convnet_benchmarks.nets.phases import forward_only
    from convnet_benchmarks.nets.several_inputs import net_within
    from convnet_benchmarks.nets.state.kept_state import KeptState

    input = tree_map(lambda one: one.clone(), input)  # the module may write to it
    places = {_place(one): number for number, one in enumerate(tensors_in(input))}
    limits: dict[int, str] = {}

    def read(layer: "nn.Module", inputs: "tuple[Tensor, ...]") -> None:
        number = places.get(_place(inputs[0])) if inputs else None
        if number is not None:
            rows = int(layer.num_embeddings)  # type: ignore[arg-type]
            limits[number] = str(min(rows, int(limits.get(number, rows))))

    embeddings = [layer for layer in module.modules() if isinstance(layer, torch.nn.Embedding)]
    hooks = [layer.register_forward_pre_hook(read) for layer in embeddings]
    try:
        with torch.no_grad(), forward_only(), KeptState(net_within(module), parameters=True):
            output = module(input)
    except Exception as error:  # whatever the author's code raises
        if is_out_of_memory(error):
            raise
        problem = without_tensors(" ".join(text_of(error).split()))[:_LONGEST] or type(error).__name__
        return {}, f"fails on an input of {sizes(input)}: {problem}"
    finally:
        for hook in hooks:
            hook.remove()
    if tensors_in(output):
        return limits, None
    given = "nothing" if output is None else f"{an(type(output).__name__)} without a tensor"
    return {}, f"gives {given}; accepted: a tensor, or several in a tuple, list, dict or dataclass"


def _place(tensor: "Tensor") -> Any:
    """Returns what tensors of the same numbers have in common."""
    return id(tensor) if tensor.device.type == "meta" else tensor.untyped_storage().data_ptr()
