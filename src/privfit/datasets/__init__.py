"""Data sets with their public schema."""

from privfit.datasets.adult import load_adult
from privfit.datasets.catalogue import load
from privfit.datasets.download import DownloadError

__all__ = ["DownloadError", "load", "load_adult"]
