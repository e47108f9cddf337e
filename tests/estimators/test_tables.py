"""What is no table of numbers is refused by type and dtype, and no message repeats what a record says."""

import datetime
import logging
import traceback
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from privfit import DPLinearSVC, DPLogisticRegression, Ledger
from privfit.preprocessing import PrivateBounds

CANARY, SECRET = "P000000 HIV+", 918273.5  # a text and a number of one record
N = 73  # exact numbers of records are secrets, too

rng = np.random.default_rng(0)
X, Y = rng.normal(size=(N, 3)), np.arange(N) % 2
X[7, 1] = SECRET
TEXT = np.array([CANARY] * N)
DAYS = np.array(["2020-01-01"] * N, dtype="datetime64[D]")
FRAME = pd.DataFrame(X, columns=["age", "height", "weight"])


def objects(value):
    table = X.astype(object)
    table[3, 1] = value
    return table


TABLES = [
    (
        "text column",
        FRAME.assign(job=TEXT),
        r"Column 'job' has dtype str, which holds no numbers; declare what is public",
    ),
    ("object column", FRAME.assign(job=pd.Series([CANARY, 1] * 36 + [2], dtype=object)), "dtype object"),
    ("category", FRAME.assign(job=pd.Categorical(TEXT)), "'job' has dtype category"),
    (
        "dates",
        FRAME.assign(born=DAYS),
        r"'born' has dtype datetime64, .* public about it in a schema",
    ),
    ("durations", FRAME.assign(stay=DAYS - DAYS[0]), r"'stay' has dtype timedelta64"),
    ("polars text", pl.DataFrame({"age": X[:, 0], "job": TEXT}), "Column 'job' has dtype String"),
    ("polars dates", pl.DataFrame({"born": DAYS}), r"Column 'born' has dtype Date, .* about it in a schema"),
    ("polars lazy", pl.DataFrame({"age": X[:, 0]}).lazy(), r"LazyFrame, .* X.collect\(\)"),
    ("text array", np.full((N, 2), CANARY), "X has dtype str, which holds no numbers"),
    ("date array", DAYS[:, None], "X has dtype datetime64, which holds no numbers"),
    ("text in objects", objects(CANARY), "Column 1 of X has dtype object, which holds no numbers"),
    (
        "a date in objects",
        objects(datetime.date(1999, 1, 2)),
        "Column 1 of X holds objects that are no numbers",
    ),
    ("a list in objects", objects([CANARY]), "Column 1 of X"),
    ("rows of mixed types", [[1.0, CANARY]] * N, "X has dtype str"),
    ("ragged rows", [[1.0, SECRET]] * (N - 1) + [[SECRET]], "rows all have the same number of values"),
    ("complex", X + 1j, "Complex data not supported: X has dtype complex128"),
    ("sparse complex", sparse.csr_matrix(X + 1j), "Complex data not supported"),
    (
        "one dimension",
        X[:, 1],
        "Expected 2D array, got 1D array instead: X must have one row for each record",
    ),
    ("three dimensions", X[:, :, None], "Expected 2D array, got 3D"),
    ("structured", np.zeros(N, dtype=[("age", float)]), "structured array; make it a frame"),
    ("dict of columns", {"age": X[:, 0]}, r"dict of columns, not a table; make it a frame"),
    ("masked", np.ma.masked_greater(X, 5.0), "masked array, whose mask would be ignored"),
    ("enumeration", pl.DataFrame({"u": pl.Series(TEXT, dtype=pl.Enum([CANARY]))}), "'u' has dtype Enum, "),
    ("structs", pl.DataFrame({"u": [{CANARY: 1}] * N}), "'u' has dtype Struct, "),
    ("wide integers", pl.DataFrame({"u": pl.Series([1] * N, dtype=pl.Int128)}), "'u' has dtype Int128"),
    ("one pandas column", FRAME["age"], "Expected 2D array, got 1D array instead"),
    ("no columns", np.empty((N, 0)), r"0 feature\(s\)"),
    (
        "two columns of one name",
        pd.concat([FRAME, FRAME[["age"]]], axis=1),
        "X has several columns that are named 'age'; give each its own name",
    ),
    ("a frame without columns", FRAME[[]], r"0 feature\(s\)"),
    ("an integer beyond floats", objects(10**400), "Column 1 of X has dtype object"),
    ("a NumPy date in objects", objects(np.datetime64("2020-01-01")), "Column 1 of X holds objects"),
    ("a string", CANARY, "X must be a table with one row for each record, not str"),
    ("a number", SECRET, "X must be a table with one row for each record, not float"),
]
UNKNOWN = np.where(np.arange(N) == 5, CANARY, Y.astype(str))
LABELS = [
    ("two columns", np.stack([Y, Y], axis=1)),
    ("unknown label", UNKNOWN),
    ("continuous", np.where(np.arange(N) == 5, SECRET, Y)),
    ("dates", DAYS),
    ("lists", [[CANARY]] * (N - 1) + [[CANARY, CANARY]]),
    ("mixed", np.array([CANARY, SECRET] + [1] * (N - 2), dtype=object)),
    ("missing", pd.Series([CANARY] * (N - 1) + [None])),
    ("a string", CANARY),
    ("lazy", pl.DataFrame({"y": Y}).lazy()),
    ("masked", np.ma.masked_equal(Y, 1)),
    ("too few", Y[:-1]),
    ("nested", np.array([{CANARY: SECRET}] * N, dtype=object)),
]


