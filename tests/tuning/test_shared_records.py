"""The fits of a search share one copy of the features; a held-out record is never in a fit's sums."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from privfit import DPLogisticRegression, DPSearchCV, Schema
from privfit.engine.problem import Problem
from privfit.engine.table import Table
from privfit.estimators.base import DPLinearModel
from privfit.losses.logistic import LOGISTIC
from privfit.schema import Categorical, Label, Numeric
from privfit.solvers import GradientDescent
from privfit.tuning import parts

pytestmark = pytest.mark.filterwarnings("ignore::privfit.solvers.BudgetWarning")

N, TRAINING = 3000, 2100  # which is no multiple of the rows of a tile
RNG = np.random.default_rng(0)
WIDE = np.where(RNG.random((N, 12)) < 0.4, RNG.choice([1.0, 0.5, 3.0], (N, 12)), 0.0)
Y = np.where(WIDE[:, 0] + RNG.normal(size=N) > 0.5, 1.0, -1.0)
ONES = (RNG.random((N, 30)) < 0.3).astype(float)  # which are packed into phrases
QUICK = GradientDescent(steps=4)

FORMS = [
    pytest.param(np.asarray, id="rows"),
    pytest.param(np.asfortranarray, id="columns", marks=pytest.mark.slow),
    pytest.param(lambda X: X.astype(np.float32), id="float32", marks=pytest.mark.slow),
    pytest.param(sparse.csr_matrix, id="sparse"),
]


def sums_of(table, y):
    """Return sums of several kinds, all of which are exact."""
    w = np.linspace(-1.0, 1.0, table.n_columns + 1)
    problem = Problem(Table(table), y, LOGISTIC)
    moved = problem.transformed(np.full(table.n_columns, 0.1), np.full(table.n_columns, 2.0), 0.5)
    return [
        found
        for each in (problem, moved)
        for found in (each.gradient_at(w, 0.7), each.at(w).gradient_sum(0.7), each.table.norms)
    ]


@pytest.mark.parametrize("values", [WIDE, ONES], ids=["loose", "packed"])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("count", [0, 1, 256, TRAINING, N])
def test_first_rows_of_a_table_are_a_table_of_these_rows(form, values, count):
    first = Table(form(values), intercept=False).first(count)
    alone = Table(form(values[:count]), intercept=False)
    for found, expected in zip(sums_of(first, Y[:count]), sums_of(alone, Y[:count]), strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("values", [WIDE, ONES], ids=["loose", "packed"])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_first_rows_share_memory_and_never_read_what_follows(form, values):
    X = form(values.copy())
    whole = Table(X, intercept=False)
    before = [np.copy(found) for found in sums_of(whole.first(TRAINING), Y[:TRAINING])]
    numbers = X.data if sparse.issparse(X) else X
    first = whole.first(TRAINING)
    of_first = first.layout.X.data if sparse.issparse(X) else first.layout.X
    assert np.shares_memory(of_first, numbers)
    assert np.shares_memory(first.squares, whole.squares)
    if sparse.issparse(X):
        shared = first.layout.packed.codes, whole.layout.packed.codes
        assert np.shares_memory(*shared) or not shared[0].size
        numbers[X.indptr[TRAINING] :] = np.nan
        whole.layout.packed.codes[:, TRAINING:] = 2**16 - 1  # a phrase that does not exist
        whole.layout.packed.planes[:, TRAINING:] = np.nan
    else:
        numbers[TRAINING:] = np.nan
    whole.squares[TRAINING:] = np.nan
    for found, expected in zip(sums_of(first, Y[:TRAINING]), before, strict=True):
        np.testing.assert_array_equal(found, expected)


def test_a_transformed_table_is_not_shared():
    with pytest.raises(ValueError, match="before transforming"):
        Table(Table(WIDE).transformed(np.zeros(12), np.full(12, 2.0)))


# -- searches ----------------------------------------------------------------------------------------------

SCHEMA = Schema(
    [Numeric("a", 0.0, 3.0), Categorical("kind", ["x", "y", "z"])],
    Label("sick", ["no", "yes"], missing="drop"),
)
FRAME = pd.DataFrame(
    {
        "a": WIDE[:, 0],
        "kind": np.where(ONES[:, 0] > 0, "x", "z"),
        "sick": np.where(Y > 0, "yes", "no"),
    }
)
FRAME.loc[::40, "sick"] = None
TABLES = {
    "array": (WIDE, Y, {"classes": (-1, 1), "feature_bounds": (0.0, 2.0)}),
    "frame of numbers": (pd.DataFrame(WIDE).add_prefix("c"), Y, {"classes": (-1, 1)}),
    "sparse": (sparse.csr_matrix(ONES), Y, {"classes": (-1, 1)}),
    "raw": (FRAME, None, {"schema": SCHEMA}),
}


def search_of(settings, grid, **further):
    model = DPLogisticRegression(solver=QUICK, **settings)
    return DPSearchCV(model, grid, 9.0, noise="seeded", random_state=1, **further)


@pytest.fixture
def fits(monkeypatch):
    """The records of every fit that was charged."""
    seen, original = [], DPLinearModel._fit

    def noticed(model, records, table=None, *, check_only=False):
        if not check_only:
            seen.append((model, records))
        return original(model, records, table, check_only=check_only)

    monkeypatch.setattr(DPLinearModel, "_fit", noticed)
    return seen


@pytest.mark.filterwarnings("ignore::privfit.PrivacyLeakWarning")
@pytest.mark.parametrize("table", TABLES)
def test_models_of_a_search_are_those_of_the_same_rows_alone(table, fits, monkeypatch):
    """Bit for bit: each model of a search is fitted again, to a copy of its rows as they were given."""
    X, y, settings = TABLES[table]
    masks, original = [], parts.held_out_rows
    monkeypatch.setattr(parts, "held_out_rows", lambda *a: masks.append(original(*a)) or masks[0])
    search = search_of(settings, {"alpha": [0.0, 0.1], "fit_intercept": [True, False]}).fit(X, y)
    (held,) = masks
    everything = np.ones(N, bool)
    for (model, _), rows in zip(fits[:], [*[~held] * 4, everything], strict=True):
        again = type(model)(**{**vars_of(model), "ledger": None})
        given = X[rows] if y is not None else X[rows].reset_index(drop=True)
        again.fit(given, None if y is None else y[rows])
        np.testing.assert_array_equal(again.coef_, model.coef_)
        np.testing.assert_array_equal(again.intercept_, model.intercept_)
        assert getattr(again, "n_features_in_", None) == getattr(model, "n_features_in_", None)
    assert search.best_estimator_ is fits[4][0]


def vars_of(model):
    """Return the settings of a fitted model, with its seed."""
    return {name: getattr(model, name) for name in model.get_params(deep=False)}


@pytest.mark.filterwarnings("ignore::privfit.PrivacyLeakWarning")
@pytest.mark.parametrize("table", TABLES)
def test_fits_of_a_search_share_features_and_norms(table, fits):
    X, y, settings = TABLES[table]
    search_of(settings, {"alpha": [0.0, 0.1, 0.2]}).fit(X, y)
    *training, refit = [records for _, records in fits]
    for records in training:
        whole, part = (
            each.table.layout.X if each.table.layout.X is each.X else None for each in (refit, records)
        )
        arrays = [each.data if sparse.issparse(each) else each for each in (whole, part)]
        assert np.shares_memory(*arrays)
        assert np.shares_memory(records.table.squares, refit.table.squares)


def test_a_raw_table_is_read_once(monkeypatch):
    read, original = [], DPLinearModel._read
    monkeypatch.setattr(
        DPLinearModel, "_read", lambda *given, **named: read.append(1) or original(*given, **named)
    )
    search_of({"schema": SCHEMA}, {"alpha": [0.0, 0.1, 0.2]}).fit(FRAME)
    assert len(read) == 1


def test_memory_of_a_search_does_not_grow_with_its_settings():
    """Three more settings may take a tenth of the table more, which a copy of a fold would exceed."""
    X = np.random.default_rng(0).normal(size=(20_000, 100))
    y = np.where(X[:, 0] > 0, 1, -1)

    def peak(alphas):
        tracemalloc.start()
        search_of({"classes": (-1, 1), "feature_bounds": (-2.0, 2.0)}, {"alpha": alphas}).fit(X, y)
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    few, many = peak([0.0, 0.1]), peak([0.0, 0.1, 0.2, 0.3, 0.4])
    assert many - few < 0.1 * X.nbytes
    assert many < 2.5 * X.nbytes  # arranged, clipped, and the vectors of a fit
