"""The setup of a legacy script's run: what must be the same before two runs' times are compared."""

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from convnet_benchmarks.errors import UserError
from convnet_benchmarks.legacy import backends
from convnet_benchmarks.legacy.options import (
    BenchmarkOptions,
    CriterionOptions,
    UnknownOptionError,
    canonical,
    parse,
)
from convnet_benchmarks.nets import registry
from convnet_benchmarks.nets.net import Input
from convnet_benchmarks.workload.ran import Ran


@dataclass(frozen=True)
class Setup:
    """``device``: cpu or cuda. ``kernels``: mm, direct, cudnn, ccn2, or a backend. ``batched``: a 4-D input.

    ``input``: the size that was asked for, '' for the net's own.
    """

    kind: str
    device: str
    batch_size: int
    batched: bool
    kernels: str
    net: str
    input: str

    def __str__(self) -> str:
        samples = f"batch {self.batch_size}" if self.batched else "one sample"
        size = [f"input {self.input}"] if self.input else []
        return ", ".join([self.kind, self.net, self.device, self.kernels, samples, *size])


# Runs that differ in these did different work: their times are not compared.
_WORK = ("kind", "net", "input", "batch_size")
_SHOWN = 3  # runs of a file
_LETTERS = ("A", "B")  # of the files compared
# Runs that differ in these are compared, and the difference is told; one of the same device is preferred.
_TOLD = ("device", "batched", "kernels")


def distance(a: Setup, b: Setup) -> int | None:
    """Returns how many things differ of two runs, 0 for the same options; None if they are no pair."""
    if unlike(a, b) or a.device != b.device:
        return None
    return len(told(a, b))


def unlike(a: Setup, b: Setup) -> list[str]:
    """Returns in words why two runs did other work, with the device if that differs, too; empty for the same
    work.
    """
    found = _differences(a, b, _WORK)
    return [*found, *_differences(a, b, ("device",))] if found else []


def told(a: Setup, b: Setup, letters: Sequence[str] = _LETTERS) -> list[str]:
    """Returns in words what else differs of two runs of the same work."""
    return _differences(a, b, _TOLD, letters)


def _nearest(a: Sequence[Setup], b: Sequence[Setup]) -> list[str]:
    """Returns in words what differs of the two runs, one of ``a`` and one of ``b``, that differ least."""
    found = [_differences(one, other, (*_WORK, "device")) for one in a for other in b]
    return min(found, key=len, default=[])


def unlike_runs(path_a: str, a: Sequence[Setup], path_b: str, b: Sequence[Setup]) -> str:
    """Returns why no run of A is compared with one of B, in the words of every command."""
    has = "; ".join(f"{path} has {_listed(setups)}" for path, setups in ((path_a, a), (path_b, b)))
    return f"A and B are of unlike runs: {'; '.join(_nearest(a, b))}. {has}"


def _listed(setups: Sequence[Setup]) -> str:
    more = f" and {len(setups) - _SHOWN} more" if len(setups) > _SHOWN else ""
    return " | ".join(map(str, setups[:_SHOWN])) + more


def _differences(a: Setup, b: Setup, names: Sequence[str], letters: Sequence[str] = _LETTERS) -> list[str]:
    found = []
    for name in names:
        one, other = getattr(a, name), getattr(b, name)
        if one != other:
            shown = [str(value) if value != "" else "the net's own" for value in (one, other)]
            both = ", ".join(f"{value} in {letter}" for value, letter in zip(shown, letters, strict=True))
            found.append(f"{name.replace('_', ' ')} is {both}")
    return found


def of_options(kind: str, given: Mapping[str, str], *, of_lua: bool) -> Setup | None:
    """Returns the setup of a log's options, by name without dashes; None if a value cannot be read.

    ``of_lua``: the original script's, which took one sample unless -4d_tensor was true.
    """
    options_class = CriterionOptions if kind == "criterion" else BenchmarkOptions
    arguments = []
    for name, value in given.items():
        try:
            canonical(options_class, [f"--{name}={value}"])
        except UnknownOptionError:
            continue  # of another program, or of a fork
        except UserError:
            return None
        arguments.append(f"--{name}={value}")
    try:
        options = parse(options_class, arguments, "", "")
        kernels = backends.choose(options).name
    except (UserError, SystemExit):
        return None
    batched = options.tensor_4d
    if batched is None:
        batched = not of_lua and options.batch_size > 1
    return Setup(
        kind=kind,
        device="cuda" if options.cuda else "cpu",
        batch_size=options.batch_size if batched else 1,
        batched=batched,
        kernels=kernels,
        net=options.net,
        input=_input(options.net, options.input_size or (options.z, options.x, options.y)),
    )


def _input(net: str, sizes: Sequence[Any]) -> str:
    """Returns the input's sizes as they were asked for; '' where they are the net's own."""
    with contextlib.suppress(KeyError):
        own = registry.find(net).input_size
        if len(own) == len(sizes):
            sizes = [size or its_own for size, its_own in zip(sizes, own, strict=True)]
            if list(sizes) == list(own):
                return ""
    if not any(sizes):
        return ""
    return (", " if isinstance(sizes[0], Input) else "x").join(str(size or "-") for size in sizes)


def of_result(kind: str, document: Mapping[str, Any], ran: Ran) -> Setup:
    """Returns the setup of what benchmark.py --json wrote."""
    options = document.get("options", {})
    return Setup(
        kind=kind,
        device="cuda" if ran.device.startswith("cuda") else "cpu",
        batch_size=ran.batch_size,
        batched=len(ran.input_shape) > 3 or ran.batch_size > 1 or bool(ran.inputs),
        kernels=str(document.get("backend", {}).get("name", ran.backend)),
        net=ran.net,
        input=ran.inputs
        or _input(ran.net, options.get("input_size") or [options.get(name) for name in ("z", "x", "y")]),
    )
