"""Detectors: shapes as published, proposals and suppression against plain loops, the phases."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from convnet_benchmarks.nets import registry
from convnet_benchmarks.nets.families.faster_rcnn import faster_rcnn_vgg16
from convnet_benchmarks.nets.modules.detection import (
    Proposals,
    RegionPooling,
    ScaledUnitNorm,
    decode,
    suppress,
)
from convnet_benchmarks.nets.torch7.initialisation import initialise
from convnet_benchmarks.nets.torch7.random import Generator
from tests.nets.test_nets import check_phases


@pytest.mark.parametrize(
    ("name", "anchors", "classes"), [("ssd_vgg16", 8732, 21), ("ssd_mobilenet", 1917, 91)]
)
def test_ssd_has_the_published_number_of_anchors(name: str, anchors: int, classes: int) -> None:
    net = registry.find(name)
    scores, offsets = registry.on_meta(net)(torch.empty((2, *net.input_size), device="meta"))
    assert scores.shape == (2, anchors, classes) and offsets.shape == (2, anchors, 4)


def test_faster_rcnn_at_full_size() -> None:
    net = registry.find("faster_rcnn_vgg16")
    shapes = [tuple(t.shape) for t in registry.on_meta(net)(torch.empty((1, 3, 600, 800), device="meta"))]
    anchors = 37 * 50 * 9
    assert shapes == [(1, anchors, 2), (1, anchors, 4), (1, 300, 21), (1, 300, 84)]


def test_the_phases_of_ssd() -> None:
    net = registry.find("ssd_mobilenet")
    check_phases(
        registry.build(net, seed=1), net.sample((1, *net.input_size), torch.Generator().manual_seed(2))
    )


def test_the_phases_of_faster_rcnn() -> None:
    module = faster_rcnn_vgg16(classes=5, proposals=10, hidden=32)
    initialise(module, Generator(1))
    check_phases(module, torch.randn(1, 3, 128, 160, generator=torch.Generator().manual_seed(2)))


def overlap(a: list[float], b: list[float]) -> float:
    width = min(a[2], b[2]) - max(a[0], b[0])
    height = min(a[3], b[3]) - max(a[1], b[1])
    shared = max(width, 0) * max(height, 0)
    areas = [(box[2] - box[0]) * (box[3] - box[1]) for box in (a, b)]
    return shared / (sum(areas) - shared)


def suppress_by_loops(boxes: list[list[float]], scores: list[float], threshold: float) -> list[int]:
    kept: list[int] = []
    for index in sorted(range(len(boxes)), key=lambda i: -scores[i]):
        if all(overlap(boxes[index], boxes[other]) <= threshold for other in kept):
            kept.append(index)
    return kept


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10_000), st.integers(1, 30), st.integers(1, 35), st.sampled_from([0.3, 0.5, 0.7]))
def test_suppression_is_the_greedy_one(seed: int, boxes: int, count: int, threshold: float) -> None:
    generator = torch.Generator().manual_seed(seed)
    corners = torch.rand(2, boxes, 2, generator=generator, dtype=torch.float64) * 10
    sizes = torch.rand(2, boxes, 2, generator=generator, dtype=torch.float64) * 5 + 0.1
    given_boxes = torch.cat([corners, corners + sizes], 2)
    scores = torch.rand(2, boxes, generator=generator, dtype=torch.float64)
    found = suppress(given_boxes, scores, count, threshold)
    for image in range(2):
        kept = suppress_by_loops(given_boxes[image].tolist(), scores[image].tolist(), threshold)[:count]
        assert found[image].tolist() == kept + [kept[0]] * (count - len(kept))


def test_proposals_lie_in_the_image_and_repeat_only_the_best() -> None:
    generator = torch.Generator().manual_seed(1)
    scores = torch.randn(2, 9, 6, 8, generator=generator)
    offsets = torch.randn(2, 36, 6, 8, generator=generator) * 3
    boxes = Proposals(16, count=50)(scores, offsets, 96, 128)
    assert boxes.shape == (2, 50, 4)
    assert (boxes >= 0).all() and (boxes[..., 0::2] <= 128).all() and (boxes[..., 1::2] <= 96).all()
    for image in boxes:
        different = [box for i, box in enumerate(image.tolist()) if i == 0 or box != image[0].tolist()]
        assert len({tuple(box) for box in different}) == len(different) > 5


def test_an_anchor_without_offsets_is_where_its_score_is() -> None:
    scores = torch.full((1, 9, 20, 20), -1.0)
    scores[0, 1, 7, 12] = 1.0  # side 128, height as width
    (best,) = Proposals(16, count=1)(scores, torch.zeros(1, 36, 20, 20), 320, 320)[0]
    x, y = 12.5 * 16, 7.5 * 16
    assert best.tolist() == [x - 64, y - 64, x + 64, y + 64]


def test_offsets_move_by_the_anchors_size() -> None:
    anchors = torch.tensor([[0.0, 0.0, 4.0, 2.0]])
    moved = decode(anchors, torch.tensor([[[0.5, -1.0, math.log(2), 0.0]]]), 4.0)
    torch.testing.assert_close(moved, torch.tensor([[[0.0, -2.0, 8.0, 0.0]]]))


def test_regions_of_a_ramp_give_its_values() -> None:
    """Bilinear samples of a plane that rises linearly are exact; the largest lies to the right and below."""
    rows, columns = torch.meshgrid(torch.arange(10.0), torch.arange(12.0), indexing="ij")
    features = torch.stack([columns, rows])[None]
    box = torch.tensor([[[16.0, 32.0, 16 + 7 * 16.0, 32 + 7 * 8.0]]])
    pooled = RegionPooling(16, 7)(features, box)
    assert pooled.shape == (1, 2, 7, 7)
    # The centres of elements are at half strides; each bin's second sample is at 3/4 of it.
    expected_x = (16 + 16 * (torch.arange(7) + 0.75)) / 16 - 0.5
    expected_y = (32 + 8 * (torch.arange(7) + 0.75)) / 16 - 0.5
    torch.testing.assert_close(pooled[0, 0], expected_x.expand(7, 7))
    torch.testing.assert_close(pooled[0, 1], expected_y[:, None].expand(7, 7))


def test_regions_of_a_batch_come_from_their_own_image() -> None:
    features = torch.arange(2.0).reshape(2, 1, 1, 1).expand(2, 1, 8, 8)
    boxes = torch.tensor([[[0.0, 0.0, 64.0, 64.0]] * 3] * 2)
    pooled = RegionPooling(16, 2)(features, boxes)
    assert pooled.flatten(1).mean(1).tolist() == [0, 0, 0, 1, 1, 1]


def test_scaled_unit_norm() -> None:
    layer = ScaledUnitNorm(6, 20.0)
    output = layer(torch.randn(2, 6, 3, 3))
    torch.testing.assert_close(output.norm(dim=1), torch.full((2, 3, 3), 20.0))
    with torch.no_grad():
        layer.weight.zero_()
    initialise(layer, Generator(1))
    assert (layer.weight == 20).all()
