"""Convolutions: LuaJIT's results are PyTorch's."""

from tests.lua_compat.families.two_ways import made_for

test_both_ways_agree, test_both_ways_agree_on_much_more = made_for(__file__)
