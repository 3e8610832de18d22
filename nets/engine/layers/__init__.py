"""The kinds of layers a plan is made of, one file each, found by being in this folder."""
