"""The commands of ``convnet-benchmarks``: each module of this package is a command of its own name.

A command has ``SUMMARY``, one line for ``convnet-benchmarks --help``, and
``main(arguments, program) -> exit code``. It imports torch and other heavy packages only where it uses
them, so that ``--help`` answers at once.
"""
