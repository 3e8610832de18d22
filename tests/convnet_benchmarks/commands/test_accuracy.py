"""``accuracy``: digits, image folders, weights in every format, answers compared example by example."""

import contextlib
import io
import json
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from convnet_benchmarks.cli import main
from convnet_benchmarks.commands.accuracy import digits, image_folder
from convnet_benchmarks.commands.accuracy.agreement import answer, compare
from convnet_benchmarks.commands.accuracy.examples import Examples, check_labels
from convnet_benchmarks.commands.accuracy.image_folder import Preprocessing
from convnet_benchmarks.errors import UserError
from convnet_benchmarks.nets import registry
from convnet_benchmarks.options.nets import find_net
from convnet_benchmarks.progress import Progress
from convnet_benchmarks.workload import variants
from tests.helpers.commands import run_python

COMMAND = ("-m", "convnet_benchmarks", "accuracy", "--threads", "1")
# A folder with the trained net's file, what the command said, and what it wrote.
Trained = tuple[Path, str, dict[str, Any]]


def run_here(*arguments: str) -> str:
    """The command in this process, which has PyTorch loaded; its stdout."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        assert main(["accuracy", "--threads", "1", *arguments]) == 0
    return said.getvalue()


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """A folder with the trained net's file, and what the command said and wrote."""
    pytest.importorskip("sklearn")
    folder = tmp_path_factory.mktemp("digits")
    result = folder / "accuracy.json"
    options = (
        "--backends",
        "no-onednn,stock,mm",
        "--save",
        str(folder / "net.safetensors"),
        "--json",
        str(result),
    )
    stdout = run_here("--epochs", "6", *options)  # half of what the command does by itself
    return folder, stdout, json.loads(result.read_text())


def test_digits_are_learnt_to_97_percent_and_all_backends_agree(trained: Trained) -> None:
    _, stdout, result = trained
    assert result["examples"] == 360 and result["parameters"] == 33660
    for backend in result["backends"]:
        assert backend["top1"] > 0.97 and backend["top5"] >= backend["top1"]
        assert backend["largest_difference"] < 1e-4 * backend["largest_output"]
        assert abs(backend["top1"] - result["backends"][0]["top1"]) <= len(backend["differing"]) / 360
    heading = stdout.splitlines()[1]
    for column in ("Alias", "Network", "# Parameters", "no-onednn top1", "stock top5", "delta mm top1"):
        assert column in heading


@pytest.mark.parametrize("suffix", [".safetensors", ".t7"])
def test_weights_in_every_format_give_the_same_answers(trained: Trained, tmp_path: Path, suffix: str) -> None:
    folder, _, before = trained
    if suffix == ".safetensors":
        pytest.importorskip("safetensors")
    converted, result = str(tmp_path / f"net{suffix}"), tmp_path / "accuracy.json"
    options = ("--backends", "no-onednn", "--json", str(result))
    run_here("--weights", str(folder / "net.safetensors"), "--save", converted, "--limit", "1", *options)
    run_here("--weights", converted, *options)
    (backend,) = json.loads(result.read_text())["backends"]
    assert backend["top1"] == before["backends"][0]["top1"]
    assert backend["largest_output"] == pytest.approx(before["backends"][0]["largest_output"], rel=1e-5)


def test_the_same_seed_trains_the_same_net() -> None:
    pytest.importorskip("sklearn")
    net = find_net({"net": "recognize_digits", "input_size": None})
    training, _ = digits.load(net.input_size, seed=3)
    states = []
    for _ in range(2):
        module = registry.build(net, 3)
        digits.train(module, training, epochs=1, seed=3, progress=Progress(1))
        states.append(module.state_dict())
    assert all(torch.equal(states[0][name], states[1][name]) for name in states[0])


def test_held_out_digits_are_not_trained_on() -> None:
    pytest.importorskip("sklearn")
    training, held_out = digits.load((1, 8, 8), seed=1)
    assert len(training) == 1437 and len(held_out) == 360
    assert not set(training.names) & set(held_out.names)
    assert {held_out.labels.count(digit) for digit in range(10)} <= {34, 35, 36, 37}


