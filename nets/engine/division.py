"""Runs of layers that worker threads go through by themselves, each with some of the images.

Between two operations that PyTorch divides among its threads these wait in a busy loop, some milliseconds
long, for more to come: a worker that starts meanwhile has to share its core. So what is divided is not one
layer but a long run of them, and all weight gradients that are divided come last.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import groupby

from nets.engine.layers.layer import Layer
from nets.engine.values import Value
from nets.engine.workers import Workers

Action = Callable[[Layer], None]
Step = tuple[Layer, Action]

# In one phase of a run of layers: some twenty times what changing between PyTorch's threads and ours costs.
_DIVIDED_MULTIPLY_ADDS = 16_000_000_000


def enough_to_divide(layers: Iterable[Layer]) -> bool:
    """Returns whether ``layers``, run one after the other, are enough work to be divided among worker
    threads."""
    return sum(layer.multiply_adds for layer in layers) >= _DIVIDED_MULTIPLY_ADDS


def divided_by_image(layers: Sequence[Layer], workers: Workers, batch: int) -> list[Layer]:
    """Returns the layers that worker threads go through by themselves, each with some of the images: runs of
    them that are long enough."""

    def divisible(layer: Layer) -> bool:
        shapes = [value.shape for value in (*layer.inputs, layer.output)]
        of_batch = all(len(shape) == 4 and shape[0] == batch for shape in shapes)
        return layer.divisible and of_batch and layer.worth_dividing(workers)

    found: list[Layer] = []
    for together, run in groupby(layers, divisible):
        some = list(run)
        if together and enough_to_divide(some):
            found += some
    return found


class Division:
    """Divides the steps of a plan for a batch. ``divided``: the layers that have kernels by image."""

    def __init__(self, workers: Workers, batch: int, divided: Sequence[Layer]) -> None:
        self._workers = workers
        self._images = workers.shares(batch)
        self._layers = {id(layer) for layer in divided}
        self._values: dict[tuple[int, int], Value] = {}
        self._parts: dict[tuple[int, int], Layer] = {}

    def by_image(self, steps: Sequence[Step]) -> list[Callable[[], None]]:
        """Returns ``steps`` in their order; those of divided layers that follow each other become one."""
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
    """Returns the steps of accGradParameters for ``layers``; those of layers that are divided come last,
    together."""
    users = Counter(id(parameter) for layer in layers for parameter in layer.parameters())
    divided = [
        layer
        for layer in layers
        if layer.divides_gradients
        # Two layers with one parameter would add to it at the same time.
        and all(users[id(parameter)] == 1 for parameter in layer.parameters())
    ]
    found: list[Callable[[], None]] = [layer.weight_gradient for layer in layers if layer not in divided]
    if divided:
        found.append(partial(_divided_gradients, workers, divided))
    return found


def _divided_gradients(workers: Workers, layers: Sequence[Layer]) -> None:
    """Has each worker go through its shares of all layers. (One step of the plan: what a layer begins with is
    for the other two.)"""
    for layer in layers:
        layer.begin_gradients()
    workers.run(
        [
            partial(_run_all, [partial(layer.share_of_gradients, worker) for layer in layers])
            for worker in range(workers.count)
        ]
    )
    for layer in layers:
        layer.add_up_gradients()


def _run_all(actions: Sequence[Callable[[], None]]) -> None:
    for action in actions:
        action()
