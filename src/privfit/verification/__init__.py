"""Check a promise without the records, by an accountant that is not privfit's own."""

from privfit.verification.reading import Document, read_document
from privfit.verification.verifying import Check, Verification, verify

__all__ = ["Check", "Document", "Verification", "read_document", "verify"]
