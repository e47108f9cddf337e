"""Measurements of the time and memory of fits, by `make bench`, for docs/performance.md."""
