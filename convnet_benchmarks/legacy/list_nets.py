"""``--list-nets``: what can be named, as a table."""

from convnet_benchmarks.nets import registry
from convnet_benchmarks.tables import Column, Table


def nets_table() -> Table:
    """Returns a row for each net: name, parameters, input size, source."""
    rows = [
        (net.name, net.parameters, "x".join(map(str, net.input_size)), net.source)
        for net in registry.NETS.values()
    ]
    return Table("", [Column(heading) for heading in ("net", "parameters", "input", "source")], list(rows))
