"""Audits: attack privfit as an attacker who knows all records but one, and bound epsilon from below."""

from privfit.auditing.run import Finding, attack

__all__ = ["Finding", "attack"]
