"""Fused multiplication and addition of float32 numbers, which NumPy lacks."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

_BELOW_SINGLE, _HALFWAY = (1 << 29) - 1, 1 << 28  # the bits that a float32 lacks of a double, and their middle


def fused(
    values: NDArray[Any], factors: NDArray[Any] | np.floating[Any], sums: NDArray[np.float32]
) -> NDArray[np.float32]:
    """values · factors + sums, rounded to float32 once; the factors are float32 in value.

    A double holds their product; where the double next to the sum lies halfway between two float32, its own error
    decides.
    """
    products = np.multiply(values, factors, dtype=np.float64)
    totals = products + sums
    halfway = (totals.view(np.int64) & _BELOW_SINGLE) == _HALFWAY
    if halfway.any():
        product, total = products[halfway], totals[halfway]
        added = np.broadcast_to(sums, totals.shape)[halfway].astype(np.float64)
        part = total - product
        error = (product - (total - part)) + (added - part)
        totals[halfway] = np.where(error == 0, total, np.nextafter(total, np.copysign(np.inf, error)))
    rounded: NDArray[np.float32] = totals.astype(np.float32)
    return rounded
