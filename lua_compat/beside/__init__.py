"""Processes beside a script's: what draws its figures, and libraries that a damaged file may end.

``process`` starts one, ``messages`` go to and fro, ``library`` calls the functions of a module in one.
"""
