"""Stores, in which ledgers keep their entries: in memory, in a file or on a server."""

from privfit.accounting.stores.base import BrokenChain, Entry, LedgerError, Store
from privfit.accounting.stores.memory import MemoryStore

__all__ = ["BrokenChain", "Entry", "LedgerError", "MemoryStore", "Store"]
