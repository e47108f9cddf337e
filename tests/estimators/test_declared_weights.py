"""Estimators with a constraint set, with monotone columns, and with a public start."""

import numpy as np
import pandas as pd
import pytest
from scripted import ScriptedNoise
from toy_regressor import ToyRegressor  # noqa: F401  # a fixture

import privfit
from privfit import DPLinearRegression, DPLogisticRegression, DPPoissonRegressor, Ledger, Schema
from privfit.accounting.relation import ONE_RECORD
from privfit.curator import Curator
from privfit.engine.problem import Problem
from privfit.losses import LOSSES
from privfit.penalties import Ball, Box, NonNegative, Ridge, Within
from privfit.schema import Label, Numeric
from privfit.solvers import SOLVERS, GradientDescent, get_solver
from privfit.solvers.calibration import calibrated_start

RNG = np.random.default_rng(0)
X = RNG.normal(size=(1000, 3)) * [1.0, 10.0, 0.1]
Y = (X @ [1.0, -0.1, 5.0] + RNG.logistic(size=1000) > 0).astype(int)
BOUNDS = {"feature_bounds": (-5.0 * np.array([1.0, 10.0, 0.1]), 5.0 * np.array([1.0, 10.0, 0.1]))}
TAKE_A_START = {"adaptive", "dpagd", "dpagd-modern", "gradient-descent", "newton"}
SEEDED = {"noise": "seeded", "random_state": 0}


@pytest.mark.parametrize("solver", sorted(TAKE_A_START - {"newton"}))
def test_released_weights_lie_in_random_sets_to_the_last_bit(solver):
    rng = np.random.default_rng(1)
    for _ in range(2):
        low = rng.normal(size=3)
        for allowed in (Ball(10.0 ** rng.uniform(-3, 0)), Box(low, low + rng.random(3)), NonNegative()):
            model = DPLogisticRegression(1.0, solver=solver, constraint=allowed, **BOUNDS, **SEEDED)
            weights = model.fit(X, Y).coef_[0]
            assert allowed.holds(weights)
            if isinstance(allowed, Ball):
                assert np.linalg.norm(weights) <= allowed.radius


@pytest.mark.filterwarnings("ignore::privfit.WeakPromiseWarning")
def test_a_set_is_in_the_units_of_the_coefficients_of_a_regressor(ToyRegressor):  # noqa: F811
    """The solver sees targets in [-1, 1], and weights a thousand times smaller than those released."""
    target = 3000.0 + 200.0 * X[:, 0] + 5.0 * X[:, 1]
    free, loose, tight = (
        ToyRegressor(1e4, target_bounds=(0.0, 6000.0), constraint=allowed, **BOUNDS, **SEEDED).fit(X, target)
        for allowed in (None, Ball(300.0), Ball(100.0))
    )
    for model in (free, loose):
        assert np.linalg.norm(model.coef_) == pytest.approx(200.0, rel=0.05)
    assert 99.0 < np.linalg.norm(tight.coef_) <= 100.0


@pytest.mark.filterwarnings("ignore::privfit.WeakPromiseWarning")
def test_a_set_and_a_start_follow_targets_to_the_unit_that_a_solver_buys():
    """The targets use a hundredth of their bounds, and the default solver measures them in their own size."""
    target = 3000.0 + 20.0 * X[:, 0] + 0.5 * X[:, 1]
    settings = {"target_bounds": (0.0, 6000.0), **BOUNDS, **SEEDED}
    for declared in ({}, {"start": ([20.0, 0.5, 0.0], 3000.0)}, {"constraint": NonNegative()}):
        model = DPLinearRegression(1e3, **declared, **settings).fit(X, target)
        assert model.coef_[0] == pytest.approx(20.0, rel=0.2)
    tight = DPLinearRegression(1e3, constraint=Ball(10.0), **settings).fit(X, target)
    assert 5.0 < np.linalg.norm(tight.coef_) <= 10.0  # the mean of noisy points of the border lies inside


@pytest.mark.filterwarnings("ignore::privfit.WeakPromiseWarning")
@pytest.mark.parametrize(
    "declared",
    [
        {"constraint": NonNegative()},
        {"constraint": Box(-1.0, 1.0)},
        {"start": ([0.5, 0.02, 0.0], -1.0)},
        {"start": ([-50.0, 5.0, 300.0], 4.0)},
    ],
)
def test_models_of_counts_fit_with_a_set_or_a_start_as_well_as_without(declared):
    """The counts use a fiftieth of their bounds; noise is negligible at this epsilon."""
    counts = np.random.default_rng(2).poisson(np.exp(0.5 * X[:, 0] + 0.02 * X[:, 1] - 1.0))
    settings = {"target_bounds": (0, 50), **BOUNDS, **SEEDED}
    plain = DPPoissonRegressor(1e3, **settings).fit(X, counts)
    model = DPPoissonRegressor(1e3, **declared, **settings).fit(X, counts)
    assert model.score(X, counts) == pytest.approx(plain.score(X, counts), abs=0.01)
    assert model.coef_[:2] == pytest.approx([0.5, 0.02], rel=0.25)


