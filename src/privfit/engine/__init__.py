"""Exact sums over records: no noise, no budget, no policy."""
