"""Runs of layers that worker threads go through by themselves, each with some of the images.

Between two operations that PyTorch divides among its threads these wait in a busy loop, some milliseconds
long, for more to come: a worker that starts meanwhile has to share its core. So what is divided is not one
layer but a long run of them, and all weight gradients that are divided come last.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from itertools import groupby

from nets.engine.choice.algorithms import WEIGHT_GRADIENT
from nets.engine.layers import Layer, WeightedLayer
from nets.engine.shared_work import Divided
from nets.engine.values import Value
from nets.engine.workers import Workers

Action = Callable[[Layer], None]
Step = tuple[Layer, Action]


class Division:
    """Divides the steps of a plan for a batch. ``divided``: the layers that have kernels by image."""

    def __init__(self, workers: Workers, batch: int, divided: Sequence[Layer]) -> None:
        self._workers = workers
        self._images = workers.shares(batch)
        self._layers = {id(layer) for layer in divided}
        self._values: dict[tuple[int, int], Value] = {}
        self._parts: dict[tuple[int, int], Layer] = {}

    def by_image(self, steps: Sequence[Step]) -> list[Callable[[], None]]:
        """``steps`` in their order; those of divided layers that follow each other become one."""
        found: list[Callable[[], None]] = []
        for divided, run in groupby(steps, lambda step: id(step[0]) in self._layers):
            together = list(run)
            if not divided:
                found += [partial(action, layer) for layer, action in together]
                continue
            jobs = [
                partial(_run_all, [partial(action, self._part(layer, worker)) for layer, action in together])
                for worker in range(len(self._images))
            ]
            found.append(partial(self._workers.run, jobs))
        return found

    def _part(self, layer: Layer, worker: int) -> Layer:
        key = (id(layer), worker)
        if key not in self._parts:
            self._parts[key] = layer.of_images(
                self._images[worker], worker, lambda value: self._part_of_value(value, worker)
            )
        return self._parts[key]

    def _part_of_value(self, value: Value, worker: int) -> Value:
        key = (id(value), worker)
        if key not in self._values:
            self._values[key] = value.of_images(self._images[worker])
        return self._values[key]


def weight_gradients(workers: Workers, layers: Sequence[Layer]) -> list[Callable[[], None]]:
    """The steps of accGradParameters for ``layers``; those of layers that are divided come last, together."""
    weighted = [layer for layer in layers if isinstance(layer, WeightedLayer)]
    users = Counter(id(parameter) for layer in weighted for parameter in layer.parameters())
    divided = [
        layer
        for layer in weighted
        if isinstance(layer.kernels[WEIGHT_GRADIENT][1], Divided)
        # Two layers with one parameter would add to it at the same time.
        and all(users[id(parameter)] == 1 for parameter in layer.parameters())
    ]
    found: list[Callable[[], None]] = [layer.weight_gradient for layer in layers if layer not in divided]
    if divided:
        jobs = [
            partial(_run_all, [partial(layer.share_of_gradients, worker) for layer in divided])
            for worker in range(workers.count)
        ]
        found += [layer.begin_gradients for layer in divided]
        found.append(partial(workers.run, jobs))
        found += [layer.add_up_gradients for layer in divided]
    return found


def _run_all(actions: Sequence[Callable[[], None]]) -> None:
    for action in actions:
        action()
