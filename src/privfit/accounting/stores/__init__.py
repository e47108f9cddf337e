"""Where an account lives: its entries, and who may add to them."""

from privfit.accounting.stores.base import AccountError, BrokenChain, Entry, Store
from privfit.accounting.stores.memory import MemoryStore

__all__ = ["AccountError", "BrokenChain", "Entry", "MemoryStore", "Store"]
