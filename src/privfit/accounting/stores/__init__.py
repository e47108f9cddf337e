"""Where a ledger is kept: its entries, and who may add to them."""

from privfit.accounting.stores.base import AccountError, BrokenChain, Entry, LedgerError, Store
from privfit.accounting.stores.memory import MemoryStore

__all__ = ["AccountError", "BrokenChain", "Entry", "LedgerError", "MemoryStore", "Store"]
