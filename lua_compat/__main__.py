"""``python -m lua_compat script.lua arguments...``: the command ``th``."""

import sys

from lua_compat.cli.th import main

sys.exit(main())
