"""The engine computes exact sums over records. It adds no noise and knows no privacy budget."""
