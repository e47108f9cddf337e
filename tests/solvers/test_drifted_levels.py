"""Last steps start where the solver's predictions were, however far all levels of a category drifted."""

import numpy as np
import pandas as pd
import pytest

from privfit import DPLogisticRegression
from privfit.schema import Categorical, Label, Numeric, Schema
from privfit.solvers.contrasts import Category, with_references_at_zero

TOWNS = ("Bern", "Oslo", "Rome")


def test_weights_whose_references_are_moved_to_the_intercept_predict_the_same():
    rng = np.random.default_rng(0)
    categories = (Category(range(1, 4), 2), Category(range(4, 6), 4, complete=False))
    w = rng.normal(0.0, 3.0, 7)
    moved = with_references_at_zero(w, categories)
    assert moved[[2, 4]].tolist() == [0.0, 0.0]
    for first in range(1, 4):
        for second in (4, 5):
            record = np.zeros(7)
            record[[0, first, second, 6]] = rng.uniform(), 1.0, 1.0, 1.0
            assert record @ moved == pytest.approx(record @ w)


@pytest.mark.parametrize("missing", ["fill", "refuse", "indicator"])
def test_the_last_step_is_short_whatever_becomes_of_missing_cells(missing):
    """u'Hu is a sum of 7 squares of about standard normal size at this budget, so 100 is out of reach.

    If the start were the projection of the solver's weights, it would be about 50,000 for "fill".
    """
    rng = np.random.default_rng(1)
    n = 20_000
    table = pd.DataFrame({"age": rng.uniform(20, 80, n), "town": rng.choice(TOWNS, n)})
    table["sex"] = rng.choice(["f", "m"], n)
    score = 0.03 * (table["age"] - 50.0) + 0.8 * (table["town"] == "Rome") - 0.5 * (table["sex"] == "m")
    table["ill"] = rng.random(n) < 1.0 / (1.0 + np.exp(-score))
    columns = [Categorical("town", TOWNS, missing=missing), Categorical("sex", ("f", "m"), missing=missing)]
    schema = Schema([Numeric("age", 0, 100), *columns], Label("ill", [False, True]))
    model = DPLogisticRegression(
        2.0, schema=schema, inference=True, noise="seeded", random_state=int(rng.integers(1000))
    ).fit(table)
    found = model.inference_
    assert found.step @ found.curvature @ found.step < 100.0
    answered = [effect.refused is None for effect in found.effects]
    assert all(answered) or missing == "indicator"  # nobody is "other" here, so that nothing is known of it
