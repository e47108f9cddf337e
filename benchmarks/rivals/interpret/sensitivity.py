"""The effect of one record on the numbers that a DP-EBM of numbers releases, compared with their noise.

Usage: .rivals/interpret/bin/python -I benchmarks/rivals/interpret/sensitivity.py

One column, one round, 2,000 records with the same target, fitted with and without the first record and the
same seed. The program prints the declared bounds of the target, the standard deviation of the noise in a sum,
and the largest change of such a sum. A sum is the round's change of the score of a leaf, times the leaf's
weight; both are released.
"""

import warnings

import numpy as np
from interpret.privacy import DPExplainableBoostingRegressor


def sums(X, y, low):
    """Return the released sums, by leaf, and the noise in them."""
    model = DPExplainableBoostingRegressor(
        epsilon=1.0,
        delta=1e-6,
        feature_types=["continuous"],
        privacy_bounds=np.array([[0.0, 1.0]]),
        privacy_target_min=low,
        privacy_target_max=low + 1.0,
        max_rounds=1,
        random_state=1,
        n_jobs=1,
    ).fit(X, y)
    scores, weights = model.term_scores_[0][1:-1], model.bin_weights_[0][1:-1]
    starts = np.flatnonzero(np.r_[True, np.diff(scores) != 0.0])
    leaves = (scores[starts] + model.intercept_) * np.add.reduceat(weights, starts)
    return leaves, model.noise_scale_boosting_


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    X = np.random.default_rng(0).random((2000, 1))
    for low in (0.0, 100.0, 9000.0):
        y = np.full(len(X), low + 1.0)
        (with_it, noise), (without_it, _) = sums(X, y, low), sums(X[1:], y[1:], low)
        change = np.abs(with_it - without_it).max()
        print(f"targets in [{low:g}, {low + 1:g}]: noise {noise:.3f}, one record moves a sum by {change:.3f}")