def test_a_set_of_weights_of_counts_that_excludes_zero_is_kept():
    counts = np.random.default_rng(2).poisson(np.exp(0.5 * X[:, 0] - 1.0))
    allowed = Box([0.1, 0.01, -1.0], [0.2, 0.02, -0.5])
    model = DPPoissonRegressor(1.0, target_bounds=(0, 50), constraint=allowed, **BOUNDS).fit(X, counts)
    assert allowed.holds(model.coef_)


def test_another_unit_of_amounts_moves_the_intercept_alone():
    penalty = Within(0.5, np.array([2.0, 4.0, 13.0]), constraint=Ball(6.0))
    facts = {"epsilon": 1.0, "delta": 1e-6, "relation": ONE_RECORD, "penalty": penalty}
    problem = Problem.of(X[:, :2], Y.astype(float), LOSSES["poisson"])
    curator = Curator(problem, Ledger(rho=1.0), ScriptedNoise(size=0.0), **facts)
    moved = curator.retargeted(0.0, 2.0, LOSSES["poisson"]).penalty
    np.testing.assert_array_equal(moved.start, [2.0, 4.0, 13.0 - np.log(2.0)])
    assert moved.constraint == Ball(6.0)


def test_a_set_for_several_classes_is_refused_in_one_plain_sentence():
    ledger = Ledger(epsilon=1.0, delta=1e-6)
    model = DPLogisticRegression(0.5, classes=(0, 1, 2), constraint=NonNegative(), ledger=ledger, **BOUNDS)
    with pytest.raises(ValueError, match=r"^A constraint set or a start needs a model of two classes, of nu"):
        model.fit(X, Y)
    assert ledger.entries == ()


def test_a_penalty_says_the_same_of_targets_in_another_unit():
    penalty = Within(0.5, np.array([2.0, 4.0, 13.0]), constraint=Ball(6.0)).retargeted(3.0, 2.0)
    np.testing.assert_array_equal(penalty.start, [1.0, 2.0, 5.0])
    assert penalty.constraint == Ball(3.0)
    assert Ridge(0.5).retargeted(3.0, 2.0) == Ridge(0.5)


def frame():
    return pd.DataFrame(X, columns=["a", "b", "c"]).assign(label=np.where(Y == 1, "yes", "aye"))


def schema(positive, **directions):
    columns = [
        Numeric(name, -5.0 * size, 5.0 * size, monotone=directions.get(name, ""))
        for name, size in zip("abc", (1.0, 10.0, 0.1), strict=True)
    ]
    return Schema(columns, Label("label", ["aye", "yes"], positive=positive))


@pytest.mark.parametrize("positive", ["yes", "aye"])
def test_a_monotone_column_moves_the_odds_of_the_positive_class_in_its_direction_only(positive):
    sign = 1.0 if positive == "yes" else -1.0  # of the class that `coef_` speaks for
    model = DPLogisticRegression(4.0, schema=schema(positive, a="up", b="up"), **SEEDED).fit(frame())
    a, b, c = sign * model.coef_[0]
    assert min(a, b) >= 0.0
    assert (a == 0.0) == (positive == "aye")
    assert (b == 0.0) == (positive == "yes")
    assert sign * c > 0.0
    assert "the weights of monotone columns have the declared sign" in model.privacy_.text


def test_monotone_columns_are_written_and_read():
    declared = schema("yes", a="up", b="down")
    text = declared.to_toml()
    assert 'monotone = "up"' in text
    assert text.index('monotone = "up"') > text.index("high")
    assert Schema.from_toml(text) == Schema.from_dict(declared.to_dict()) == declared
    with pytest.raises(ValueError, match=r"monotone of column 'a' must be 'up' or 'down', not 'rising'\."):
        Numeric("a", 0, 1, monotone="rising")


def test_the_statement_and_the_file_say_what_was_declared(tmp_path):
    start = ([1.0, 0.0, 0.0], 0.5)
    model = DPLogisticRegression(1.0, constraint=NonNegative(), start=start, **BOUNDS).fit(X, Y)
    said = (
        "the constraint on the weights, no weight is negative, is public",
        "the weights that the fit started from, declared as start, are public",
    )
    model.save(tmp_path / "model.json")
    for statement in (model.privacy_, privfit.load(tmp_path / "model.json").privacy_):
        assert set(said) <= set(statement.assumptions)
    plain = DPLogisticRegression(1.0, **BOUNDS).fit(X, Y)
    assert not any("constraint" in one or "start" in one for one in plain.privacy_.assumptions)


