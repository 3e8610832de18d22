"""cudnn's recurrent layers against torch.nn's with the same parameters."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence

from lua_compat import t7
from lua_compat.kernels.nn.recurrent import recurrent, recurrent_gradient
from lua_compat.runtime.state import Runtime

LAYERS: dict[str, tuple[type[nn.RNNBase], dict[str, Any]]] = {
    "RNNReLU": (nn.RNN, {"nonlinearity": "relu"}),
    "RNNTanh": (nn.RNN, {"nonlinearity": "tanh"}),
    "LSTM": (nn.LSTM, {}),
    "GRU": (nn.GRU, {}),
    "BLSTM": (nn.LSTM, {"bidirectional": True}),
    "BGRU": (nn.GRU, {"bidirectional": True}),
}


@pytest.fixture(scope="module")
def runtime() -> Runtime:
    opened = Runtime(cpu_as_cuda=True)
    opened.run_string("require 'cunn' require 'cudnn'")
    return opened


def in_cudnn_order(module: nn.RNNBase) -> list[nn.Parameter]:
    """All matrices, then all biases; of each layer and direction first the input's, then the state's."""
    named = list(module.named_parameters())
    return [p for n, p in named if n.startswith("weight")] + [p for n, p in named if n.startswith("bias")]


def fill(module: nn.RNNBase, vector: Tensor) -> None:
    parameters = in_cudnn_order(module)
    assert vector.numel() == sum(p.numel() for p in parameters)
    with torch.no_grad():
        for p, piece in zip(parameters, vector.split([p.numel() for p in parameters]), strict=True):
            p.copy_(piece.view_as(p))


def gradients_of(module: nn.RNNBase) -> Tensor:
    return torch.cat([p.grad.flatten() for p in in_cudnn_order(module) if p.grad is not None])


def run_in_lua(runtime: Runtime, folder: Path, code: str) -> dict[str, Tensor]:
    """``code`` returns a table of tensors."""
    path = folder / "tensors.t7"
    runtime.run_string(
        f"local all = (function() {code} end)() for k, v in pairs(all) do all[k] = v:float() end "
        f"torch.save('{path}', all)"
    )
    return {key: torch.from_numpy(value.numpy().copy()) for key, value in t7.load(path).items()}


@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_computes_what_torch_nn_s_does(
    runtime: Runtime, tmp_path: Path, name: str, batch_first: bool
) -> None:
    got = run_in_lua(
        runtime,
        tmp_path,
        f"""
        local m = cudnn.{name}(3, 4, 2, {str(batch_first).lower()})
        local x = torch.randn(5, 6, 3):cuda()
        local batch = {5 if batch_first else 6}
        local function state() return torch.randn(2 * m.numDirections, batch, 4):cuda() end
        m.hiddenInput, m.cellInput, m.gradHiddenOutput, m.gradCellOutput = state(), state(), state(), state()
        local y = m:forward(x)
        local g = torch.randn(y:size()):cuda()
        m.gradWeight:fill(1)
        m:backward(x, g, 0.5)
        return {{ weight = m.weight, x = x, h = m.hiddenInput, c = m.cellInput, y = y, g = g,
           gh = m.gradHiddenOutput, gc = m.gradCellOutput, hy = m.hiddenOutput, cy = m.cellOutput,
           gx = m.gradInput, ghx = m.gradHiddenInput, gcx = m.gradCellInput, gw = m.gradWeight }}""",
    )
    kind: Any
    kind, options = LAYERS[name]
    module = kind(3, 4, 2, batch_first=batch_first, **options)
    fill(module, got["weight"])
    x, h, c = (got[key].requires_grad_() for key in "xhc")
    outputs = module(x, (h, c) if kind is nn.LSTM else h)
    states = outputs[1] if kind is nn.LSTM else [outputs[1]]
    given = [got["g"], got["gh"], got["gc"]][: 1 + len(states)]
    torch.autograd.backward([outputs[0], *states], given)
    torch.testing.assert_close(got["y"], outputs[0].detach())
    torch.testing.assert_close(got["hy"], states[0].detach())
    torch.testing.assert_close(got["gx"], x.grad)
    torch.testing.assert_close(got["ghx"], h.grad)
    torch.testing.assert_close(got["gw"], 1 + 0.5 * gradients_of(module))
    if kind is nn.LSTM:
        torch.testing.assert_close(got["cy"], states[1].detach())
        torch.testing.assert_close(got["gcx"], c.grad)


@pytest.mark.parametrize("name", ["RNNReLU", "LSTM", "BGRU"])
def test_an_input_can_skip_the_matrix_of_the_first_layer(runtime: Runtime, tmp_path: Path, name: str) -> None:
    """As if that matrix were the identity, for each gate."""
    got = run_in_lua(
        runtime,
        tmp_path,
        f"""
        local m = cudnn.{name}(4, 4, 2)
        m.inputMode = 'CUDNN_SKIP_INPUT'
        m:reset()
        assert(m:weights()[1][1]:dim() == 0 and #m:biases() == 2 * m.numDirections)
        local x = torch.randn(5, 6, 4):cuda()
        local y = m:forward(x)
        m:backward(x, y)
        return {{ weight = m.weight, state = m:weights()[1][m.linearLayers[m.mode] / 2 + 1], x = x, y = y,
           gx = m.gradInput, gw = m.gradWeight }}""",
    )
    kind: Any
    kind, options = LAYERS[name]
    module = kind(4, 4, 2, **options)
    identity = torch.eye(4).repeat(module.weight_ih_l0.shape[0] // 4, 1)
    parameters = in_cudnn_order(module)
    skipped = {id(p) for n, p in module.named_parameters() if n.startswith("weight_ih_l0")}
    kept = [p for p in parameters if id(p) not in skipped]
    with torch.no_grad():
        for p in parameters:
            p.copy_(identity if id(p) in skipped else p)
        pieces = got["weight"].split([p.numel() for p in kept])
        for p, piece in zip(kept, pieces, strict=True):
            p.copy_(piece.view_as(p))
    torch.testing.assert_close(got["state"], module.weight_hh_l0[:4].flatten().detach())
    x = got["x"].requires_grad_()
    y = module(x)[0]
    y.backward(y.detach())
    torch.testing.assert_close(got["y"], y.detach())
    torch.testing.assert_close(got["gx"], x.grad)
    torch.testing.assert_close(got["gw"], torch.cat([p.grad.flatten() for p in kept if p.grad is not None]))


def test_packed_sequences_of_different_lengths(runtime: Runtime, tmp_path: Path) -> None:
    got = run_in_lua(
        runtime,
        tmp_path,
        """
        local m, x = cudnn.BGRU(3, 4, 2), torch.randn(5, 3, 3):cuda()
        local packed = m:packPaddedSequence(x, { 5, 2, 1 })
        local y = m:forward(packed)
        m:backward(packed, y)
        local padded, lengths = m:padPackedSequence{ y, packed[2] }
        return { weight = m.weight, x = x, packed = packed[1], batches = torch.Tensor(packed[2]), y = y,
           hy = m.hiddenOutput, gx = m.gradInput, gw = m.gradWeight, padded = padded,
           lengths = torch.Tensor(lengths) }
        """,
    )
    module = nn.GRU(3, 4, 2, bidirectional=True)
    fill(module, got["weight"])
    packed = pack_padded_sequence(got["x"], torch.tensor([5, 2, 1]))
    data = packed.data.requires_grad_()
    y, hy = module(packed._replace(data=data))
    y.data.backward(y.data.detach())
    torch.testing.assert_close(got["packed"], data.detach())
    assert got["batches"].tolist() == packed.batch_sizes.tolist()
    torch.testing.assert_close(got["y"], y.data.detach())
    torch.testing.assert_close(got["hy"], hy.detach())
    torch.testing.assert_close(got["gx"], data.grad)
    torch.testing.assert_close(got["gw"], gradients_of(module))
    padded, lengths = nn.utils.rnn.pad_packed_sequence(y)
    torch.testing.assert_close(got["padded"], padded.detach())
    assert got["lengths"].tolist() == lengths.tolist()


def test_dropout_multiplies_what_goes_from_layer_to_layer() -> None:
    """With the masks given, two layers are two modules and a product between them."""
    first, second = nn.LSTM(3, 4), nn.LSTM(4, 4)
    groups = [in_cudnn_order(module) for module in (first, second)]
    vector = torch.cat([p.detach().flatten() for half in (0, 2) for g in groups for p in g[half : half + 2]])
    x, masks, grad = torch.randn(5, 2, 3), torch.randn(1, 5, 2, 4), torch.randn(5, 2, 4)
    out, hidden, cell, grad_x, grad_h, grad_c = (torch.empty(0) for _ in range(6))
    grad_vector = torch.zeros_like(vector)
    options = ("CUDNN_LSTM", 4, 2, 1, False)
    recurrent(out, hidden, cell, x, vector, None, None, masks, *options)
    recurrent_gradient(
        grad_x,
        grad_h,
        grad_c,
        x,
        vector,
        None,
        None,
        masks,
        grad,
        None,
        None,
        grad_vector,
        1.0,
        True,
        *options,
    )
    leaf = x.clone().requires_grad_()
    between, (h1, c1) = first(leaf)
    expected, (h2, c2) = second(between * masks[0])
    expected.backward(grad)
    torch.testing.assert_close(out, expected.detach())
    torch.testing.assert_close(hidden, torch.cat([h1, h2]).detach())
    torch.testing.assert_close(cell, torch.cat([c1, c2]).detach())
    torch.testing.assert_close(grad_x, leaf.grad)
    grads = [[p.grad.flatten() for p in g if p.grad is not None] for g in groups]
    torch.testing.assert_close(
        grad_vector, torch.cat([t for half in (0, 2) for g in grads for t in g[half : half + 2]])
    )


def test_dropout_is_drawn_in_training_only_and_kept_for_the_gradient(runtime: Runtime) -> None:
    runtime.run_string("""
        torch.manualSeed(1)
        local m, x = cudnn.LSTM(3, 40, 3, false, 0.25), torch.randn(7, 5, 3):cuda()
        local y = m:forward(x):clone()
        assert(m.reserve:eq(0):sum() + m.reserve:eq(1 / 0.75):sum() == m.reserve:nElement())
        assert(math.abs(m.reserve:eq(0):double():mean() - 0.25) < 0.05)
        local g = torch.randn(y:size()):cuda()
        local a, b = m:updateGradInput(x, g):clone(), m:updateGradInput(x, g)
        assert(a:equal(b), 'other masks')
        assert(not m:forward(x):equal(y), 'the same masks')
        m:evaluate()
        assert(m:forward(x):clone():equal(m:forward(x)))
        assert(not pcall(m.updateGradInput, m, x, g))
    """)


def test_states_are_remembered_until_they_are_reset(runtime: Runtime) -> None:
    """A sequence in two parts gives what it gives whole."""
    runtime.run_string("""
        local m = cudnn.LSTM(3, 4, 2, false, 0, true)
        local x = torch.randn(6, 2, 3):cuda()
        local whole = m:forward(x):clone()
        m:resetStates()
        m:forward(x:narrow(1, 1, 2))
        local rest = m:forward(x:narrow(1, 3, 4))
        assert((whole:narrow(1, 3, 4) - rest):abs():max() < 1e-6)
    """)


def test_matrices_and_biases_are_views_of_the_vector(runtime: Runtime) -> None:
    runtime.run_string("""
        local m, sum = cudnn.BLSTM(3, 4, 2), 0
        local weights, biases = m:weights(), m:biases()
        assert(#weights == 4 and #weights[1] == 8 and #biases == 4 and #biases[4] == 8)
        for layer = 1, 4 do
           for i = 1, 8 do
              sum = sum + weights[layer][i]:nElement() + biases[layer][i]:nElement()
              weights[layer][i]:fill(1)
              biases[layer][i]:fill(2)
           end
        end
        assert(weights[1][1]:nElement() == 12 and weights[1][5]:nElement() == 16)
        assert(weights[3][1]:nElement() == 32 and sum == m.weight:nElement())
        local matrices = 4 * 2 * (3 * 4 + 16) + 4 * 2 * (8 * 4 + 16)
        assert(m.weight:narrow(1, 1, matrices):eq(1):min() == 1)
        assert(m.weight:narrow(1, matrices + 1, sum - matrices):eq(2):min() == 1)
    """)


def test_in_a_net_as_any_other_layer(runtime: Runtime, tmp_path: Path) -> None:
    runtime.run_string(f"""
        local net = nn.Sequential():add(cudnn.GRU(3, 4, 1, true)):add(nn.Select(2, -1)):add(nn.Linear(4, 2))
        net:cuda()
        local parameters, gradients = net:getParameters()
        assert(parameters:nElement() == 3 * 4 * 3 + 3 * 4 * 4 + 2 * 3 * 4 + 10)
        local x = torch.randn(2, 5, 3):cuda()
        gradients:zero()
        net:backward(x, net:forward(x))
        assert(net:get(1).gradWeight:norm() > 0)
        torch.save('{tmp_path}/net.t7', net)
        local back = torch.load('{tmp_path}/net.t7')
        assert(back:forward(x):equal(net.output) and torch.type(back:get(1)) == 'cudnn.GRU')
        net:clearState()
        assert(net:get(1).output:nElement() == 0 and net:forward(x):nElement() == 4)
    """)


def test_what_does_not_fit_is_said(runtime: Runtime) -> None:
    for code, message in {
        "cudnn.LSTM(3, 4, 1):forward(torch.randn(5, 2, 2):cuda())": "Incorrect input size!",
        "cudnn.LSTM(3, 4, 1):forward(torch.randn(5, 3):cuda())": "input must have 3 dimensions",
        "cudnn.LSTM(3, 4, 1):forward(torch.randn(5, 2, 3))": "CUDA tensors only",
        "local m = cudnn.GRU(3, 4, 1) m.hiddenInput = torch.CudaTensor(1, 2, 4) m:forward(x)":
            "hiddenInput has incorrect number of minibatches",
        "cudnn.RNN:packPaddedSequence(torch.CudaTensor(3, 2, 1), { 1, 2 })": "sorted in decreasing order",
        "local m = cudnn.RNN(3, 4, 1) m.mode = 'CUDNN_CAR' m:reset()": "unknown recurrent mode CUDNN_CAR",
    }.items():  # fmt: skip
        runtime.run_string(f"""
            local x = torch.CudaTensor(5, 3, 3)
            local fine, message = pcall(function() {code} end)
            assert(not fine and message:find({message!r}, 1, true), tostring(message))
        """)
