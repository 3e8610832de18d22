"""The kinds of layers in a plan, one file each, discovered in this folder."""
