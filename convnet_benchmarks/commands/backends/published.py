"""MXNet's published table: its nets, and its numbers with and without MKL-DNN, in our layout."""

from collections.abc import Sequence

from convnet_benchmarks.commands.backends.tables import category
from convnet_benchmarks.history import read_sources
from convnet_benchmarks.results.measurement import LATENCY, THROUGHPUT, Measurement, net_key
from convnet_benchmarks.tables import Cell, Column, Table

# The rows of the table in their order; what it calls DenseNet is taken for its smallest one.
NETS = {
    "ResNet-50 v1": "resnet50_v1",
    "ResNet-50 v2": "resnet50_v2",
    "Inception v3": "inceptionv3",
    "Inception v4": "inceptionv4",
    "DenseNet": "densenet121",
    "MobileNet": "mobilenet1.0",
    "VGG16": "vgg16",
    "AlexNet": "alexnet",
    "inception-resnet v2": "inception_resnet_v2",
    "Faster R-CNN": "faster_rcnn_vgg16",
    "SSD-VGG16": "ssd_vgg16",
    "SSD-MobileNet": "ssd_mobilenet",
    "GNMT": "gnmt",
    "DCGAN": "dcgan_generator",
}
_WITHOUT, _WITH = "MXNet 1.3.0, no MKL-DNN", "MXNet 1.3.0, MKL-DNN"


def published_table(nets: Sequence[str]) -> Table:
    """Returns the published numbers of those of ``nets`` that the table has."""

    source = next(s for s in read_sources() if any(m.software == _WITH for m in s.measurements))
    by_net: dict[str, list[Measurement]] = {}
    for measurement in source.measurements:
        by_net.setdefault(net_key(measurement.net), []).append(measurement)
    columns = [
        Column("category", key="category", condition=True),
        Column("model", key="net"),
        Column("latency batch 1, w/o MKL-DNN", "ms", key="latency_without"),
        Column("latency batch 1, w/ MKL-DNN", "ms", key="latency_with"),
        Column("speed-up", digits=3, key="latency_speed_up"),
        Column("batch", key="batch_size"),
        Column("throughput, w/o MKL-DNN", "samples/s", key="throughput_without"),
        Column("throughput, w/ MKL-DNN", "samples/s", key="throughput_with"),
        Column("speed-up", digits=3, key="throughput_speed_up"),
    ]
    rows: list[Sequence[Cell]] = []
    for title, net in NETS.items():
        # The history knows the rows by our names where they are the same net, and by its own otherwise.
        found = by_net.get(net_key(net), []) + by_net.get(net_key(title), [])
        if net in nets and found:
            latencies = _pair(found, LATENCY)
            throughputs = _pair(found, THROUGHPUT)
            batch = next((m.batch for m in found if m.quantity == THROUGHPUT), None)
            cells = [*latencies, _quotient(*latencies), batch, *throughputs, _quotient(*throughputs[::-1])]
            rows.append([category(net), net, *cells])
    notes = [source.machine] if rows else [f"none for these nets; there are for {', '.join(NETS.values())}"]
    return Table(f"Published: {source.title}", columns, rows, notes)


def _pair(found: Sequence[Measurement], quantity: str) -> list[float | None]:
    """Returns the value without and with MKL-DNN."""
    values = {m.software: m.value for m in found if m.quantity == quantity}
    return [values.get(_WITHOUT), values.get(_WITH)]


def _quotient(a: float | None, b: float | None) -> float | None:
    return a / b if a is not None and b else None
