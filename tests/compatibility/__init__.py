"""Old Torch7 applications under th: which of them run, how far, and what stops the others.

``python -m tests.compatibility FOLDER`` runs the repositories of ``repositories.py`` that lie in FOLDER, each
as OWNER+NAME and as ``git clone`` leaves it, and writes docs/compatibility.md. Nothing of them is kept here.
"""
