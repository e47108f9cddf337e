"""Data sets with their public schema."""

from privfit.datasets.adult import load_adult

__all__ = ["load_adult"]
