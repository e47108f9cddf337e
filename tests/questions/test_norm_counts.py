"""Histograms of the norms of records."""

import numpy as np

from privfit.questions import norms


def test_norms_are_counted_some_rows_at_a_time(monkeypatch):
    """Of as many rows as are counted at a time, fewer, more, and none, with infinite and missing squares."""
    rng, edges = np.random.default_rng(3), np.array([8.0, 2.0, 1.0, 0.25])
    for n_rows in (0, 1, 6, 7, 8, 100):
        squares = np.append(rng.exponential(4.0, n_rows), [np.nan, np.inf, 0.0] if n_rows else [])
        at_once = norms._counts(squares, edges)
        monkeypatch.setattr(norms, "ROWS_AT_A_TIME", 7)
        np.testing.assert_array_equal(norms._counts(squares, edges), at_once)
        lengths = np.sqrt(np.nan_to_num(squares, nan=np.inf))
        by_hand = [(lengths > 2.0).sum(), ((lengths > 1.0) & (lengths <= 2.0)).sum(), (lengths <= 1.0).sum()]
        np.testing.assert_array_equal(at_once, by_hand)
        monkeypatch.undo()
