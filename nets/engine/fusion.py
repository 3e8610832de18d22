"""Joins operations of a trace that one layer can run together."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from torch import nn

from convnet_benchmarks.nets.engine.layers.layer import Layer
from convnet_benchmarks.nets.engine.trace import Operation, Slot, Trace, map_leaves


@dataclass
class Fused:
    """An operation with the following ones that its layer also runs: in this order, a batch normalisation, a
    sum with the value ``addend``, and a ReLU. ``result``: the last one's value."""

    operation: Operation
    kind: type[Layer]
    place: int  # in the trace
    result: int
    norm: nn.BatchNorm2d | None = None
    addend: int | None = None
    relu: bool = False

    @property
    def inputs(self) -> list[int]:
        """Returns the values that it reads; the addend, if any, is the last."""
        return [*self.operation.inputs, *([] if self.addend is None else [self.addend])]


def without_identities(trace: Trace) -> Trace:
    """Returns the trace without operations that return their input unchanged."""
    same: dict[int, int] = {}

    def original(item: Any) -> Any:
        return Slot(same.get(item.index, item.index)) if isinstance(item, Slot) else item

    kept: list[Operation] = []
    for operation in trace.operations:
        args, kwargs = (map_leaves(part, original) for part in (operation.args, operation.kwargs))
        found = replace(operation, args=args, kwargs=kwargs)
        if found.reshapes and found.shape == trace.shapes[found.inputs[0]]:
            same[found.result] = found.inputs[0]
        else:
            kept.append(found)
    return replace(trace, operations=kept, output=same.get(trace.output, trace.output)) if kept else trace


def fuse(
    trace: Trace,
    kinds: Sequence[type[Layer]],
    relus: bool,
    norms: bool,
    takes_sum: Callable[[type[Layer]], bool],
) -> list[Fused]:
    """Joins an operation with the only one that reads its result, where the layers allow it.

    ReLUs and batch normalisations with constant statistics, each if asked for, and sums where the layer that
    makes one of the two values ``takes_sum``. The result is in the order of the first operations.
    """
    readers = Counter(index for operation in trace.operations for index in operation.inputs)
    readers[trace.output] += 1
    found: list[Fused] = []
    producer: dict[int, Fused] = {}

    def only_for_one(value: int) -> Fused | None:
        """Returns what computes ``value``, if a single operation reads it and it does not end in a ReLU."""
        by = producer.get(value)
        return by if by is not None and readers[value] == 1 and not by.relu else None

    def joined(operation: Operation, kind: type[Layer]) -> Fused | None:
        """Returns the fused operation that also runs ``operation``, if that is possible."""
        by = only_for_one(operation.inputs[0])
        if relus and kind.is_relu and by is not None and by.kind.relu_in_place:
            by.relu = True
            return by
        norm = kind.constant_norm(operation) if norms else None
        plain = by is not None and by.norm is None and by.addend is None
        if norm is not None and by is not None and plain and by.kind.takes_norm(by.operation):
            by.norm = norm
            return by
        return summed(operation) if kind.is_sum else None

    def summed(operation: Operation) -> Fused | None:
        for value, other in (operation.inputs, operation.inputs[::-1]):
            by, before = only_for_one(value), producer.get(other)
            if by is None or by.addend is not None or not takes_sum(by.kind):
                continue
            if before is None or before.place < by.place:  # the input, or computed before
                by.addend = other
                return by
        return None

    for place, (operation, kind) in enumerate(zip(trace.operations, kinds, strict=True)):
        by = joined(operation, kind)
        if by is None:
            by = Fused(operation, kind, place, operation.result)
            found.append(by)
        by.result = operation.result
        producer[operation.result] = by
    return found
