"""Estimators whose columns have curves: how many edges, what is kept of them, and what they promise."""

import pickle

import numpy as np
import pytest
from replay import assert_paid_for, assert_same, run
from sklearn.base import clone

import privfit
from privfit import DPLinearSVC, DPLogisticRegression, DPPoissonRegressor, DPQuantileRegressor, Ledger
from privfit.estimators.curves import (
    AMOUNT_FOR_MORE,
    FEWEST_EDGES,
    LEAST_FOR_A_CURVE,
    MOST_DECIDED,
    VALUE_OF_A_RECORD,
    Information,
    decided,
)
from privfit.models.registry import MODELS
from privfit.penalties import Box
from privfit.schema import Categorical, Date, Identifier, Label, NumberLabel, Numeric, Schema, Weight

SEEDED = {"noise": "seeded", "random_state": 0}
N = 2000
RNG = np.random.default_rng(1)
TABLE = {
    "age": RNG.uniform(17.0, 90.0, N),
    "income": RNG.exponential(5000.0, N),
    "job": RNG.choice(["a", "b", "c"], N),
}
LOGITS = 3.0 * np.abs(TABLE["age"] - 50.0) / 20.0 - 3.0
TABLE["ill"] = RNG.random(N) < 1.0 / (1.0 + np.exp(-LOGITS))
TABLE["cost"] = LOGITS + RNG.normal(size=N)


def schema(label=None, **age):
    columns = [
        Numeric("age", 17, 90, **age),
        Numeric("income", 0, 100_000, missing="indicator"),
        Categorical("job", ["a", "b", "c"]),
    ]
    return Schema(columns, label or Label("ill", [False, True]))


def fitted(facts=None, kind=DPLogisticRegression, table=None, **settings):
    return kind(schema=facts or schema(), delta=1e-6, **SEEDED, **settings).fit(table or TABLE)


def auc_of(model):
    scores = model.decision_function(TABLE)
    ranks = np.argsort(np.argsort(scores)) + 1.0
    ill = TABLE["ill"]
    return (ranks[ill].mean() - (ill.sum() + 1) / 2) / (~ill).sum()


# -- how many edges


@pytest.mark.parametrize("curves", [1, 3, 40])
def test_more_records_and_budget_give_more_edges_up_to_a_limit_and_none_at_first(curves):
    columns = [Numeric(f"x{j}", 0, 1, curve=True) for j in range(curves)]
    other = Categorical("other", list("abcdefg"))
    few, many = (Schema(facts, Label("y", [0, 1])) for facts in (columns, [*columns, other]))
    least = LEAST_FOR_A_CURVE * curves
    reaches = (0.0, 0.999 * least, least, AMOUNT_FOR_MORE + least, 8.0 * AMOUNT_FOR_MORE, 1e9, np.inf)
    edges = [Information(np.inf, reach).edges(few) for reach in reaches]
    assert edges == sorted(edges)
    assert edges[:2] == [0, 0]
    assert FEWEST_EDGES <= edges[2] <= edges[3]
    assert edges[4:] == [2 * FEWEST_EDGES, MOST_DECIDED, MOST_DECIDED]
    assert Information(np.inf, least, balance=0.5).edges(few) == 0
    records = 1.001 * least / VALUE_OF_A_RECORD  # enough against chance if there are no other features
    assert Information(records, np.inf).edges(few) >= FEWEST_EDGES
    assert Information(records, np.inf).edges(many) == 0
    assert Information(np.inf, least).edges(many) >= FEWEST_EDGES


def test_a_fit_decides_by_public_and_bought_numbers_and_keeps_the_edges():
    model = fitted(epsilon=1.0, n_records=N, curves=True)
    decided = model.schema_
    assert not decided.has_undecided_curves
    count = len(decided.columns[0].curve)
    assert FEWEST_EDGES <= count <= MOST_DECIDED
    assert all(isinstance(edge, float) for edge in decided.columns[0].curve)
    assert model.coef_.shape == (1, len(decided.feature_names))
    assert f"2 columns have up to {count} edges" in model.privacy_.notes[0]
    assert "number of records" not in model.privacy_.spending


@pytest.mark.parametrize(
    ("known", "reason"),
    [
        (Information(5000, 1180.0), "n / 5 is about 1,000"),
        (Information(5000, 990.0, balance=0.9999), "n sqrt(2 rho) is about 990"),
        (
            Information(5000, 990.0, balance=0.5),
            "n sqrt(2 rho) is about 990, times 0.5 for the shares of the labels",
        ),
        (Information(50, 5e4), "n / 5 is about 10"),
        (Information(np.inf, np.inf), ""),
    ],
)
def test_the_note_names_the_amount_that_decided(known, reason):
    facts = Schema([Numeric("x", 0, 1, curve=True), Categorical("other", list("abcd"))], Label("y", [0, 1]))
    assert known.reason(facts) == reason
    assert decided(facts, known)[1].endswith(f", because {reason}" if reason else " edges")


