"""Values of pixels: whole numbers from 0 to 65535."""

import numpy as np

MOST = 65535.0


def rounded(values: np.ndarray) -> np.ndarray:
    """Returns the nearest values that a pixel can have."""
    return np.clip(np.floor(values + 0.5), 0, MOST)
