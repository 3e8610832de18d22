"""``--list-nets``: what can be named, as a table."""

from nets import registry


def nets_table() -> str:
    """One line per net: name, parameters, input size, source."""
    rows = [("net", "parameters", "input", "source")]
    for net in registry.NETS.values():
        rows.append((net.name, f"{net.parameters:,}", "x".join(map(str, net.input_size)), net.source))
    widths = [max(len(row[i]) for row in rows) for i in range(3)]
    return "\n".join(
        f"{name:{widths[0]}}  {count:>{widths[1]}}  {size:{widths[2]}}  {source}"
        for name, count, size, source in rows
    )