def test_a_curve_finds_what_a_line_cannot():
    """The illness depends on the distance from 50 years: a line has an AUC near .5, a curve near .83."""
    plain, curved = (fitted(epsilon=1.0, n_records=N, curves=curves) for curves in (None, True))
    assert auc_of(plain) < 0.65
    assert auc_of(curved) > 0.75


def test_with_a_small_budget_columns_stay_plain_bit_for_bit():
    """The reach, 2000 sqrt(2 rho) = .9, is less than that of one edge of two curves."""
    plain, curved = (fitted(rho=1e-7, n_records=N, curves=curves) for curves in (None, True))
    np.testing.assert_array_equal(plain.coef_, curved.coef_)
    assert curved.schema_.feature_names == schema().feature_names
    assert "2 columns have no curve" in curved.privacy_.notes[0]


def test_without_a_declared_number_of_records_it_is_bought_within_the_budget():
    ledger = Ledger(epsilon=1.0, delta=1e-6)
    model = fitted(epsilon=1.0, curves=True, ledger=ledger)
    assert [entry.what for entry in ledger.entries[:2]] == ["number of records", "targets"]
    assert ledger.spent == pytest.approx(ledger.promise.rho)
    assert len(model.schema_.columns[0].curve) >= FEWEST_EDGES


@pytest.mark.filterwarnings("ignore::privfit.WeakPromiseWarning")
def test_rare_labels_have_no_curves_where_frequent_ones_have():
    """The share of the labels is exact to less than a thousandth at this budget; 4 q (1 - q) N / 5 is 20."""
    rare = TABLE | {"ill": np.arange(N) % 80 == 0}
    frequent, few = (
        fitted(table=table, epsilon=1000.0, n_records=N, curves=True).schema_ for table in (TABLE, rare)
    )
    assert frequent.has_curves
    assert not few.has_curves


def test_a_regressor_with_a_declared_number_of_records_buys_nothing_for_its_curves():
    label = NumberLabel("cost", -10, 20)
    spent = [
        fitted(schema(label), DPQuantileRegressor, epsilon=1.0, n_records=N, curves=c).privacy_.spending
        for c in (None, True)
    ]
    assert spent[0].keys() == spent[1].keys()


def test_a_declared_number_of_edges_buys_nothing_and_is_kept():
    model = fitted(epsilon=1.0, n_records=N, curves=3)
    assert len(model.schema_.columns[0].curve) == 3
    again = fitted(model.schema_, epsilon=1.0, n_records=N)
    np.testing.assert_array_equal(model.coef_, again.coef_)


def test_without_privacy_the_rule_has_no_limit_but_its_largest():
    model = fitted(solver="nonprivate", curves=True)
    assert len(model.schema_.columns[0].curve) == MOST_DECIDED


def test_the_setting_and_the_schema():
    facts = schema(curve=[30, 60])
    assert fitted(facts, epsilon=1.0).schema_.columns[0].curve == (30.0, 60.0)
    assert fitted(facts, epsilon=1.0, curves=4).schema_.columns[0].curve == (30.0, 60.0)
    assert not fitted(facts, epsilon=1.0, curves=False).schema_.has_curves
    assert fitted(schema(curve=False), epsilon=1.0, curves=4).schema_.columns[0].curve is False


# -- what is refused before a charge


@pytest.mark.parametrize("curves", ["yes", 1.5, -1, 1000])
def test_settings_that_make_no_sense_are_refused(curves):
    with pytest.raises(ValueError, match="curves must be"):
        fitted(curves=curves)


def test_curves_need_a_schema():
    with pytest.raises(ValueError, match="give a schema"):
        DPLogisticRegression(curves=True).fit(np.zeros((4, 1)), [0, 1, 0, 1])


def test_a_solver_of_one_release_needs_a_declared_number_of_records():
    settings = {"epsilon": 1.0, "solver": "objective-perturbation", "curves": True, "alpha": 0.1}
    with pytest.raises(ValueError, match="declare n_records"):
        fitted(**settings)
    assert fitted(n_records=N, **settings).schema_.has_curves


