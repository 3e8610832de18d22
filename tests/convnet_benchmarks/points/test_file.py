"""Files of points: what a kill leaves of them, and what is refused."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from convnet_benchmarks.errors import UserError
from convnet_benchmarks.points.file import SCHEMA, PointFile, is_point_file, latest, read_points
from convnet_benchmarks.points.point import Point

MACHINE = {"device": "a CPU", "torch": "2.4"}


def record(batch: int, status: str = "ok") -> dict[str, Any]:
    return {"kind": "point", "point": Point("n", batch).as_dict(), "machine": MACHINE, "status": status}


def write(path: Path, *batches: int) -> None:
    with PointFile("--points", str(path)) as file:
        for batch in batches:
            file.append(record(batch))


def batches(records: list[dict[str, Any]]) -> list[int]:
    return [entry["point"]["batch_size"] for entry in records]


def test_points_are_appended_and_read(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    write(path, 1, 2)
    write(path, 4)
    records = read_points(str(path))
    assert batches(records) == [1, 2, 4] and all(entry["schema"] == SCHEMA for entry in records)
    assert is_point_file(str(path))


def test_a_file_cut_anywhere_keeps_its_whole_lines(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    write(path, 1, 2, 4)
    content = path.read_bytes()
    for size in range(len(content) + 1):
        path.write_bytes(content[:size])
        whole = content[:size].count(b"\n")
        assert batches(read_points(str(path))) == [1, 2, 4][:whole]
        with PointFile("--points", str(path)) as file:
            assert batches(file.records) == [1, 2, 4][:whole]
            file.append(record(8))
        assert batches(read_points(str(path))) == [*[1, 2, 4][:whole], 8]


@pytest.mark.parametrize("content", ["not ours", "not ours\n", '{"schema": "other"}\n', "[1]\n", '{"sch_ma'])
def test_other_files_are_refused_and_left_alone(tmp_path: Path, content: str) -> None:
    path = tmp_path / "p.jsonl"
    path.write_text(content)
    for fresh in (False, True):
        with pytest.raises(UserError, match="line 1: not a measured point"):
            PointFile("--points", str(path), fresh=fresh)
    assert path.read_text() == content and not is_point_file(str(path))


def test_a_broken_line_is_named(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    write(path, 1, 2)
    lines = path.read_text().splitlines()
    path.write_text("\n".join([lines[0], lines[1][:-9], lines[1]]) + "\n")
    with pytest.raises(UserError, match="line 2"):
        read_points(str(path))


def test_the_last_record_of_a_point_counts(tmp_path: Path) -> None:
    records = [record(1, "failed"), record(2), record(1, "ok")]
    other = {**record(1), "machine": {"device": "another CPU", "torch": "2.4"}}
    found = latest([*records, other])
    assert [entry["status"] for entry in found.values()] == ["ok", "ok", "ok"]
    assert len(found) == 3


def test_fresh_begins_anew(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    write(path, 1, 2)
    with PointFile("--points", str(path), fresh=True) as file:
        assert file.records == []
    assert batches(read_points(str(path))) == [1, 2]  # until something has been measured
    with PointFile("--points", str(path), fresh=True) as file:
        file.append(record(4))
        file.append(record(8))
    assert batches(read_points(str(path))) == [4, 8]


def test_a_file_for_nothing_is_removed(tmp_path: Path) -> None:
    empty = tmp_path / "old.jsonl"
    empty.touch()
    for path in (empty, tmp_path / "new.jsonl"):
        with PointFile("--points", str(path)):
            assert path.exists()
    assert list(tmp_path.iterdir()) == [empty]


def test_two_runs_do_not_share_a_file(tmp_path: Path) -> None:
    path = str(tmp_path / "p.jsonl")
    with PointFile("--points", path), pytest.raises(UserError, match="another run is writing"):
        PointFile("--points", path)
    with PointFile("--points", path):
        pass


def test_places_that_cannot_be_written_are_named(tmp_path: Path) -> None:
    for path in (str(tmp_path), str(tmp_path / "none" / "p.jsonl"), os.devnull):
        with pytest.raises(UserError, match="option --points"):
            PointFile("--points", path)
    with pytest.raises(UserError, match="No such file"):
        read_points(str(tmp_path / "none.jsonl"))


def test_what_cannot_be_written_whole_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with PointFile("--points", str(tmp_path / "p.jsonl")) as file:
        monkeypatch.setattr(os, "write", lambda *_: 3)
        with pytest.raises(UserError, match="only 3 of"):
            file.append(record(1))


def test_no_number_that_json_lacks_is_written(tmp_path: Path) -> None:
    with PointFile("--points", str(tmp_path / "p.jsonl")) as file, pytest.raises(ValueError):
        file.append({**record(1), "seconds": float("nan")})
    assert not list(tmp_path.iterdir())


def test_a_label_is_in_every_line(tmp_path: Path) -> None:
    path = str(tmp_path / "points.jsonl")
    with PointFile("--points", path, label="branch") as file:
        file.append({"kind": "point", "status": "ok"})
    assert json.loads(Path(path).read_text())["label"] == "branch"
