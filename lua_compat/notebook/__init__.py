"""iTorch notebooks: a Jupyter kernel that runs cells of Lua in one state (``th --install-kernel``)."""
