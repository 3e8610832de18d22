"""Helper processes: what draws a script's figures, and libraries that a damaged file may crash.

``process`` starts one, ``messages`` go to and fro, ``library`` calls the functions of a module in one.
"""