def test_answers_are_compared_example_by_example() -> None:
    reference = torch.tensor([[9.0, 1, 0, 0, 0, 0, 0], [0, 5, 4, 3, 2, 1, 6], [3, 2, 0, 0, 0, 0, 0]])
    other = reference.clone()
    other[0, 1] = 9.5
    first, second = compare([("a", reference), ("b", other)], [0, 0, 1])
    assert first.top1 == pytest.approx(1 / 3) and first.differing == () and first.largest_difference == 0
    assert second.differing == (0,) and second.largest_difference == 8.5 and second.top1 == 0
    assert first.top5 == pytest.approx(2 / 3)  # the second example's label is the lowest of its seven
    assert second.largest_output == 9


def test_an_interrupted_backend_is_compared_on_what_it_answered() -> None:
    outputs = torch.eye(4)
    first, second = compare([("a", outputs), ("b", outputs[:2])], [0, 1, 0, 0])
    assert first.top1 == second.top1 == 1


def test_ctrl_c_in_the_second_backend_keeps_what_was_answered(
    trained: Trained, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    from convnet_benchmarks.commands.accuracy import study

    def answer(
        variant: Any,
        module: nn.Module,
        examples: Any,
        batch_size: int,
        device: Any,
        progress: Any,
        answers: Any,
    ) -> None:
        answers.append(torch.eye(10)[examples.labels[:40]])
        if variant.name == "mm":
            raise KeyboardInterrupt

    monkeypatch.setattr(study, "answer", answer)
    folder, _, _ = trained
    path = tmp_path / "accuracy.json"
    options = (
        "--weights",
        str(folder / "net.safetensors"),
        "--backends",
        "stock,mm,fft",
        "--json",
        str(path),
    )
    assert main(["accuracy", *options]) == 130
    assert "40 examples, interrupted" in capsys.readouterr().out
    result = json.loads(path.read_text())
    assert result["status"] == "interrupted"
    assert [backend["name"] for backend in result["backends"]] == ["stock", "mm"]


@pytest.fixture
def images(tmp_path: Path) -> Path:
    """Two classes, b before a in the order of the outputs: b is white, a is black."""
    image = pytest.importorskip("PIL.Image")
    for name, grey in (("a", 0), ("b", 255)):
        (tmp_path / name).mkdir()
        for number in range(2):
            image.new("L", (40, 30 + number), grey).save(tmp_path / name / f"{number}.png")
    (tmp_path / "classes.txt").write_text("b white things\na black things\n")
    return tmp_path


GREY = Preprocessing(32, (28, 28), [0.5], [0.5])


def test_class_folders(images: Path) -> None:
    found = image_folder.load(str(images), None, None, GREY)
    assert found.names == ["a/0.png", "a/1.png", "b/0.png", "b/1.png"] and found.labels == [0, 0, 1, 1]
    assert found.image(0).shape == (1, 28, 28)
    assert (found.image(0) == -1).all() and (found.image(3) == 1).all()
    named = image_folder.load(str(images), None, str(images / "classes.txt"), GREY)
    assert named.labels == [1, 1, 0, 0]


def test_a_file_of_labels(images: Path) -> None:
    labels = images / "val.txt"
    labels.write_text("b/0.png 7\na/1.png a\n")
    found = image_folder.load(str(images), str(labels), str(images / "classes.txt"), GREY)
    assert found.names == ["b/0.png", "a/1.png"] and found.labels == [7, 1]


def test_preprocessing_scales_crops_the_centre_and_standardises(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    picture = image.new("RGB", (60, 20), (0, 0, 0))
    picture.paste((255, 0, 51), (25, 5, 35, 15))  # the centre
    picture.save(tmp_path / "p.png")
    found = Preprocessing(20, (4, 6), [0.0, 0.5, 0.2], [1.0, 0.5, 0.1])(tmp_path / "p.png")
    assert found.shape == (3, 4, 6)
    assert torch.allclose(found, torch.tensor([1.0, -1.0, 0.0]).view(3, 1, 1).expand(3, 4, 6), atol=1e-6)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ("a/0.png", "is not an image's name and a label"),
        ("c/0.png 1", "there is no image"),
        ("a/0.png cat", "--classes must say"),
        ("", "is empty"),
    ],
)
def test_bad_label_files(images: Path, labels: str, message: str) -> None:
    (images / "labels.txt").write_text(labels)
    with pytest.raises(UserError, match=message):
        image_folder.load(str(images), str(images / "labels.txt"), None, GREY)