def test_weights_for_another_number_of_columns_are_refused_before_a_charge():
    ledger = Ledger(epsilon=1.0, delta=1e-6)
    for declared in ({"start": (np.zeros(6), 0.0)}, {"constraint": Box(-1.0, [1.0] * 6)}):
        with pytest.raises(ValueError, match=r"columns|weights"):
            fitted(ledger=ledger, curves=True, **declared)
    assert ledger.spent == 0.0


def test_weights_that_suit_one_number_of_edges_are_refused_before_a_charge():
    """Those of the most edges passed once, and failed when fewer edges had been bought."""
    widths = {len(schema(curve=True).with_curves(True).with_edges(k).feature_names) for k in range(17)}
    for width in widths:
        for declared in ({"start": (np.zeros(width), 0.0)}, {"constraint": Box(-1.0, [1.0] * width)}):
            ledger = Ledger(epsilon=1.0, delta=1e-6)
            with pytest.raises(ValueError, match="declare a number of edges instead of true"):
                fitted(ledger=ledger, curves=True, **declared)
            assert ledger.spent == 0.0


def test_a_column_named_like_a_piece_is_refused_before_a_charge():
    """The names clash at one number of edges, of which nobody knows before the charge whether it comes."""
    for count in range(FEWEST_EDGES, MOST_DECIDED + 1):
        piece = schema(curve=True).with_edges(count).feature_names[1]
        columns = [Numeric("age", 17, 90, curve=True), Numeric(piece, 0, 1)]
        table, ledger = TABLE | {piece: TABLE["age"] / 100.0}, Ledger(epsilon=1.0, delta=1e-6)
        with pytest.raises(ValueError, match="would both become the feature"):
            fitted(Schema(columns, Label("ill", [False, True])), table=table, ledger=ledger, epsilon=1.0)
        assert ledger.spent == 0.0


# -- every estimator, weights, people


@pytest.mark.parametrize("kind", [name for name, model in sorted(MODELS.items()) if not model.needs_loss])
def test_every_estimator_takes_curves(kind):
    estimator = MODELS[kind].estimator
    label = None if MODELS[kind].link.predicts_classes else NumberLabel("cost", -10, 20)
    table = TABLE
    if estimator is DPPoissonRegressor:
        from privfit.schema import CountLabel

        label, table = CountLabel("cost", 20), TABLE | {"cost": np.round(np.abs(TABLE["cost"]))}
    model = fitted(schema(label), estimator, table, epsilon=4.0, curves=True, n_records=N)
    assert model.schema_.has_curves
    assert len(model.predict(table)) == N
    assert np.isfinite(model.coef_).all()


@pytest.mark.slow
def test_several_classes_take_curves():
    table = TABLE | {"ill": np.digitize(TABLE["age"], [35.0, 65.0])}
    model = fitted(schema(Label("ill", [0, 1, 2])), table=table, epsilon=4.0, curves=True)
    assert model.coef_.shape == (3, len(model.schema_.feature_names))
    assert model.score(table) > 0.8


