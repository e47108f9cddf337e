"""What fits cost: `make bench` measures it, and docs/performance.md shows it."""
