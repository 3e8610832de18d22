"""Where tests find the checkout, the facts recorded with real Torch7, and excerpts of old logs."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "golden"
DATA = ROOT / "tests" / "data"