def test_a_broken_image_and_a_label_without_an_output(images: Path) -> None:
    (images / "a" / "0.png").write_bytes(b"not a picture")
    found = image_folder.load(str(images), None, None, GREY)
    with pytest.raises(UserError, match=r"a/0\.png: not an image"):
        found.image(0)
    with pytest.raises(UserError, match="label 1, but the net has outputs 0 to 0"):
        check_labels(found, 1)


def test_the_command_on_an_image_folder(images: Path, trained: Trained, tmp_path: Path) -> None:
    result = tmp_path / "accuracy.json"
    folder, _, _ = trained
    run_here(
        *("--images", str(images), "--weights", str(folder / "net.safetensors"), "--backends", "stock"),
        *("--json", str(result), "--limit", "3", "--batch-size", "2"),
    )
    assert json.loads(result.read_text())["examples"] == 3


def garbage(folder: Path, suffix: str) -> str:
    path = folder / f"garbage{suffix}"
    path.write_bytes(b"garbage" * 20)
    return str(path)


def test_a_net_that_cannot_be_copied_is_one_line() -> None:
    examples = Examples(["one"], [0], lambda position: torch.zeros(3, 4, 4))
    where = "option --backends: stock on 2 images of 3x4x4: Attempted to use an uninitialized parameter"
    with pytest.raises(UserError, match=where):
        answer(
            variants.find("stock", "float32", "--backends"),
            nn.LazyBatchNorm2d(),
            examples,
            2,
            torch.device("cpu"),
            Progress(1),
            [],
        )


def test_a_batch_that_is_out_of_memory_is_one_line(
    trained: Trained, capsys: pytest.CaptureFixture[str]
) -> None:
    weights = str(trained[0] / "net.safetensors")
    assert main(["accuracy", "--weights", weights, "--batch-size", str(10**13)]) == 3
    (line,) = capsys.readouterr().err.splitlines()
    assert line.endswith("option --backends: no-onednn on 10000000000000 images of 1x28x28: out of memory")


@pytest.mark.parametrize("suffix", [".pt", ".safetensors", ".t7", ".bin"])
def test_weights_that_are_none(capsys: pytest.CaptureFixture[str], tmp_path: Path, suffix: str) -> None:
    assert main(["accuracy", "--weights", garbage(tmp_path, suffix)]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and f"garbage{suffix}" in said


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--net", "alexnet_owt"), "does not take grey digits"),
        (("--crop", "20"), "--crop: needs --images"),
        (("--images", "/nowhere"), "--images: needs --weights"),
        (("--images", "/nowhere", "--weights", "w.pt"), "there is no folder '/nowhere'"),
        (("--backends", "mkl"), "--backends: unknown backend 'mkl'; accepted: stock"),
        (("--backends", "stock:int8"), "unknown number format 'int8'"),
        (("--backends", "stock+OMP_PROC_BIND=true"), "variables are for the command backends"),
        (("--save", "net.onnx"), "option --save: 'net.onnx' must end in"),
        (("--get", "net"), "option --get: needs --weights"),
        (("--save", "net.pt", "--json", "net.pt"), "'net.pt' is also the file of option --json"),
        (("--weights", "w.pt", "--csv", "./w.pt"), "'./w.pt' is also the file of option --weights; give"),
        (("--weights", "/"), "/: a state_dict must end in .pt, .pth, .safetensors"),
        (("--mean", "a"), "--mean"),
    ],
)
def test_bad_options_are_one_line(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], message: str
) -> None:
    assert main(["accuracy", *arguments]) == 2
    said = capsys.readouterr().err
    assert message in said and said.count("\n") == 1


@pytest.mark.parametrize(("package", "arguments"), [("sklearn", ()), ("PIL", ("--images", "."))])
def test_a_missing_package_is_one_line(tmp_path: Path, package: str, arguments: tuple[str, ...]) -> None:
    (tmp_path / package).mkdir()
    (tmp_path / package / "__init__.py").write_text("raise ImportError('not here')\n")
    weights = ("--weights", "w.pt") if arguments else ()
    done = run_python(*COMMAND, *arguments, *weights, environment={"PYTHONPATH": str(tmp_path)})
    assert done.returncode == 2 and "pip install" in done.stderr and done.stderr.count("\n") == 1
