"""argcheck: arguments in order, by name and after self, defaults, overloading, texts."""

from pathlib import Path

from tests.helpers.commands import run_lua


def test_arguments_in_order_by_name_and_with_defaults(tmp_path: Path) -> None:
    run_lua(
        tmp_path,
        """
        local argcheck = require 'argcheck'
        local calls = 0
        local check = argcheck{
           { name = 'x', type = 'number', check = function(x) return x > 0 end },
           { name = 'y', type = 'number', defaulta = 'x' },
           { name = 'flag', type = 'boolean', default = false },
           { name = 'id', type = 'string', defaultf = function() calls = calls + 1 return 'id' .. calls end },
           { name = 't', type = 'torch.*Tensor', opt = true },
        }
        local function same(wanted, ...)
           local got = { ... }
           assert(select('#', ...) == 5, select('#', ...))
           for place = 1, 5 do assert(got[place] == wanted[place], place) end
        end
        same({ 1, 1, false, 'id1' }, check(1))
        same({ 1, 2, true, 'a' }, check(1, 2, true, 'a'))
        -- false is no default of a nil that is passed
        same({ 1, 1, nil, 'id2' }, check(1, nil, nil, nil, nil))
        local t = torch.LongTensor(2)
        same({ 1, 1, false, 'id3', t }, check(1, t))
        same({ 3, 4, true, 'id4' }, check{ x = 3, y = 4, flag = true })
        assert(not pcall(check, 0) and not pcall(check) and not pcall(check, 1, 2, 3))
        assert(not pcall(check, { x = 1, z = 2 }) and not pcall(check, 1, torch.LongStorage(2)))
        """,
    )


def test_self_overloading_and_the_ways_to_answer(tmp_path: Path) -> None:
    run_lua(
        tmp_path,
        """
        local argcheck = require 'argcheck'
        local object = setmetatable({}, { __typename = 'mine' })
        require('argcheck.env').istype = function(value, name)
           return type(value) == name or value == object and name == 'mine'
        end
        local rules = { pack = true, { name = 'self', type = 'mine' }, { name = 'n', type = 'number' } }
        local packed = argcheck(rules)
        local all = packed(object, 7)
        local self, arguments = packed(object, { n = 7 })
        assert(all.self == object and all.n == 7 and self == object and arguments.n == 7)
        local f = argcheck{ { name = 's', type = 'string' }, call = function(s) return 'text ' .. s end }
        f = argcheck{ overload = f, { name = 'n', type = 'number' }, call = function(n) return n + 1 end }
        assert(f('a') == 'text a' and f(1) == 2 and f{ n = 2 } == 3)
        local ok, problem = pcall(argcheck, { overload = f, { name = 'm', type = 'number' } })
        assert(not ok and problem:find('argcheck rules led to ambiguous situations'), problem)
        ok, problem = pcall(argcheck, { overload = print })
        assert(not ok and problem:find('trying to overload a non-argcheck function', 1, true))
        local quiet = argcheck{ quiet = true, { name = 'n', type = 'number' } }
        local good, value = quiet(5)
        local bad, text = quiet('x')
        assert(good == true and value == 5 and bad == false and text:find('*Got:* **string**', 1, true))
        ok, problem = pcall(argcheck, { { name = 'a', type = 'number', defaulta = 'b' } })
        assert(not ok and problem:find('invalid defaulta name <b>', 1, true))
        """,
    )


# What argcheck gives on Torch7
USAGE = """

*Arguments:*
```
({
   size  = number   -- the size
  [name  = string]  -- a name [default=x]
  [other = number]  --  [defaulta=size]
})
```
*Got:* **table**={ **size=torch.DoubleTensor** }

invalid arguments!"""


def test_the_texts_are_argchecks(tmp_path: Path) -> None:
    run_lua(
        tmp_path,
        f"""
        local argcheck, doc = require 'argcheck', require 'argcheck.doc'
        local rules = {{
           {{ name = 'size', type = 'number', help = 'the size' }},
           {{ name = 'name', type = 'string', default = 'x', doc = 'a name' }},
           {{ name = 'other', type = 'number', defaulta = 'size' }},
        }}
        local ok, problem = pcall(argcheck(rules), {{ size = torch.ones(1) }})
        local wanted = [==[{USAGE}]==]
        problem = problem:gsub('^.-:%d+: ', '')
        assert(not ok and problem == wanted, problem)
        doc.record()
        rules.help = 'f(@ARGP)'
        argcheck(rules)
        assert(doc.stop() == 'f(size[, name], other)')
        assert(select(2, argcheck{{ debug = true, quiet = true }}):find('digraph ACN', 1, true))
        """,
    )
