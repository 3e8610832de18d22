"""Measures any module: the function ``benchmark``."""

import copy
import os
import runpy
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from convnet_benchmarks import environment
from convnet_benchmarks.api.results import Results
from convnet_benchmarks.child_process import call
from convnet_benchmarks.errors import UserError, unknown
from convnet_benchmarks.nets.net import Input, Net
from convnet_benchmarks.points.between_processes import merged
from convnet_benchmarks.points.fields import is_finite, is_whole
from convnet_benchmarks.points.measure import Outcome, figures, record_of
from convnet_benchmarks.points.point import MODES, OK, Point
from convnet_benchmarks.points.workload import PointWorkload
from convnet_benchmarks.timing.loops import Settling, device_clock
from convnet_benchmarks.workload.author_errors import described, raised_by_author, without_tensors
from convnet_benchmarks.workload.backends import BACKENDS, UnsupportedError
from convnet_benchmarks.workload.devices import DTYPES, open_device
from convnet_benchmarks.workload.inputs import in_format
from convnet_benchmarks.workload.kernels import open_inference, open_training, phase_steps
from convnet_benchmarks.workload.memory import is_out_of_memory
from convnet_benchmarks.workload.nets import an
from convnet_benchmarks.workload.own_inputs import check_runs, own_batch, runs
from convnet_benchmarks.workload.ran import ran_on
from convnet_benchmarks.workload.tensors import sizes, tensors_in

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn

    OneInput = Sequence[int] | Tensor
    Given = OneInput | Sequence[Tensor] | Mapping[str, OneInput]

_SEED = 1
_LONGEST = 300  # characters of an error
_running_again = False  # the script of the process that asked for new ones
_ACCEPTED = (
    "accepted: a tensor, or sizes such as (64, 3, 224, 224); of several inputs a tuple of tensors, "
    "or a dict of tensors or sizes"
)


@dataclass(frozen=True)
class _How:
    """The way to measure, as ``benchmark`` was asked. ``device``: a name, or '' for the module's."""

    mode: str
    backend: str
    seconds: float
    cold_cache: bool
    name: str
    threads: int | None


def benchmark(
    module: "nn.Module",
    input: "Given",
    *,
    mode: str = "inference",
    backend: str = "stock",
    dtype: "str | torch.dtype | None" = None,
    device: "str | torch.device | None" = None,
    threads: int | None = None,
    processes: int = 1,
    batch_sizes: Sequence[int] | None = None,
    seconds: float = 10.0,
    cold_cache: bool = False,
    name: str = "",
    label: str = "",
) -> Results:
    """Measures ``module`` on ``input``: a batch, or the shape of one, first the number of samples.

    Several inputs are a tuple of tensors, passed in order, or a dict of tensors or sizes, passed by name; a
    list of tensors of one size goes as it is to a module that takes one.
    ``mode``: "inference", or "training", which also measures updateOutput, updateGradInput and
    accGradParameters. ``backend``: a name that ``convnet-benchmarks backends --help`` lists, such as "auto".
    ``dtype``, ``device``, ``threads``: what it runs in, on and with; by default the module's own, and
    PyTorch's. ``processes``: how many new processes measure, one after the other; figures are then medians of
    theirs. ``batch_sizes``: each is measured, in place of the input's number of samples.
    ``seconds``: how long each figure is sampled at most; less where its median is known to 1 % before.
    ``cold_cache``: the last-level cache is emptied before each timed pass.
    ``name``: what the results call the net; by default the module's class. ``label``: kept in the results.

    A copy of the module runs: parameters, gradients, running statistics and mode of the module stay as they
    are. Raises UserError for what cannot be measured.
    """
    import torch

    if _running_again:
        raise UserError(
            "benchmark: processes: each runs the script again for its classes; "
            'put what it does below if __name__ == "__main__":'
        )
    if not isinstance(module, torch.nn.Module):
        raise UserError(
            f"benchmark: the first argument is {an(type(module).__name__)}; accepted: a torch.nn.Module"
        )
    if mode not in MODES:
        raise UserError(f"benchmark: {unknown('mode', str(mode), MODES)}")
    if not isinstance(backend, str) or backend not in BACKENDS:
        raise UserError(f"benchmark: {unknown('backend', str(backend), BACKENDS)}")
    if not is_finite(seconds) or seconds <= 0:
        raise UserError(f"benchmark: seconds is {seconds!r}; accepted: a number above 0")
    for argument, text in (("name", name), ("label", label)):
        if not isinstance(text, str):
            raise UserError(f"benchmark: {argument} is {text!r}; accepted: a text")
    for argument, number in (("threads", threads), ("processes", processes)):
        if not is_whole(number) and not (argument == "threads" and number is None):
            raise UserError(f"benchmark: {argument} is {number!r}; accepted: a whole number from 1 up")
    own, like = _moved(module, dtype, device)
    if why := BACKENDS[backend].why_not_on(like.device.type):
        raise UserError(f"benchmark: {why}")
    how = _How(mode, backend, float(seconds), bool(cold_cache), name or type(module).__name__, threads)
    own.train(mode == "training")
    own, input = _as_one_input(own, input, like, cast=dtype is not None)
    records = []
    for samples in _samples(batch_sizes):
        batch = _batch(own, how.name, input, samples, like, cast=dtype is not None)
        about = {"label": label} if label else {}
        records.append(about | _measured(own, batch, how, processes))
    return Results.of_records(records)


