"""Smaller batches where one is out of memory."""

import argparse
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from convnet_benchmarks.commands.sweep.run import THROUGHPUT, Task, measure_missing
from convnet_benchmarks.points.file import PointFile, latest
from convnet_benchmarks.points.point import OUT_OF_MEMORY

if TYPE_CHECKING:
    from convnet_benchmarks.points.cluster import Cluster


def measure_backing_off(
    tasks: list[Task], file: PointFile, options: argparse.Namespace, cluster: "Cluster | None"
) -> None:
    """Measures ``tasks`` as ``measure_missing``; those out of memory are tried again with half the batch.

    They take the place of the larger ones in ``tasks``.
    """
    places = list(range(len(tasks)))
    while places:
        measure_missing([tasks[place] for place in places], file, options, cluster)
        found = latest(file.records)
        smaller = {}
        for place in places:
            task = tasks[place]
            batch = task.point.batch_size
            record = task.record_in(found)
            if task.kind == THROUGHPUT and record and record["status"] == OUT_OF_MEMORY and batch > 1:
                smaller[place] = replace(task, point=replace(task.point, batch_size=batch // 2))
                print(f"{task}: out of memory; batch {batch // 2} is tried", file=sys.stderr)
        for place, task in smaller.items():
            tasks[place] = task
        places = list(smaller)
