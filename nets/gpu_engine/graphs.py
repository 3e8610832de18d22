"""The three phases as CUDA graphs: the host issues each as one call."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves, tree_map

from convnet_benchmarks.nets.gpu_engine.state import Watched
from convnet_benchmarks.nets.phases import Phases

_WARM_PASSES = 2  # first passes allocate memory and choose algorithms, which must happen before the capture


class GraphPhases:
    """Replays the phases of ``phases``, captured for inputs of ``input``'s shape; the module may give several
    outputs.

    This runs passes, which change gradients and running statistics. Raises RuntimeError if the phases do
    something that cannot be captured.
    """

    def __init__(self, phases: Phases, module: nn.Module, input: Tensor) -> None:
        self._phases = phases
        self._input = input.clone(memory_format=torch.preserve_format)
        phases.zeroGradParameters()
        aside = torch.cuda.Stream(input.device)
        aside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(aside):
            for _ in range(_WARM_PASSES):
                output = phases.updateOutput(self._input)
                phases.updateGradInput(self._input, output)
                phases.accGradParameters(self._input, output)
            self._grad_output = tree_map(_zeros_like, output)
        torch.cuda.current_stream().wait_stream(aside)
        del output
        self._forward, self._input_gradient, self._weight_gradient = (
            torch.cuda.CUDAGraph() for _ in range(3)
        )
        with torch.cuda.graph(self._forward):
            self._output = phases.updateOutput(self._input)
        pool = self._forward.pool()
        with torch.cuda.graph(self._input_gradient, pool=pool):
            self._grad_input = phases.updateGradInput(self._input, self._grad_output)
        with torch.cuda.graph(self._weight_gradient, pool=pool):
            phases.accGradParameters(self._input, self._grad_output)
        self._gradients = [(one, one.grad) for one in module.parameters() if one.grad is not None]
        self._watched = Watched(module)

    def outdated(self) -> bool:
        """Returns whether the module's memory or modes differ from those of the graphs."""
        return self._watched.changed()

    def takes(self, input: Tensor) -> bool:
        """Returns whether the graphs were captured for inputs like this."""
        return input.shape == self._input.shape and input.dtype is self._input.dtype

    def updateOutput(self, input: Tensor) -> Any:
        self._input.copy_(input)
        self._forward.replay()
        return self._output

    def updateGradInput(self, input: Tensor, gradOutput: Any) -> Any:
        for own, given in zip(tree_leaves(self._grad_output), tree_leaves(gradOutput), strict=True):
            if isinstance(own, Tensor):
                own.copy_(given)
        self._input_gradient.replay()
        return self._grad_input

    def accGradParameters(self, input: Tensor, gradOutput: Any) -> None:
        # The graph adds to its own gradient tensors, even if the parameters' ``.grad`` have been replaced.
        replaced = []
        for parameter, own in self._gradients:
            if parameter.grad is not own:
                if parameter.grad is None:
                    parameter.grad = own.zero_()
                else:
                    own.copy_(parameter.grad)
                    replaced.append((parameter.grad, own))
        self._weight_gradient.replay()
        for given, own in replaced:
            given.copy_(own)

    def zeroGradParameters(self) -> None:
        for parameter, own in self._gradients:
            if parameter.grad is None:
                parameter.grad = own  # so that accGradParameters need not copy
        self._phases.zeroGradParameters()

    def close(self) -> None:
        self._phases.close()


def _zeros_like(output: Any) -> Any:
    return torch.zeros_like(output) if isinstance(output, Tensor) else output
