"""Nets that are not a list of operations on one tensor: the engine runs its layers, PyTorch the rest."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_flatten

from convnet_benchmarks.nets.engine.memory import MemoryReport, huge_page_policy
from convnet_benchmarks.nets.engine.parts import Part, PartRecorder, Run
from convnet_benchmarks.nets.engine.report import LayerReport, Report
from convnet_benchmarks.nets.phases import (
    FORWARD,
    PHASES,
    WEIGHT_GRADIENT,
    AutogradPhases,
    Calls,
    Recorder,
    recorder_of,
)

# The modules that a pass calls, in order: names, modules, and whether they call others.
Seen = Sequence[tuple[str, nn.Module, bool]]


class MixedPhases(AutogradPhases):
    """The three phases by PyTorch's autograd, in which ``parts`` run on plans of the engine.

    Outputs and gradients may be buffers that the next call overwrites. ``seen`` is for the report. With
    ``inference`` there is updateOutput alone.
    """

    def __init__(
        self,
        module: nn.Module,
        parts: Mapping[nn.Module, Part],
        seen: Seen,
        report: Report,
        inference: bool = False,
    ) -> None:
        self._parts = parts
        self._seen = seen
        self._base = report
        self._inference = inference
        self._modes = [part.training for part in module.modules()]
        super().__init__(module, self._recorder, parts)

    def _recorder(self, module: nn.Module, calls: Calls) -> Recorder:
        part = self._parts.get(module)
        return recorder_of(module, calls) if part is None else PartRecorder(part, calls, self._inference)

    def updateOutput(self, input: Any) -> Any:
        if self._parts and [part.training for part in self.module.modules()] != self._modes:
            raise RuntimeError("the module has changed between training and evaluation: compile it again")
        for part in self._parts.values():
            part.begin()
        if not self._inference:
            return super().updateOutput(input)
        self._calls.clear()  # of what runs with gradients all the same
        with torch.no_grad():
            if self._calls.first:
                self._calls.first, self._graph_input = False, input
                return self._first_output()
            return self.module(input)

    @property
    def trains(self) -> bool:
        return not self._inference

    def notice_outputs(self) -> bool:
        """Makes parts whose output the last pass overwrote return copies from now on; returns whether any of
        the net's outputs has a gradient."""
        for _, _, saved in self._calls:
            if isinstance(saved, Run) and saved.overwritten:
                saved.part.copies = True
        found = tree_flatten(self._graph_output)[0]
        return any(isinstance(leaf, Tensor) and leaf.requires_grad for leaf in found)

    def report(self) -> Report:
        """Returns which layers ran where, in the order of their first calls."""
        phases = (FORWARD,) if self._inference else PHASES
        layers: list[LayerReport] = []
        inside = {inner for module in self._parts for inner in module.modules()}
        for name, module, is_outer in self._seen:
            part = self._parts.get(module)
            if part is not None:
                layers += _of_part(part)
            elif module not in inside and not is_outer:
                layers.append(_stock(name, module, phases))
        memory = [plan.report().memory for part in self._parts.values() for plan in part.plans]
        known = [each for each in memory if each is not None]
        total = MemoryReport(
            sum(each.bytes for each in known), sum(each.huge_page_bytes for each in known), huge_page_policy()
        )
        return replace(self._base, layers=tuple(layers), memory=total)

    timed_report = report

    def invalidate(self) -> None:
        """Discards every copy of a weight, as in a plan."""
        for part in self._parts.values():
            for plan in part.plans:
                plan.invalidate()

    def __enter__(self) -> "MixedPhases":
        return self


def _stock(name: str, module: nn.Module, phases: Sequence[str]) -> LayerReport:
    trained = any(parameter.requires_grad for parameter in module.parameters())
    ran = {phase: "stock" for phase in phases if phase != WEIGHT_GRADIENT or trained}
    return LayerReport(name, type(module).__name__, ran)


def _of_part(part: Part) -> list[LayerReport]:
    layers = part.plans[0].report().layers
    alone = len(layers) == 1
    return [
        LayerReport(
            part.name if alone else f"{part.name}.{layer.name}", layer.kind, layer.algorithms, layer.fallback
        )
        for layer in layers
    ]