def _as_one_input(module: "nn.Module", input: Any, like: "Tensor", *, cast: bool) -> "tuple[nn.Module, Any]":
    """Returns a module that takes one value, and that value.

    Several tensors are a tuple or a dict; for a module that takes a list of samples they become a batch.
    """
    import torch

    from convnet_benchmarks.nets.several_inputs import ListOfSamples, SeveralInputs

    if not (isinstance(input, Mapping) or _are_tensors(input)):
        return module, input
    several = SeveralInputs(module).train(module.training)
    if isinstance(input, list) and all(isinstance(one, torch.Tensor) for one in input):
        in_a_list = ListOfSamples(module).train(module.training)
        given = _of_tensors([one.unsqueeze(0) for one in input], None, like, cast)
        if len({one.shape for one in given}) == 1:
            batch = torch.cat(given)
            if runs(in_a_list, batch):
                return in_a_list, batch
        elif not runs(several, tuple(one[0] for one in given)) and runs(in_a_list, given):
            raise UserError(
                f"benchmark: input is a list of {len(input)} tensors of different sizes; accepted for a "
                "module that takes a list: tensors of one size"
            )
    return several, input


def _moved(
    module: "nn.Module", dtype: "str | torch.dtype | None", device: "str | torch.device | None"
) -> "tuple[nn.Module, Tensor]":
    """Returns a copy of the module in ``dtype`` on ``device``, and a number of the kind it computes with."""
    import torch

    from convnet_benchmarks.nets.programs import let_mode_be_set

    try:
        own = let_mode_be_set(copy.deepcopy(module))
    except Exception as error:  # whatever the author's code raises; PyTorch itself, for what a pass computed
        raise UserError(f"benchmark: the module cannot be copied: {described(error)[:_LONGEST]}") from None
    if dtype is not None:
        text = str(dtype).removeprefix("torch.")
        if text not in DTYPES:
            raise UserError(f"benchmark: {unknown('number format', text, DTYPES)}")
        own = in_format(own, None, getattr(torch, text))
    if device is not None:
        try:
            own = own.to(open_device(str(device)))
        except UserError as error:
            raise UserError(f"benchmark: {error}") from None
    found = next((one for one in own.parameters() if one.is_floating_point()), None)
    if found is not None:
        return own, torch.empty(0, dtype=found.dtype, device=found.device)
    kind = getattr(torch, str(dtype).removeprefix("torch.")) if dtype is not None else torch.float32
    return own, torch.empty(0, dtype=kind, device=str(device) if device is not None else "cpu")


def _samples(batch_sizes: Sequence[int] | None) -> list[int | None]:
    if batch_sizes is None:
        return [None]
    given = list(batch_sizes) if isinstance(batch_sizes, (list, tuple, range)) else []
    if not given or not all(is_whole(size) for size in given):
        raise UserError(f"benchmark: batch_sizes is {batch_sizes!r}; accepted: whole numbers, as [1, 8]")
    return list(given)


