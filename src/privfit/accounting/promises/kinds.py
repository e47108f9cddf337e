"""What promises are asked: whether they pay for a kind of charge, and whether their numbers are true."""

from __future__ import annotations

from typing import Literal

# What is charged for: Gaussian noise, anything with a price in zCDP, or a release with a theorem of its own.
Kind = Literal["gaussian", "concentrated", "release"]


def check_worth(stated: float, worth: float) -> None:
    """Refuse a promise that states less than what may be spent is worth."""
    if not worth <= stated * (1.0 + 1e-9):
        raise ValueError(
            f"This privacy budget is worth epsilon = {worth:.6g}; epsilon = {stated!r} would be too little."
        )
