"""The parts of a sequence-to-sequence net: LSTM layers over whole sequences, attention, a decoder."""

import torch
from torch import Tensor, nn


class LSTMSequence(nn.LSTM):
    """An LSTM layer from zero states: (batch, length, features) to its outputs at every step.

    The outputs have ``width`` features, twice as many when it runs in both directions.
    """

    def __init__(self, features: int, width: int, bidirectional: bool = False) -> None:
        super().__init__(features, width, batch_first=True, bidirectional=bidirectional)

    def forward(self, input: Tensor) -> Tensor:  # type: ignore[override]  # without the states
        sequence: Tensor = super().forward(input)[0]
        return sequence


class AdditiveAttention(nn.Module):
    """Means of ``memory``, weighted by a net of one tanh layer (Bahdanau et al., 2014, arXiv:1409.0473).

    queries (batch, m, width) and memory (batch, n, width) give (batch, m, width).
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.of_query = nn.Linear(width, width, bias=False)
        self.of_memory = nn.Linear(width, width, bias=False)
        self.score = nn.Linear(width, 1, bias=False)

    def forward(self, queries: Tensor, memory: Tensor) -> Tensor:
        hidden = torch.tanh(self.of_query(queries).unsqueeze(2) + self.of_memory(memory).unsqueeze(1))
        weights = self.score(hidden).squeeze(3).softmax(2)
        return torch.bmm(weights, memory)


class AttentionDecoder(nn.Module):
    """GNMT's decoder: the lowest layer's outputs are the queries for a context, which all layers above also
    get."""

    def __init__(self, width: int, layers: int) -> None:
        super().__init__()
        self.lowest = LSTMSequence(width, width)
        self.attention = AdditiveAttention(width)
        self.above = nn.ModuleList(LSTMSequence(2 * width, width) for _ in range(layers - 1))

    def forward(self, target: Tensor, memory: Tensor) -> Tensor:
        below = self.lowest(target)
        context = self.attention(below, memory)
        for depth, layer in enumerate(self.above):
            output = layer(torch.cat([below, context], 2))
            below = output if depth == 0 else below + output
        return below


class Translator(nn.Module):
    """Teacher-forced: ids (batch, 2, length) of source and target to scores for each next token."""

    def __init__(
        self, encoder: nn.Module, embedding: nn.Module, decoder: nn.Module, classifier: nn.Module
    ) -> None:
        super().__init__()
        self.encoder = encoder
        self.embedding = embedding
        self.decoder = decoder
        self.classifier = classifier

    def forward(self, ids: Tensor) -> Tensor:
        source, target = ids.unbind(1)
        scores: Tensor = self.classifier(self.decoder(self.embedding(target), self.encoder(source)))
        return scores