def _are_tensors(input: object) -> bool:
    import torch

    return isinstance(input, (list, tuple)) and any(isinstance(one, torch.Tensor) for one in input)


def _are_sizes(input: object) -> bool:
    return isinstance(input, (list, tuple)) and len(input) > 0 and all(is_whole(size) for size in input)


def _batch(
    module: "nn.Module", name: str, input: Any, samples: int | None, like: "Tensor", *, cast: bool
) -> Any:
    """Returns what the module is measured on: ``samples`` of ``input``, or as many as it has.

    ``cast``: tensors of floating-point numbers become those of ``like``.
    """
    import torch

    if isinstance(input, Mapping):
        if not input or not all(isinstance(one, torch.Tensor) or _are_sizes(one) for one in input.values()):
            raise UserError(f"benchmark: input is {_shown(input)}; {_ACCEPTED}")
        drawn = [Input(str(key), tuple(one)) for key, one in input.items() if _are_sizes(one)]
        if len(drawn) not in (0, len(input)):
            raise UserError("benchmark: input has tensors and sizes; accepted: a dict of one of the two")
        if drawn:
            return _drawn(module, name, drawn, drawn[0].shape[1:], samples or drawn[0].shape[0], like)
    elif _are_tensors(input):
        if not all(isinstance(one, torch.Tensor) for one in input):
            raise UserError(f"benchmark: input is {_shown(input)}; {_ACCEPTED}")
    elif not isinstance(input, torch.Tensor):
        if not _are_sizes(input) or len(input) < 2:
            raise UserError(f"benchmark: input is {_shown(input)}; {_ACCEPTED}")
        return _drawn(module, name, [], tuple(input[1:]), samples or input[0], like)
    return _checked(module, name, _of_tensors(input, samples, like, cast))


def _drawn(
    module: "nn.Module",
    name: str,
    inputs: Sequence[Input],
    sample: tuple[int, ...],
    samples: int,
    like: "Tensor",
) -> Any:
    net = Net(name, lambda: module, sample, "", own_parameters=True, inputs=tuple(inputs))
    return own_batch(net, module, samples, _SEED, like.device, like.dtype, "benchmark")


def _of_tensors(input: Any, samples: int | None, like: "Tensor", cast: bool) -> Any:
    """Returns the tensors of ``input`` on the module's device, repeated or cut to ``samples``."""
    import torch
    from torch.utils._pytree import tree_map

    def taken(one: "Tensor") -> "Tensor":
        if not one.numel():
            raise UserError(f"benchmark: input has a tensor of {sizes(one)}; accepted: one sample or more")
        if one.is_meta or one.layout != torch.strided:
            kind = "on PyTorch's meta device" if one.is_meta else f"of {one.layout}"
            raise UserError(f"benchmark: input has a tensor {kind}; accepted: dense tensors with memory")
        if one.dim() < (1 if one is not input else 2):
            raise UserError("benchmark: input has one dimension; accepted: a batch, samples along the first")
        one = one.detach().to(like.device)
        if cast and one.is_floating_point():
            one = one.to(like.dtype)
        # A copy in any case: the module may write to it.
        return one.clone() if samples is None else one[torch.arange(samples, device=one.device) % len(one)]

    return tree_map(taken, dict(input) if isinstance(input, Mapping) else input)


def _checked(module: "nn.Module", name: str, batch: Any) -> Any:
    check_runs(Net(name, lambda: module, (1,), "", own_parameters=True), module, batch, "benchmark")
    return batch


def _shown(input: object) -> str:
    """Returns a wrong input for a message, without the numbers of a tensor."""
    return without_tensors(" ".join(repr(input).split()))[:100]


def _measured(module: "nn.Module", batch: Any, how: _How, processes: int) -> dict[str, Any]:
    """Returns the record of the module on ``batch``, measured here or in new processes."""
    if processes == 1:
        return _record(module, batch, how)
    import torch

    record: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "module.pt")
        try:
            torch.save((module, batch), file)
        except Exception as error:  # whatever the pickling of the author's class raises
            raise UserError(f"benchmark: processes={processes}: {described(error)}") from None
        script = getattr(sys.modules["__main__"], "__file__", None)
        of_script = any(type(one).__module__ == "__main__" for one in module.modules())
        main = os.path.abspath(script) if script and of_script else ""
        request = {"file": str(file), "path": sys.path, "main": main, "how": asdict(how)}
        for _ in range(processes):
            new = call(f"{__name__}:measure_file", request)
            record = merged(record, new) if record else new
    return record


