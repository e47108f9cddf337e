"""Where an account lives: its entries, and who may add to them."""

from privfit.accounting.stores.base import Entry, Store
from privfit.accounting.stores.memory import MemoryStore

__all__ = ["Entry", "MemoryStore", "Store"]
