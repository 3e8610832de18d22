"""Places a plan's values in memory: what can share memory does, and nothing is copied that need not be."""

from collections import Counter
from collections.abc import Sequence
from functools import partial

import torch
from torch import Tensor

from nets.engine.division import Step
from nets.engine.layers.layer import Layer
from nets.engine.memory import Memory
from nets.engine.values import Block, GradientMemory, Value

# A value's place: the layer that joins it with others, and which of that layer's inputs it is.
_Home = tuple[Layer, int]


def place_data(plan: Sequence[Layer], input: Value, memory: Memory) -> None:
    """Gives every value its buffer. What is joined is written into its place in the result, where the layer
    that writes it can."""
    homes: dict[int, _Home] = {}
    writers = {id(layer.output): layer for layer in plan}
    for layer in plan:
        if layer.joins_inputs:
            for index, value in enumerate(layer.inputs):
                writer = writers.get(id(value))
                if writer is not None and writer.writes_in_place:
                    homes.setdefault(id(value), (layer, index))
    _place(input, homes, memory)
    for layer in plan:
        shared = layer.shared_output()
        if shared is not None:
            layer.output.data, layer.output.has_data = shared, True
        _place(layer.output, homes, memory)
        layer.allocate(memory)


def _place(value: Value, homes: dict[int, _Home], memory: Memory) -> None:
    if value.has_data:
        return
    if id(value) in homes:
        joined, index = homes[id(value)]
        _place(joined.output, homes, memory)
        value.data = joined.part(joined.output.data, index)
    else:
        value.data = value.arrange(memory.empty((value.numel,), value.dtype))
    value.has_data = True


def place_gradients(plan: Sequence[Layer], output: Value, memory: Memory, by_image: bool) -> list[Step]:
    """Gives every gradient its memory, and returns the steps of the input gradient, last layer first.

    A gradient is kept for as long as it is needed: for accGradParameters where the layer has parameters, else
    until its layer has run. The first reader of a value (from the end) writes its gradient, the others add.
    """
    pool = GradientMemory(memory, output.dtype, by_image)
    blocks: dict[int, Block] = {}
    readers = Counter(id(value) for layer in plan for value in layer.inputs)
    steps: list[Step] = []

    def give(value: Value, grad: Tensor, block: Block) -> None:
        value.grad, value.has_grad = grad, True
        blocks[id(value)] = block

    def fresh(value: Value) -> tuple[Tensor, Block]:
        block = pool.take(value.numel)
        return value.arrange(block.memory[: value.numel]), block

    give(output, *fresh(output))
    blocks[id(output)].users += 1  # for the next call's copy of gradOutput
    for layer in reversed(plan):
        result = layer.output
        if not result.has_grad:  # read by nothing that leads to the output
            continue
        added: list[tuple[int, Block]] = []
        shareable = True
        for index, value in enumerate(layer.inputs):
            if value.has_grad:
                grad, block = fresh(value)
                added.append((index, block))
                layer.grad_inputs.append(grad)
                continue
            shared = layer.shared_gradient(index) if shareable and readers[id(value)] == 1 else None
            if shared is not None:
                block = blocks[id(result)]
                block.users += 1
                give(value, shared, block)
                shareable = layer.joins_inputs
            else:
                give(value, *fresh(value))
            layer.grad_inputs.append(value.grad)
        if layer.relu and not layer.masks_gradient:
            steps.append((layer, _mask_output))
        steps.append((layer, _input_gradient))
        for index, block in added:
            steps.append((layer, partial(_add_to_input, index)))
            pool.release(block)
        if not layer.has_parameters:
            pool.release(blocks[id(result)])
    return steps


def _input_gradient(layer: Layer) -> None:
    layer.input_gradient()


def _mask_output(layer: Layer) -> None:
    """Applies the gradient of the ReLU that ends ``layer``."""
    value = layer.output
    torch.ops.aten.threshold_backward.grad_input(value.grad, value.data, 0, grad_input=value.grad)


def _add_to_input(index: int, layer: Layer) -> None:
    """Adds an input's gradient to those that other readers of it have given."""
    layer.inputs[index].grad.add_(layer.grad_inputs[index])
