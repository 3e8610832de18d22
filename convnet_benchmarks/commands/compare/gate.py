"""The exit code of a comparison, by which a pipeline stops if something has become slower."""

from collections.abc import Sequence

from convnet_benchmarks.results.ratio import NO_INTERVAL, Ratio
from convnet_benchmarks.timing.verdicts import OLD_IS_FASTER, OLD_IS_SLOWER, SLOWER, UNSURE

EXIT_NONE_SLOWER, EXIT_SLOWER, EXIT_UNSURE = 0, 1, 4


def exit_code(ratios: Sequence[Ratio], fail_slower: float, fail_unsure: bool) -> int:
    """Returns the exit code. ``fail_slower``: how many per cent longer a thing that is SLOWER may take.

    ``fail_unsure``: what is UNSURE counts, too, unless its bounds say that it does not take so much longer.
    Numbers without statistics decide nothing if others have them.
    """
    least = 1 / (1 + fail_slower / 100)
    if any(_is_slower(one) and one.value is not None and one.value < least for one in ratios):
        return EXIT_SLOWER
    judged = [one for one in ratios if one.reason != NO_INTERVAL] or ratios
    unsure = [
        one for one in judged if one.verdict == UNSURE and not (one.low is not None and one.low >= least)
    ]
    return EXIT_UNSURE if fail_unsure and unsure else EXIT_NONE_SLOWER


def _is_slower(ratio: Ratio) -> bool:
    """Returns whether the verdict is that this file is slower than A, whichever of them is old."""
    about_old = ratio.verdict in (OLD_IS_SLOWER, OLD_IS_FASTER)
    return ratio.verdict == SLOWER or (about_old and ratio.value is not None and ratio.value < 1)
