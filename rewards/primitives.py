"""Small functions from which terms are built; each returns a number in [0, 1]."""

from __future__ import annotations

import math
from collections.abc import Collection


def tolerance(value: float, low: float, high: float, margin: float = 0.0) -> float:
    """Return 1 inside ``[low, high]``, falling like a Gaussian to 0.1 at ``margin`` outside; 0 if not finite.

    The shape follows dm_control's ``rewards.tolerance`` with a Gaussian sigmoid and ``value_at_margin`` 0.1 (Tassa et
    al. 2018, "DeepMind Control Suite", arXiv:1801.00690).

    Raises:
        ValueError: If ``low > high`` or ``margin < 0``.
    """
    if low > high or margin < 0:
        raise ValueError(f"needs low <= high and margin >= 0, not {low}, {high}, {margin}")
    if not math.isfinite(value):
        return 0.0
    outside = max(low - value, value - high, 0.0)
    if outside == 0.0 or margin == 0.0:
        return float(outside == 0.0)
    return math.exp(math.log(0.1) * (outside / margin) ** 2)


def close(value: float, target: float, relative: float = 1e-3, absolute: float = 1e-6) -> float:
    """Return 1.0 if the value is within the larger of both tolerances of the target, else 0.0."""
    return float(math.isfinite(value) and abs(value - target) <= max(relative * abs(target), absolute))


def f1(found: Collection[object], wanted: Collection[object]) -> float:
    """Return the harmonic mean of precision and recall of two collections taken as sets; 1.0 if both are empty."""
    a, b = set(found), set(wanted)
    return 1.0 if not a and not b else 2 * len(a & b) / (len(a) + len(b))
