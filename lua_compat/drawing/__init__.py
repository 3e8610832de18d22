"""Figures of Lua scripts, drawn by a helper process, as gnuplot's are.

``artist`` is the script's side, ``__main__`` the process; ``messages`` go from one to the other.
"""