class Watching(Curator):
    """Keeps the raw weights at which gradients are asked for, and along which."""

    def measure(self, question, rho, **of):
        w = of["of"].w if of else getattr(question, "w", None)
        if w is not None:
            self._noise.asked.append(self.raw_weights(w))
        return super().measure(question, rho, **of)

    def projected(self, w):
        self._noise.asked.append(self.raw_weights(w))
        return super().projected(w)

    def _over(self, records, **changed):
        other = super()._over(records, **changed)
        other.__class__ = Watching
        return other


@pytest.mark.parametrize("solver", sorted(TAKE_A_START))
def test_a_start_is_where_the_first_gradient_is_asked_for_in_raw_units(solver):
    problem = Problem.of(X, np.where(Y, 1.0, -1.0), LOSSES["logistic"])
    start = np.array([0.2, -0.05, 1.0, 0.7])
    noise = ScriptedNoise(size=0.0)
    noise.asked = []
    facts = {"epsilon": 1.0, "delta": 1e-6, "relation": ONE_RECORD, "n_records": 1000}
    get_solver(solver).solve(Watching(problem, Ledger(rho=0.5), noise, penalty=Ridge(0.0, start), **facts))
    np.testing.assert_allclose(noise.asked[0], start, rtol=1e-12)


def test_a_start_at_the_optimum_stays_there_without_noise():
    exact = DPLogisticRegression(solver="nonprivate").fit(X, Y)
    best = np.append(exact.coef_[0], exact.intercept_)
    problem = Problem.of(X, np.where(Y, 1.0, -1.0), LOSSES["logistic"])
    facts = {"epsilon": 1.0, "delta": 1e-6, "relation": ONE_RECORD, "n_records": 1000}
    noise = ScriptedNoise(size=0.0)
    curator = Curator(problem, Ledger(rho=0.5), noise, penalty=Ridge(0.0, best), **facts)
    np.testing.assert_allclose(GradientDescent(clip=1e3).solve(curator).w, best, atol=1e-3)


def test_a_start_that_points_the_wrong_way_is_scaled_down_and_a_good_one_kept():
    """Without noise, the walk begins at the scale and the intercept that suit the start's direction."""
    exact = DPLogisticRegression(solver="nonprivate").fit(X, Y)
    best = np.append(exact.coef_[0], exact.intercept_)
    problem = Problem.of(X, np.where(Y, 1.0, -1.0), LOSSES["logistic"])
    facts = {"epsilon": 1.0, "delta": 1e-6, "relation": ONE_RECORD, "n_records": 1000}
    for start, kept in ((best, 1.0), (-best, 0.0)):
        curator = Curator(
            problem, Ledger(rho=0.5), ScriptedNoise(size=0.0), penalty=Ridge(0.0, start), **facts
        )
        w = curator.raw_weights(calibrated_start(curator, 1000.0, 1000.0, 1.0))
        assert w[:3] @ start[:3] / (start[:3] @ start[:3]) == pytest.approx(kept, abs=0.1)
        assert curator.remaining == pytest.approx(0.9 * 0.5)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"constraint": "non-negative"}, "constraint must be a set of privfit.penalties"),
        ({"constraint": NonNegative}, "constraint must be a set of privfit.penalties"),
        ({"constraint": Box([0.0, 1.0], 2.0)}, "bounds for 2 columns, and the model has 3 weights"),
        ({"start": 3.0}, r"start must be \(coef, intercept\)"),
        ({"start": ([1.0, np.nan, 0.0], 0.0)}, r"start must be \(coef, intercept\)"),
        ({"start": (np.zeros((2, 3)), np.zeros(2))}, r"start must be \(coef, intercept\)"),
        ({"start": ([1.0, 2.0], 0.0)}, "start has 2 weights, and the model has 3"),
        ({"start": (np.zeros(3), 1.0), "fit_intercept": False}, "start has an intercept"),
    ],
)
def test_settings_that_make_no_sense_are_refused_before_a_charge(settings, said):
    ledger = Ledger(epsilon=1.0, delta=1e-6)
    with pytest.raises(ValueError, match=said):
        DPLogisticRegression(0.5, ledger=ledger, **BOUNDS, **settings).fit(X, Y)
    assert ledger.entries == ()


def test_a_constraint_beside_monotone_columns_is_refused():
    with pytest.raises(ValueError, match="monotone columns, which are a constraint of their own"):
        DPLogisticRegression(1.0, schema=schema("yes", a="up"), constraint=Ball(1.0)).fit(frame())


@pytest.mark.parametrize("solver", sorted({name for name in SOLVERS if SOLVERS[name].private} - TAKE_A_START))
def test_solvers_that_start_elsewhere_refuse_a_start(solver):
    with pytest.raises(ValueError, match=r"no start=.*would do: adaptive, dpagd, dpagd-mod"):
        DPLogisticRegression(1.0, solver=solver, start=(np.zeros(3), 0.0), **BOUNDS).fit(X, Y)
