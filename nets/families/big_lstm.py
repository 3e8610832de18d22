"""A large LSTM over words (BIG-LSTM, Jozefowicz et al., 2016, arXiv:1602.02410)."""

from typing import TYPE_CHECKING

from convnet_benchmarks.nets.net import DEEPMARK, Net

if TYPE_CHECKING:
    from torch import nn

_WORDS = 793_471  # of the One Billion Word Benchmark
_LENGTH = 20


def big_lstm(words: int = _WORDS, embedding: int = 512, first: int = 8192, second: int = 1024) -> "nn.Module":
    """Builds the layers of DeepMark's script: word ids (batch, length) to (batch, length, ``second``).

    The script stops there: it has neither the paper's projections nor a softmax.
    """
    from torch import nn

    from convnet_benchmarks.nets.modules.translation import LSTMSequence

    return nn.Sequential(
        nn.Embedding(words, embedding), LSTMSequence(embedding, first), LSTMSequence(first, second)
    )


NETS = (
    Net(
        "big_lstm",
        big_lstm,
        (_LENGTH,),
        f"arXiv:1602.02410; {DEEPMARK}",
        "Big LSTM",
        729_292_288,
        tokens=_WORDS,
    ),
)
