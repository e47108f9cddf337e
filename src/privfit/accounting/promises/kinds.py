"""The kinds of charges that promises pay for, and a check that a promise states no epsilon too small."""

from __future__ import annotations

from typing import Literal

# A charge is for Gaussian noise, for anything with a price in zCDP, or for a release with a proof of its own.
Kind = Literal["gaussian", "concentrated", "release"]


def check_worth(stated: float, worth: float) -> None:
    """Refuse a promise whose stated epsilon is smaller than the epsilon of its privacy budget."""
    if not worth <= stated * (1.0 + 1e-9):
        raise ValueError(
            f"This privacy budget is worth epsilon = {worth:.6g}; epsilon = {stated!r} would be too little."
        )
