"""loadcaffe: Caffe's networks as nn's, with the numbers that PyTorch computes for the same layers."""

from pathlib import Path

import pytest
import torch
import torch.nn.functional as F

from lua_compat import t7
from tests.helpers.caffe_files import PROTOTXT, field, fields, layer, little_net, random_weights
from tests.helpers.commands import run_lua, run_th


def expected(images: torch.Tensor, old: bool) -> torch.Tensor:
    """The net of little_net; a new file's ends before its softmax, as with loadcaffe."""
    w = {name: torch.from_numpy(each) for name, each in random_weights().items()}
    x = F.relu(F.conv2d(images, w["conv1"], w["conv1_b"], padding=1))
    x = F.max_pool2d(F.local_response_norm(x, 3, 0.0002, 0.75, 1.0), 3, 2, ceil_mode=True)
    x = torch.tanh(F.conv2d(x, w["conv2"], w["conv2_b"], padding=1))
    x = F.avg_pool2d(x, 2, 1)
    x = torch.sigmoid(F.linear(x.flatten(1), w["fc"], w["fc_b"]))
    return F.softmax(x, 1) if old else x


@pytest.mark.parametrize(
    ("backend", "old"),
    [
        ("nn", True),
        ("cudnn", False),
        *(
            pytest.param(*other, marks=pytest.mark.slow)
            for other in [("nn", False), ("nn-cpu", True), ("cudnn", True)]
        ),
    ],
)
def test_outputs(backend: str, old: bool, tmp_path: Path) -> None:
    (tmp_path / "net.prototxt").write_text(PROTOTXT)
    (tmp_path / "net.caffemodel").write_bytes(little_net(random_weights(), old))
    script = tmp_path / "load.lua"
    script.write_text("""
        torch.setdefaulttensortype 'torch.FloatTensor'
        require 'loadcaffe'
        torch.manualSeed(1)
        local net = loadcaffe.load('net.prototxt', 'net.caffemodel', arg[1])
        local images = torch.randn(2, 3, 8, 8)
        if arg[1] == 'cudnn' then
           images = images:cuda()
           assert(torch.type(net:get(1)) == 'cudnn.SpatialConvolution')
        end
        net:evaluate()
        local names = {}
        for i, module in ipairs(net.modules) do names[i] = module.name end
        torch.save('out.t7', { images = images:float(), output = net:forward(images):float(),
           names = table.concat(names, ' ') })
    """)
    result = run_th("--cpu-as-cuda", script, backend, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    lines = result.stdout.splitlines()
    assert "Successfully loaded net.caffemodel" in lines
    assert f"warning: module 'data [type {5 if old else 'Data'}]' not found" in lines
    assert [line for line in lines if line[:4] in ("conv", "fc: ")] == [
        "conv1: 4 3 3 3", "conv2: 6 4 3 3", "fc: 1 1 54 5"
    ]  # fmt: skip
    saved = t7.load(tmp_path / "out.t7")
    images, output = (torch.from_numpy(saved[key].numpy()) for key in ("images", "output"))
    names = "conv1 relu1 norm1 pool1 conv2 tanh2 pool2 drop torch_view fc sigmoid"
    assert saved["names"] == names + (" prob" if old else "")
    assert (output - expected(images, old)).abs().max() < 1e-6


def test_groups_need_cudnn(tmp_path: Path) -> None:
    weight = torch.randn(4, 1, 3, 3).numpy()
    model = layer("c", "Convolution", True, fields({4: 3, 5: 2}), (weight,))
    (tmp_path / "net.prototxt").write_text('name: "n"')
    (tmp_path / "net.caffemodel").write_bytes(model + field(1, "n"))
    run_lua(
        tmp_path,
        """
        require 'loadcaffe'
        local ok, problem = pcall(loadcaffe.load, arg[1], arg[2], 'nn')
        assert(not ok and problem:find("layer 'c' has 2 groups", 1, true), problem)
        assert(problem:find('use the backend cudnn', 1, true))
        ok, problem = pcall(loadcaffe.load, arg[1], arg[2], 'ccn2')
        assert(not ok and problem:find("backend 'ccn2': accepted are nn, nn-cpu and cudnn", 1, true), problem)
        ok, problem = pcall(loadcaffe.load, arg[1], arg[1])
        assert(not ok and problem:find('net.prototxt is not a caffemodel', 1, true), problem)
        """,
        str(tmp_path / "net.prototxt"),
        str(tmp_path / "net.caffemodel"),
    )
