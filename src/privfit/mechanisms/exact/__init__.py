"""Exact samplers for the secure source: every decision is a comparison of uniform digits (N1 to N4)."""
