"""The setup of a legacy script's run: what must be the same before two runs' times are compared."""

from collections.abc import Mapping
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


# What must agree for two runs to be a pair; of what may differ, the kernels matter least.
_DECISIVE = ("kind", "device", "batch_size")
_TOLD = ("net", "input", "batched", "kernels")


def distance(a: Setup, b: Setup) -> int | None:
    """Returns how many things differ of two runs, 0 for the same options; None where they are no pair."""
    if differences(a, b, _DECISIVE):
        return None
    return len(differences(a, b, _TOLD))


def differences(a: Setup, b: Setup, names: tuple[str, ...] = (*_DECISIVE, *_TOLD)) -> dict[str, str]:
    """Returns in words what differs, by the field's name."""
    found = {}
    for name in names:
        one, other = getattr(a, name), getattr(b, name)
        if one != other:
            shown = [str(value) if value != "" else "the net's own" for value in (one, other)]
            found[name] = f"{name.replace('_', ' ')} is {shown[0]} in A, {shown[1]} in B"
    return found


def of_options(kind: str, given: Mapping[str, str], *, of_lua: bool) -> Setup | None:
    """Returns the setup of a log's options, by name without dashes; None where a value cannot be read.

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
        input=_input(options.z, options.x, options.y),
    )


def _input(*sizes: Any) -> str:
    """Returns the input's sizes as they were asked for; '' where none was."""
    return "x".join(str(size or "-") for size in sizes) if any(sizes) else ""


def of_result(kind: str, document: Mapping[str, Any], ran: Ran) -> Setup:
    """Returns the setup of what benchmark.py --json wrote."""
    options = document.get("options", {})
    return Setup(
        kind=kind,
        device="cuda" if ran.device.startswith("cuda") else "cpu",
        batch_size=ran.batch_size,
        batched=len(ran.input_shape) > 3,
        kernels=str(document.get("backend", {}).get("name", ran.backend)),
        net=ran.net,
        input=_input(*(options.get(name) for name in ("z", "x", "y"))),
    )
