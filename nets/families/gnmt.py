"""GNMT (Wu et al., 2016, arXiv:1609.08144): translation by LSTM layers with attention between them."""

from typing import TYPE_CHECKING

from convnet_benchmarks.nets.net import Net

if TYPE_CHECKING:
    from torch import nn

_WORDPIECES = 32_000
_LENGTH = 50


def gnmt(tokens: int = _WORDPIECES, width: int = 1024, layers: int = 8) -> "nn.Module":
    """Builds the net, teacher-forced: token ids (batch, 2, length) to log-probabilities (batch, length,
    tokens).

    The first row of a sample is the source sentence, the second the target as the decoder gets it, shifted by
    one. ``layers`` LSTMs of ``width`` units in the encoder and as many in the decoder; residual connections
    from the third on. Without the paper's dropout.
    """
    from torch import nn

    from convnet_benchmarks.nets.modules.torch7 import residual
    from convnet_benchmarks.nets.modules.translation import AttentionDecoder, LSTMSequence, Translator

    encoder = nn.Sequential(
        nn.Embedding(tokens, width),
        LSTMSequence(width, width, bidirectional=True),
        LSTMSequence(2 * width, width),
        *(residual([LSTMSequence(width, width)]) for _ in range(layers - 2)),
    )
    classifier = nn.Sequential(nn.Linear(width, tokens), nn.LogSoftmax(dim=-1))
    return Translator(encoder, nn.Embedding(tokens, width), AttentionDecoder(width, layers), classifier)


NETS = (Net("gnmt", gnmt, (2, _LENGTH), "arXiv:1609.08144", "GNMT", 276_734_208, tokens=_WORDPIECES),)