def refusal(action, caplog):
    """Return all that a refusal says: message, notes, traceback, warnings and logs."""
    with warnings.catch_warnings(record=True) as caught, caplog.at_level(logging.DEBUG):
        warnings.simplefilter("always")
        with pytest.raises((ValueError, TypeError)) as raised:
            action()
    error = raised.value
    # the chain of exceptions without source lines, which quote this file
    chain = "".join(line for line in traceback.format_exception_only(error))
    assert error.__cause__ is None
    assert error.__context__ is None  # suppressed or not, it would quote what could not be converted
    said = [chain, *(str(w.message) for w in caught), *caplog.messages]
    return error, "\n".join([*said, *getattr(error, "__notes__", [])])


def assert_no_secret(text):
    for secret in (CANARY, "P0000", "HIV", "918273", str(N), str(N - 1)):
        assert secret not in text, secret


@pytest.mark.parametrize("estimator", [DPLogisticRegression, DPLinearSVC, PrivateBounds])
@pytest.mark.parametrize(("table", "message"), [t[1:] for t in TABLES], ids=[t[0] for t in TABLES])
def test_what_is_no_table_is_refused_in_one_sentence_that_quotes_no_record(estimator, table, message, caplog):
    ledger = Ledger(epsilon=1.0, delta=1e-6)
    error, said = refusal(lambda: estimator(ledger=ledger).fit(table, Y), caplog)
    with pytest.raises(type(error), match=message):
        raise error
    assert len(str(error).splitlines()) == 1
    assert_no_secret(said)
    assert ledger.entries == ()


@pytest.mark.parametrize("classes", [None, (0, 1), ("0", "1")])
@pytest.mark.parametrize("labels", [case[1] for case in LABELS], ids=[case[0] for case in LABELS])
def test_what_are_no_labels_is_refused_without_quoting_one(labels, classes, caplog):
    if classes is None and labels is UNKNOWN:
        pytest.skip("without declared classes every label is one; a PrivacyLeakWarning says so")
    ledger = Ledger(epsilon=1.0, delta=1e-6)
    error, said = refusal(lambda: DPLogisticRegression(ledger=ledger, classes=classes).fit(X, labels), caplog)
    assert len(str(error).splitlines()) == 1
    assert_no_secret(said)
    assert ledger.entries == ()


def test_predictions_refuse_the_same_tables(caplog):
    model = DPLogisticRegression(classes=(0, 1), n_records=N, feature_bounds=(-1, 1)).fit(X, Y)
    for _, table, _ in TABLES:
        _, said = refusal(lambda table=table: model.predict(table), caplog)
        assert_no_secret(said)


@pytest.mark.parametrize("labels", [TEXT, Y[:-1], np.stack([Y, Y], axis=1)])
def test_scores_quote_no_label_and_no_number_of_records(labels, caplog):
    model = DPLogisticRegression(classes=(0, 1), n_records=N, feature_bounds=(-1, 1)).fit(X, Y)
    if labels is TEXT:
        assert model.score(X, labels) == 0.0
        return
    _, said = refusal(lambda: model.score(X, labels), caplog)
    assert_no_secret(said)


def test_a_column_of_text_comes_with_two_lines_that_would_work():
    with pytest.raises(ValueError, match="declare what is public about it in a schema") as raised:
        DPLogisticRegression().fit(FRAME.assign(job=TEXT), Y)
    assert 'DPLogisticRegression(schema="schema.toml")' in raised.value.__notes__[0]
    assert len(raised.value.__notes__[0].splitlines()) == 3


@pytest.mark.parametrize(
    "table",
    [
        FRAME.astype({"age": "Float64", "height": "float32"}),
        FRAME.assign(member=np.arange(N) % 2 == 0, children=np.arange(N) % 4),
        FRAME.assign(children=pd.array(np.arange(N) % 4, dtype="Int64")),
        pl.DataFrame({"age": X[:, 0], "member": np.arange(N) % 2 == 0, "children": np.arange(N) % 4}),
        X.astype(object),
        X.tolist(),
        X[:, :1].astype(np.float16),
        np.arange(2 * N).reshape(N, 2),
        sparse.coo_array(X),
        sparse.dok_matrix(X),
    ],
)
@pytest.mark.filterwarnings("ignore::privfit.solvers.BudgetWarning")
def test_tables_of_numbers_in_any_clothes_are_accepted(table):
    model = DPLogisticRegression().fit(table, Y)
    assert np.isfinite(model.coef_).all()
    model.predict(table)
