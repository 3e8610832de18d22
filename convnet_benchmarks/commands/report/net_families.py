"""The family of a net by its name."""

from functools import cache

from convnet_benchmarks.nets import registry
from convnet_benchmarks.results.measurement import net_key


def net_family(name: str) -> str:
    """Returns the family as the registry has it; a net from outside is a family of its own."""
    return _families().get(net_key(name), name)


@cache
def _families() -> dict[str, str]:

    return {net_key(net.name): net.family or net.name for net in registry.NETS.values()}
