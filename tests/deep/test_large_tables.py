"""Tables of millions of records: the same model, bit by bit, in whichever form and order they come."""

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from scipy import sparse

from privfit import DPLinearSVC, DPLogisticRegression
from privfit.schema import Label, Numeric, Schema, encode, labels_of

N, COLUMNS = 3_000_000, 12
WEIGHTS = np.linspace(-2.0, 2.0, COLUMNS)


@pytest.fixture(scope="module")
def table():
    """Features in [0, 1], half of them zeros, and labels that follow the logistic model."""
    rng = np.random.default_rng(11)
    X = rng.random((N, COLUMNS), dtype=np.float32)
    X[rng.random((N, COLUMNS), dtype=np.float32) < 0.5] = 0.0
    return X, (X @ WEIGHTS + rng.logistic(size=N) > 0).astype(int)


def fitted(model, X, y):
    public = {"classes": (0, 1), "feature_bounds": (0.0, 1.0), "noise": "seeded", "random_state": 5}
    return model(1.0, 1e-9, **public).fit(X, y)


@pytest.mark.deep
@pytest.mark.parametrize("model", [DPLogisticRegression, DPLinearSVC])
def test_the_order_of_millions_of_records_changes_no_bit(table, model):
    X, y = table
    order = np.random.default_rng(12).permutation(N)
    one, other = fitted(model, X, y), fitted(model, X[order], y[order])
    assert np.array_equal(one.coef_, other.coef_)
    assert np.array_equal(one.intercept_, other.intercept_)


@pytest.mark.deep
@pytest.mark.parametrize("form", [np.float64, sparse.csr_matrix])
def test_millions_of_records_give_one_model_in_every_form(table, form):
    """Forms may round a record's prediction differently, so weights agree to many digits, not to all."""
    X, y = table
    one, other = (fitted(DPLogisticRegression, rows, y) for rows in (X, form(X)))
    assert other.coef_ == pytest.approx(one.coef_, abs=1e-4)


@pytest.mark.deep
def test_millions_of_records_show_the_weights_they_were_made_with(table):
    """The sample's and the noise's standard deviations are .004 each, measured over six noises."""
    assert fitted(DPLogisticRegression, *table).coef_[0] == pytest.approx(WEIGHTS, abs=0.05)


@pytest.mark.deep
def test_millions_of_rows_are_read_alike_from_text_and_parquet(table, tmp_path):
    X, y = table
    schema = Schema([Numeric(f"x{j}", 0, 1) for j in range(COLUMNS)], Label("ill", ["0", "1"]))
    frame = pa.table({f"x{j}": X[:, j] for j in range(COLUMNS)} | {"ill": y.astype(str)})
    pa.csv.write_csv(frame, tmp_path / "x.csv")
    pq.write_table(frame, tmp_path / "x.parquet")
    for name in ("x.csv", "x.parquet"):
        assert np.array_equal(encode(tmp_path / name, schema, sparse=False), X)
        assert np.array_equal(labels_of(tmp_path / name, schema) == "1", y == 1)
