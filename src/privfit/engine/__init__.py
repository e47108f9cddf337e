"""The engine computes exact sums over records. It adds no noise and has no access to the privacy budget."""
