"""Places a plan's values in memory, sharing memory and avoiding copies where possible."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import partial

from torch import Tensor

from convnet_benchmarks.nets.engine.kernels import pointwise
from convnet_benchmarks.nets.engine.layers.layer import Layer, Step
from convnet_benchmarks.nets.engine.memory import Memory
from convnet_benchmarks.nets.engine.values import Block, ReusedMemory, Value

# A value's place: the layer that joins it with others, and which of that layer's inputs it is.
_Home = tuple[Layer, int]


def place_data(
    plan: Sequence[Layer], input: Value, output: Value, memory: Memory, reuse: ReusedMemory | None = None
) -> None:
    """Gives every value its buffer. Joined values are written directly to the result if their layers can do
    so. With ``reuse`` a buffer is reused once the last layer has read its contents."""
    homes: dict[int, _Home] = {}
    blocks: dict[int, Block] = {}
    readers = Counter(id(value) for layer in plan for value in layer.inputs)
    readers[id(output)] += 1  # the caller

    def place(value: Value) -> None:
        if value.has_data:
            return
        if id(value) in homes:
            joined, index = homes[id(value)]
            place(joined.output)
            settle(value, joined.part(joined.output.data, index), blocks[id(joined.output)])
        else:
            block = reuse.take(value.numel) if reuse else Block(memory.empty((value.numel,), value.dtype))
            block.users = 0
            settle(value, value.arrange(block.memory[: value.numel]), block)

    def settle(value: Value, data: Tensor, block: Block) -> None:
        value.data, value.has_data = data, True
        blocks[id(value)] = block
        block.users += readers[id(value)]

    writers = {id(layer.output): layer for layer in plan}
    for layer in plan:
        if layer.joins_inputs:
            for index, value in enumerate(layer.inputs):
                writer = writers.get(id(value))
                if writer is not None and writer.writes_in_place:
                    homes.setdefault(id(value), (layer, index))
    place(input)
    for layer in plan:
        shared = layer.shared_output()
        overwritten = layer.overwrites() if reuse else None
        if shared is not None:
            settle(layer.output, shared, blocks[id(layer.inputs[0])])
        elif overwritten is not None and id(layer.output) not in homes:
            block = blocks[id(overwritten)]
            if block.users == 1:  # only this layer
                settle(layer.output, overwritten.data, block)
        place(layer.output)
        layer.allocate(memory)
        if reuse is not None:
            for value in layer.inputs:
                reuse.release(blocks[id(value)])


def place_gradients(plan: Sequence[Layer], output: Value, memory: Memory) -> list[Step]:
    """Gives every gradient its memory, and returns the steps of the input gradient, last layer first.

    A gradient is kept for as long as it is needed: for accGradParameters where the layer has parameters, else
    until its layer has run. The first reader of a value (from the end) writes its gradient, the others add.
    """
    pool = ReusedMemory(memory, output.dtype)
    blocks: dict[int, Block] = {}
    readers: defaultdict[int, list[Layer]] = defaultdict(list)
    for layer in plan:
        for value in layer.inputs:
            readers[id(value)].append(layer)
    steps: list[Step] = []

    def give(value: Value, grad: Tensor, block: Block) -> None:
        value.grad, value.has_grad = grad, True
        blocks[id(value)] = block

    def fresh(value: Value) -> tuple[Tensor, Block]:
        block = pool.take(value.numel)
        return value.arrange(block.memory[: value.numel]), block

    def masked(value: Value) -> bool:
        """Returns whether the gradient of a ReLU that made ``value`` is applied by all its readers."""
        return value is not output and all(layer.mask_input() for layer in readers[id(value)])

    give(output, *fresh(output))
    blocks[id(output)].users += 1  # for the next call's copy of gradOutput
    for layer in reversed(plan):
        result = layer.output
        if not result.has_grad:  # not read on any path to the output
            continue
        added: list[tuple[int, Block]] = []
        shareable = True
        for index, value in enumerate(layer.inputs):
            if value.has_grad and layer.adds_gradient(index):
                layer.adds_to.add(index)
                layer.grad_inputs.append(value.grad)
                continue
            if value.has_grad:
                grad, block = fresh(value)
                added.append((index, block))
                layer.grad_inputs.append(grad)
                continue
            alone = len(readers[id(value)]) == 1 or layer.lends_gradient
            if layer.overwrites_gradient and len(layer.inputs) == blocks[id(result)].users == 1:
                shared = result.grad if alone else None
            else:
                shared = layer.shared_gradient(index) if shareable and alone else None
            if shared is not None:
                block = blocks[id(result)]
                block.users += 1
                give(value, shared, block)
                shareable = layer.joins_inputs
            else:
                give(value, *fresh(value))
            layer.grad_inputs.append(value.grad)
        if layer.relu and not layer.masks_gradient and not masked(result):
            steps.append((layer, _mask_output))
        steps.append((layer, _input_gradient))
        for index, block in added:
            steps.append((layer, partial(_add_to_input, index)))
            pool.release(block)
        if not (layer.has_parameters and layer.reads_gradient_later):
            pool.release(blocks[id(result)])
    return steps


def _input_gradient(layer: Layer) -> None:
    layer.input_gradient()


def _mask_output(layer: Layer) -> None:
    """Applies the gradient of the ReLU that ends ``layer``."""
    value = layer.output
    pointwise.mask(value, value.data, value.grad)


def _add_to_input(index: int, layer: Layer) -> None:
    """Adds an input's gradient to those of its other readers."""
    value = layer.inputs[index]
    pointwise.add(value, layer.grad_inputs[index], value.grad)
