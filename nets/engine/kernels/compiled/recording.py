"""Records the calls of compiled code during some work, and whether it does anything else."""

import ctypes
import threading
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from torch import Tensor
from torch.autograd.graph import increment_version
from torch.utils._python_dispatch import TorchDispatchMode

_here = threading.local()


class Call(NamedTuple):
    """A function and a copy of the job it was called with; and the job itself, which keeps the memory it
    refers to, but may have been refilled since."""

    function: Any
    job: ctypes.Structure
    origin: ctypes.Structure


class Recording(TorchDispatchMode):
    """Records the compiled calls of this thread within the context: ``calls``.

    ``complete``: repeating these calls, and views of tensors, is enough to repeat the work.
    """

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[Call] = []
        self.written: list[Tensor] = []  # by these calls; see count_write
        self.complete = True

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Returns False: otherwise PyTorch loads its compiler (a second) only to exclude this code from
        it."""
        return False

    def __enter__(self) -> "Recording":
        _here.recording = self
        super().__enter__()
        return self

    def __exit__(self, *told: Any) -> None:
        _here.recording = None
        super().__exit__(*told)

    def __torch_dispatch__(
        self,
        operator: Any,
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        if not operator.is_view:
            self.complete = False
        return operator(*args, **(kwargs or {}))


def note(function: Any, job: ctypes.Structure) -> None:
    """Adds a call of compiled code to this thread's recording, if there is one."""
    recording = getattr(_here, "recording", None)
    if recording is not None:
        recording.calls.append(Call(function, type(job).from_buffer_copy(job), job))


def count_write(*tensors: Tensor | None) -> None:
    """Increments the version counters of the module's tensors that compiled code has written to, as PyTorch
    does for its own writes: now, and whenever the recorded calls are repeated."""
    recording = getattr(_here, "recording", None)
    for tensor in tensors:
        if tensor is not None:
            increment_version(tensor)
            if recording is not None:
                recording.written.append(tensor)
