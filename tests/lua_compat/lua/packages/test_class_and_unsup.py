"""class: classes in plain Lua, and its test of types; unsup: what it computes."""

from pathlib import Path

from tests.helpers.commands import run_lua, run_th
from tests.helpers.places import GOLDEN

PACKAGES = GOLDEN / "packages"
ROUNDING = 1e-6  # of sums that are printed with nine digits


def test_what_unsup_printed() -> None:
    got = run_th(PACKAGES / "probe_unsup.lua")
    assert (got.returncode, got.stderr) == (0, "")
    expected = (PACKAGES / "unsup.txt").read_text().split()
    for word, wanted in zip(got.stdout.split(), expected, strict=True):
        assert word == wanted or abs(float(word) - float(wanted)) <= ROUNDING * max(1, abs(float(wanted)))


def test_what_unsup_refuses(tmp_path: Path) -> None:
    run_lua(
        tmp_path,
        """
        local unsup = require 'unsup'
        local function refuses(words, f, ...)
           local ok, problem = pcall(f, ...)
           assert(not ok and problem:find(words, 1, true), problem)
        end
        refuses('missing argument: centroids,count = unsup.kmeans', unsup.kmeans, torch.randn(3, 2))
        refuses('params.encoderType unknown " sigmoid', unsup.LinearPSD, 3, 4, 1, 1,
           { encoderType = 'sigmoid' })
        refuses('invP', unsup.zca_colour, torch.randn(3, 2), torch.zeros(2))
        refuses('has to implement normalize', function() unsup.UnsupModule():normalize() end)
        refuses('Lambda should be non-negative', function() torch.zeros(2):shrinkage(-1) end)
        """,
    )


def test_classes_and_their_types(tmp_path: Path) -> None:
    """With the values and errors that the original has."""
    run_lua(
        tmp_path,
        """
        local class, argcheck, ffi = require 'class', require 'argcheck', require 'ffi'
        local A = class('A')
        function A:__init(name) self.name = name end
        function A:greet() return 'A ' .. tostring(self.name) end
        local B, parent = class('B', 'A')
        function B:__init(name) A.__init(self, name) end
        local C = class{ name = 'C', parentname = 'B' }
        assert(parent == class.metatable('A') and getmetatable(A) == parent and next(A) == nil)
        local a, b, c = A('x'), B.new('y'), C('z')
        assert(a:greet() == 'A x' and b:greet() == 'A y' and c:greet() == 'A nil')
        assert(class.type(c) == 'C' and class.type(A) == 'A' and class.type(5) == 'number')
        assert(class.type(torch.Tensor()) == 'torch.DoubleTensor')
        assert(class.istype(c, 'A') and class.istype(c, 'C') and not class.istype(a, 'B'))
        assert(class.istype('s', 'string') and class.istype({}, 'table') and not class.istype(a, 'table'))
        A.shared = 3
        assert(b.shared == 3 and rawget(b, 'shared') == nil)
        assert(class.factory('A').name == nil)

        local takes_B = argcheck{ { name = 'x', type = 'B' }, call = function(x) return class.type(x) end }
        assert(takes_B(c) == 'C' and not pcall(takes_B, a))

        local size = ffi.typeof('struct { int x; }')
        class('OfSize', nil, size)
        assert(class.type(size()) == 'OfSize' and class.istype(size(), 'OfSize'))
        assert(class.type(1LL) == 'cdata')

        local function refuses(words, ...)
           local ok, problem = pcall(...)
           assert(not ok and problem:find(words, 1, true), problem)
        end
        refuses('class <A> already exists', class, 'A')
        refuses('parent class <nosuch> does not exist', class, 'D', 'nosuch')
        refuses('unknown class <nosuch>', class.factory, 'nosuch')
        refuses('already considered as <OfSize>', class, 'E', nil, size)
        refuses('invalid arguments!', class, 5)
        """,
    )