def measure_file(request: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the record of the module in the file of a ``request`` of another process."""
    import torch

    global _running_again
    sys.path[:] = [*sys.path, *(one for one in request["path"] if one not in sys.path)]
    if request["main"]:
        _running_again = True
        main = ModuleType("__main__")
        vars(main).update(runpy.run_path(request["main"], run_name="__mp_main__"))
        sys.modules["__main__"] = main
        _running_again = False
    try:
        module, batch = torch.load(request["file"], weights_only=False)
    except (AttributeError, ImportError) as error:
        accepted = "accepted: a module whose class another process can import"
        raise UserError(f"benchmark: processes: {described(error)}; {accepted}") from None
    return _record(_complete(module), batch, _How(**request["how"]))


def _complete(module: "nn.Module") -> "nn.Module":
    """Returns ``module``, from a file, with all that modules have: PyTorch's quantised convolutions come back
    without most of it."""
    import torch

    for name, value in vars(torch.nn.Module()).items():
        vars(module).setdefault(name, value)
    for child in module._modules.values():
        if child is not None and not isinstance(child, torch.jit.ScriptModule):
            _complete(child)
    return module


def _record(module: "nn.Module", batch: Any, how: _How) -> dict[str, Any]:
    """Returns what a file of points keeps of the module on ``batch``."""
    import torch

    begin, threads = time.perf_counter(), torch.get_num_threads()
    if how.threads is not None:
        torch.set_num_threads(how.threads)
    try:
        return _figures(module, batch, how, begin)
    except UnsupportedError as error:
        raise UserError(f"benchmark: {error}") from None
    except Exception as error:
        if is_out_of_memory(error) or not raised_by_author(error):
            raise
        raise UserError(f"benchmark: {how.name} failed: {described(error)}") from None
    finally:
        torch.set_num_threads(threads)


def _figures(module: "nn.Module", batch: Any, how: _How, begin: float) -> dict[str, Any]:
    import torch

    first = tensors_in(batch)[0]
    device, backend, training = first.device, BACKENDS[how.backend], how.mode == "training"
    floats = next((one for one in [*module.parameters(), first] if one.is_floating_point()), None)
    dtype = str(torch.float32 if floats is None else floats.dtype).removeprefix("torch.")
    net = Net(how.name, lambda: module, tuple(first.shape[1:]), "", own_parameters=True)
    point = Point(
        net=net.name,
        batch_size=len(first),
        device=str(device),
        dtype=dtype if dtype in DTYPES else "float32",
        backend=how.backend,
        mode=how.mode,
        threads=torch.get_num_threads(),
        input_size=net.input_size if batch is first else _inputs(batch),
        cold_cache=how.cold_cache,
    )
    settling = Settling(most_seconds=how.seconds, least_seconds=min(0.5, how.seconds))
    opener = open_training if training else open_inference
    with opener(backend, module, batch, device) as opened:
        phases = phase_steps(opened.phases, batch) if training and opened.phases else {}
        ran = ran_on(net, batch, how.backend, dtype, device, cold_cache=how.cold_cache)
        clock = device_clock(device, cold_cache=how.cold_cache)
        workload = PointWorkload(module, batch, device, clock, opened.infer, phases, opened.engine, ran)
        found = figures(workload, settling)
    about = {"kind": "point", "machine": environment.machine(str(device))}
    return about | record_of(point, Outcome(OK, "", found), begin)


def _inputs(batch: Any) -> tuple[Input, ...]:
    """Returns several inputs as a point describes them; those of a tuple have no names."""
    named = batch.items() if isinstance(batch, dict) else (("", one) for one in batch)
    return tuple(Input(name, tuple(one.shape), str(one.dtype).removeprefix("torch.")) for name, one in named)
