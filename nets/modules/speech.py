"""The parts of Deep Speech 2: a spectrogram's columns as time steps, and recurrent layers over them."""

import torch
from torch import Tensor, nn


class ColumnsToSteps(nn.Module):
    """(batch, planes, height, width) to (width, batch, planes * height): a column is one time step."""

    def forward(self, input: Tensor) -> Tensor:
        return input.flatten(1, 2).permute(2, 0, 1)


class BidirectionalReLU(nn.Module):
    """(steps, batch, ``n_in``) to (steps, batch, ``width``): ReLU units in both directions, from zero states.

    The layer's product with its input, normalised over the batch's steps, is added unchanged in both
    directions (cuDNN's CUDNN_SKIP_INPUT): h[t] = max(0, x[t] + W h[t - 1] + b). The outputs are clipped at
    ``ceiling``, after the recurrence, and added.
    """

    def __init__(self, n_in: int, width: int, ceiling: float) -> None:
        super().__init__()
        self.input = nn.Linear(n_in, width, bias=False)
        self.norm = nn.BatchNorm1d(width)
        self.forwards = RecurrentReLU(width)
        self.backwards = RecurrentReLU(width)
        self.ceiling = ceiling

    def forward(self, input: Tensor) -> Tensor:
        x = self.norm(self.input(input).flatten(0, 1)).view(*input.shape[:2], -1)
        there = self.forwards(x)
        back = self.backwards(x.flip(0)).flip(0)
        return there.clamp(max=self.ceiling) + back.clamp(max=self.ceiling)


class RecurrentReLU(nn.Module):
    """h[t] = max(0, x[t] + W h[t - 1] + b + c) over (steps, batch, ``width``), from zeros.

    The two biases, b of the input and c of the state, are separate parameters, as in cuDNN.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.width = width
        self.weight = nn.Parameter(torch.empty(width, width))
        self.input_bias = nn.Parameter(torch.empty(width))
        self.state_bias = nn.Parameter(torch.empty(width))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws the parameters as cudnn.torch does: uniform in +-1/sqrt(width)."""
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -(self.width**-0.5), self.width**-0.5)

    def forward(self, input: Tensor) -> Tensor:
        state = torch.zeros_like(input[0])
        states = []
        for x in (input + (self.input_bias + self.state_bias)).unbind(0):
            state = torch.addmm(x, state, self.weight.t()).relu()
            states.append(state)
        return torch.stack(states)