def test_weights_and_people_work_as_without_curves():
    columns = [*schema().columns, Identifier("id", rows_per_person=2), Weight("w", 3.0)]
    facts = Schema(columns, Label("ill", [False, True]))
    table = TABLE | {"id": np.arange(N) // 2, "w": RNG.uniform(0.0, 3.0, N)}
    model = fitted(facts, table=table, epsilon=4.0, curves=True)
    assert model.schema_.has_curves
    assert model.privacy_.records_per_person == 2


def test_dates_have_curves():
    days = np.datetime64("1950-01-01") + (TABLE["age"] * 365).astype(int)
    facts = Schema([Date("day", "1950-01-01", "2050-01-01")], Label("ill", [False, True]))
    model = fitted(facts, table={"day": days, "ill": TABLE["ill"]}, epsilon=1.0, curves=True)
    assert model.schema_.features[0].shape.n_pieces > FEWEST_EDGES


# -- monotone


@pytest.mark.parametrize("direction", ["up", "down"])
@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("n_records", [N, None])
def test_a_monotone_curve_is_monotone_to_the_last_bit(direction, positive, n_records):
    facts = schema(Label("ill", [False, True], positive), monotone=direction)
    model = fitted(facts, epsilon=0.5, curves=True, n_records=n_records)
    curve = model.schema_.features[0].shape
    heights = curve.heights(model.coef_[0, : curve.n_pieces])
    sign = (1.0 if direction == "up" else -1.0) * (1.0 if positive else -1.0)
    assert (sign * np.diff(heights) >= 0.0).all()
    assert (np.abs(heights) > 0.0).any()
    ages = np.linspace(0.0, 120.0, 500)
    scores = model.decision_function({"age": ages, "income": np.zeros(500), "job": ["a"] * 500})
    assert (sign * np.diff(scores) >= -1e-12).all()


# -- what is kept


@pytest.mark.parametrize("settings", [{}, {"n_records": N}, {"solver": "output-perturbation", "alpha": 0.1}])
def test_predictions_of_copies_are_the_same(tmp_path, settings):
    settings = {"n_records": N} | settings
    model = fitted(epsilon=1.0, curves=True, **settings)
    scores = model.decision_function(TABLE)
    model.save(tmp_path / "model.json")
    for copy in (privfit.load(tmp_path / "model.json"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(copy.decision_function(TABLE), scores)
        assert copy.schema_ == model.schema_
    assert clone(model).curves is True


def test_a_score_is_the_sum_of_the_curves():
    model = fitted(epsilon=1.0, curves=True)
    age, income, _ = model.schema_.features
    weights = model.coef_[0]
    first = age.shape.n_pieces
    second = first + income.shape.n_pieces
    added = (
        age.shape.at(TABLE["age"], weights[:first])
        + income.shape.at(TABLE["income"], weights[first:second])
        + weights[second + 1 :][np.searchsorted(["a", "b", "c"], TABLE["job"])]
    )
    np.testing.assert_allclose(model.decision_function(TABLE), added + model.intercept_, atol=1e-9)


# -- privacy


def replay(kind, people=False, **settings):
    """Fit 300 records, which have curves, and force what was released on neighbours and on ill people.

    Neighbours differ in a record or, if so said, in a person with three records that have weights.
    """
    label = Label("ill", [False, True]) if kind._link.predicts_classes else NumberLabel("cost", -10, 20)
    columns = [
        Numeric("age", 17, 90),
        Numeric("income", 0, 100_000, missing="indicator"),
        Date("day", "1950-01-01", "2050-01-01"),
    ]
    all_of = TABLE | {"day": np.datetime64("1950-01-01") + (TABLE["age"] * 365).astype(int)}
    extreme = {"age": 1e300, "income": np.nan, "day": np.datetime64("NaT"), "ill": True, "cost": 1e9}
    names, n_own = ["age", "income", "day", label.name], 1
    if people:
        columns += [Identifier("id", rows_per_person=2), Weight("w", 3.0)]
        all_of |= {"id": np.arange(N) // 3, "w": np.arange(N) % 4.0}
        extreme |= {"id": N, "w": 1e300}
        names, n_own = [*names, "id", "w"], 3
    facts = Schema(columns, label)

    def fit_of(table):
        return lambda: kind(20.0, 1e-3, schema=facts, curves=True, **settings).fit(table)

    small = {name: all_of[name][:300] for name in names}
    original = run(fit_of(small))
    assert "edges" in str(original.visible["privacy_"])
    assert not kind._link.predicts_classes or any(
        getattr(event, "what", "") == "targets" for event in original.tape.events[:4]
    )
    more = {name: np.append(small[name], [extreme[name]] * n_own) for name in names}
    fewer = {name: small[name][:-n_own] for name in names}
    for table in (more, fewer):
        again = run(fit_of(table), original=original)
        assert_same(original, again)
        assert_paid_for(original, again)
    ill = np.flatnonzero(TABLE["ill"])[:290]  # of which alone a rule that looked would give no curves
    assert_same(original, run(fit_of({name: all_of[name][ill] for name in names}), original=original))


@pytest.mark.filterwarnings("ignore::privfit.solvers.BudgetWarning")
@pytest.mark.filterwarnings("ignore::privfit.WeakPromiseWarning")
@pytest.mark.parametrize("kind", [DPLogisticRegression, DPLinearSVC, DPQuantileRegressor])
def test_nothing_but_what_was_released_decides_the_edges(kind):
    """The number of records, and whatever they hold, tells through the bought sums alone."""
    replay(kind)
    replay(kind, people=True)
    replay(kind, people=True, max_passes=30)


@pytest.mark.filterwarnings("ignore::privfit.solvers.BudgetWarning")
@pytest.mark.filterwarnings("ignore::privfit.WeakPromiseWarning")
def test_a_rule_that_looks_at_the_records_is_noticed(monkeypatch):
    def peeking(curator, schema):
        n = float(curator._table.n_records)
        return Information(n, curator.reach(n))

    monkeypatch.setattr("privfit.estimators.declared.bought_information", peeking)
    with pytest.raises(AssertionError):
        replay(DPLogisticRegression)
