"""The noise of private scores: half-widths over models and releases, which docs/metrics.md shows."""

from __future__ import annotations

import argparse

import numpy as np
from sklearn.linear_model import LogisticRegression

from privfit import Ledger, metrics

MODELS = (
    (0.5, 0.8),
    (0.5, 1.2),
    (0.5, 2.5),
    (0.25, 1.5),
    (0.1, 1.2),
)  # share of positives, distance of labels


def held_out(n, prevalence, distance):
    """Return scores of two normal distributions, the logarithms of odds of their labels."""
    rng = np.random.default_rng(0)
    y = (rng.random(n) < prevalence).astype(int)
    middle = np.log(prevalence / (1.0 - prevalence))
    return (middle + (y - 0.5) * distance**2 + distance * rng.normal(size=n))[:, None], y


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=1000)
    parser.add_argument("--rho", type=float, default=0.01)
    parser.add_argument("--releases", type=int, default=20)
    options = parser.parse_args()
    model = LogisticRegression()
    model.coef_, model.intercept_, model.classes_ = np.ones((1, 1)), np.zeros(1), np.array([0, 1])
    for prevalence, distance in MODELS:
        X, y = held_out(options.records, prevalence, distance)
        print(f"{prevalence:.0%} positives, distance {distance}")
        for n_records in (None, options.records):
            ways = {
                "evaluate": metrics.evaluate,
                "labels alone": lambda *a, **k: metrics.evaluate(*a, curves=False, **k),
            }
            for way, ask in ways.items():
                found = [
                    ask(model, X, y, rho=options.rho, n_records=n_records, ledger=Ledger(rho=1.0)).scores()
                    for _ in range(options.releases)
                ]
                noise = {name: np.mean([scores[name].noise for scores in found]) for name in found[0]}
                shown = "  ".join(f"{name} ±{half:.4f}" for name, half in noise.items())
                print(f"  {way}, n {'bought' if n_records is None else 'declared'}: {shown}")


if __name__ == "__main__":
    main()
