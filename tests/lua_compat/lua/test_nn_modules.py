"""The modules of nn under our th: all classes of Torch7, their fields, files and types."""

from pathlib import Path

import pytest

from lua_compat import run, t7
from tests.helpers.commands import run_lua
from tests.helpers.lua_golden import differences
from tests.helpers.places import DATA, GOLDEN

HERE = Path(__file__).parent
CASES = t7.load(GOLDEN / "nn.t7").array()

# Methods of Torch7's classes that its own other methods are made of, and those of GPUs.
PRIVATE_METHODS = {
    "__assertInput", "__assertInputGradOutput", "_getActualPosition", "_lazyInit", "backCompatibility",
    "longTensor", "makeInputContiguous", "recursiveModuleDevice", "recursiveSetDevice", "setSize",
    "updateGradInput_efficient", "validateParameters",
}  # fmt: skip


def replay(folder: Path, type_name: str, modules: Path) -> list[t7.LuaTable]:
    out = folder / "results.t7"
    cases = GOLDEN / "nn.t7"
    assert (
        run(HERE / "replay_nn.lua", [str(cases), type_name, str(modules), str(out)], trust_functions=True)
        == 0
    )
    return t7.load(out).array()


def disagreements(results: list[t7.LuaTable], tolerance: float) -> list[str]:
    """What differs from the recorded outputs and gradients, with the case."""
    found = []
    for case, result in zip(CASES, results, strict=True):
        for key in ("output", "gradInput", "gradParams", "string"):
            if key in case or key in result:
                for difference in differences(case.get(key), result.get(key), tolerance):
                    found.append(f"{case['expr']} {key}{difference}")
    return found


def test_every_recorded_case_in_single_precision(tmp_path: Path) -> None:
    assert disagreements(replay(tmp_path, "torch.FloatTensor", tmp_path / "modules.t7"), 1e-5) == []


def test_modules_read_and_written_by_python_compute_what_they_computed(tmp_path: Path) -> None:
    modules = tmp_path / "modules.t7"
    first = replay(tmp_path, "torch.DoubleTensor", modules)
    saved = t7.load(modules)
    assert [module.typename for module in saved.array()] == [result["type"] for result in first]
    rewritten = tmp_path / "rewritten.t7"
    t7.save(rewritten, saved)
    assert rewritten.read_bytes() == modules.read_bytes()
    assert disagreements(replay(tmp_path, "torch.DoubleTensor", rewritten), 1e-9) == []


def parse(text: str) -> tuple[dict[str, str], dict[str, set[str]], dict[str, list[str]]]:
    """Each class's parent and version, its methods, and what a fresh module of each expression looks like."""
    classes, methods, fresh = {}, {}, {}
    for line in text.splitlines():
        word, _, rest = line.strip().partition(" ")
        if word == "class":
            name, _, description = rest.partition(" ")
            classes[name] = description
        elif word == "methods":
            methods[name] = set(rest.split())
        elif word == "fresh":
            expression, _, kind = rest.partition(" type ")
            lines = fresh[expression] = [kind]
        else:
            lines.append(line.strip())
    return classes, methods, fresh


