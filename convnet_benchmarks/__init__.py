"""Measuring convnets: what is timed, how, and how results are kept and shown."""

from lua_compat import name_of_nets

name_of_nets.reserve()