@pytest.fixture(scope="module")
def described(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """What Torch7 and we say of nn's classes."""
    out = tmp_path_factory.mktemp("nn") / "classes.txt"
    constructors = DATA / "nn_constructors.lua"
    assert run(HERE / "probe_nn_classes.lua", [str(constructors), str(out)]) == 0
    return (DATA / "nn_classes.txt").read_text(), out.read_text()


def test_every_class_is_there(described: tuple[str, str]) -> None:
    recorded, ours = (parse(text)[0] for text in described)
    assert len(recorded) == 190
    assert {name: ours.get(name) for name in recorded} == recorded


def test_every_method_is_there(described: tuple[str, str]) -> None:
    recorded = parse(described[0])[1]
    classes, ours, _ = parse(described[1])

    def reachable(name: str) -> set[str]:
        parent = classes[name].split()[1].removeprefix("nn.")
        return ours[name] | (reachable(parent) if parent in classes else set())

    missing = {name: methods - reachable(name) - PRIVATE_METHODS for name, methods in recorded.items()}
    assert {name: methods for name, methods in missing.items() if methods} == {}


def test_fresh_modules_have_the_fields_and_the_text_of_torch7(described: tuple[str, str]) -> None:
    recorded, ours = (parse(text)[2] for text in described)
    for expression, lines in recorded.items():
        count = -1 if lines[-1] == "text ERROR" else None  # Torch7 fails to print it
        assert ours[expression][:count] == lines[:count], expression


def test_sizes_that_do_not_fit_give_no_message_of_pytorchs(tmp_path: Path) -> None:
    """What Torch7 says, or which layer got which tensors."""
    code = """
        require 'nn'
        local function refused(text, module, x)
           local ok, message = pcall(module.forward, module, x)
           assert(not ok and message:find(text, 1, true), message)
        end
        local x = torch.ones(2, 1, 5)
        refused('input image smaller than kernel size', nn.SpatialSubSampling(2, 2, 2), x)
        refused('Need input of dimension 3 and input.size[0] == 3', nn.SpatialFullConvolution(3, 1, 2, 2), x)
        refused('Calculated output size: (2x0x2)', nn.SpatialDilatedMaxPooling(2, 2), x)
        refused('Wrong number of input planes. Expected 3 but got 1.', nn.PReLU(3), x)
        refused('Wrong size for view. Input size: 4. Output size: 3x1', nn.Euclidean(3, 2), torch.ones(4))
    """
    run_lua(tmp_path, code)


def test_gradients_that_use_values_of_the_forward_pass(tmp_path: Path) -> None:
    """As under Torch7: an input that has changed since does not matter."""
    code = """
        require 'nn'
        torch.manualSeed(1)
        local x, g = torch.randn(2, 3):mul(3), torch.randn(2, 3)
        local shrink = nn.TanhShrink()
        shrink:forward(x)
        local slope = torch.add(g, -1, torch.cmul(g, torch.tanh(x):pow(2):mul(-1):add(1)))
        assert(shrink:updateGradInput(x * 2, g):equal(slope))
        local weights, y = torch.rand(3), torch.randn(2, 3):gt(0):double()
        local loss = nn.MultiLabelSoftMarginCriterion(weights)
        loss:forward(x, y)
        local expected = (torch.sigmoid(x) - y):cmul(weights:view(1, 3):expand(2, 3)) / 6
        assert((loss:updateGradInput(x * 2, y) - expected):abs():max() < 1e-15)
        assert(not pcall(nn.TanhShrink().updateGradInput, nn.TanhShrink(), x, g))
    """
    run_lua(tmp_path, code)


def test_adaptive_averages_are_rounded_at_each_step(tmp_path: Path) -> None:
    """Sums of floats are floats, and divided by the window's width first, as Torch7's."""
    code = """
        require 'nn'
        torch.manualSeed(1)
        local cell = torch.FloatTensor(1)
        local function rounded(number)
           cell[1] = number
           return cell[1]
        end
        local x = torch.randn(5, 7, 9):float()
        local y = nn.SpatialAdaptiveAveragePooling(4, 3):float():forward(x)
        for plane = 1, 5 do
           for i = 0, 2 do
              for j = 0, 3 do
                 local top, bottom = math.floor(i * 7 / 3), math.ceil((i + 1) * 7 / 3)
                 local left, right, sum = math.floor(j * 9 / 4), math.ceil((j + 1) * 9 / 4), 0
                 for row = top + 1, bottom do
                    for column = left + 1, right do sum = rounded(sum + x[plane][row][column]) end
                 end
                 assert(y[plane][i + 1][j + 1] == rounded(rounded(sum / (right - left)) / (bottom - top)))
              end
           end
        end
    """
    run_lua(tmp_path, code)


def test_places_of_maxima(tmp_path: Path) -> None:
    """indices lie in LongTensors, whatever the module's type; those of adaptive pooling in their windows."""
    code = """
        require 'nn'
        local x = torch.FloatTensor(1, 1, 13):copy(torch.range(1, 13))
        local adaptive = nn.SpatialAdaptiveMaxPooling(13, 1):float()
        -- windows of single precision: some of them reach one element further
        assert(adaptive:forward(x)[1][1][7] == 8 and adaptive.indices[2][1][1][7] == 2)
        assert(adaptive:backward(x, x:clone():fill(1)):sum() == 13)
        local temporal = nn.TemporalMaxPooling(2):float()
        temporal:forward(x[1]:t())
        assert(temporal.indices:sum() == 6) -- from 0: the second of each window
        for _, module in ipairs{ adaptive, temporal, nn.SpatialDilatedMaxPooling(1, 1):float() } do
           module:forward(torch.type(module):find('Temporal') and x[1]:t() or x)
           assert(torch.type(module.indices) == 'torch.LongTensor')
           module:clearState()
           assert(module.indices:dim() == 0)
        end
    """
    run_lua(tmp_path, code)
