"""A search replayed on neighbours: a record is trained on or scored, never both, and nothing else differs."""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from neighbours import base_table, neighbours, strange_tables
from replay import BLURRED, Charge, Request, assert_same, run

from privfit import DPLinearSVC, DPLogisticRegression, DPSearchCV
from privfit.questions.comparisons import LossDifferences
from privfit.solvers import GradientDescent
from privfit.tuning import parts, search

pytestmark = [
    pytest.mark.filterwarnings("ignore::privfit.WeakPromiseWarning"),
    pytest.mark.filterwarnings("ignore::privfit.solvers.BudgetWarning"),
]

GRID = {"alpha": [0.0, 0.05]}
LAST = 59  # the place of the record that neighbours lack, or that has one more after it


def fitting(table, model=DPLogisticRegression, declared=True, **settings):
    """Return a search of this table, and all that it shows."""

    def fit():
        public = {"classes": (0, 1), "solver": GradientDescent(steps=3)}
        if declared:
            public |= {"n_records": 60, "feature_bounds": (-2.0, 2.0)}
        search = DPSearchCV(model(**public), GRID, 20.0, 1e-3, **settings).fit(*table)
        seen = {name: value for name, value in vars(search).items() if name.endswith("_")}
        models = [search.best_estimator_, *seen.pop("estimators_")]
        del seen["best_estimator_"]
        for number, fitted in enumerate(models):
            seen |= {
                f"{name}{number}_": getattr(fitted, name) for name in ("coef_", "intercept_", "privacy_")
            }
        return SimpleNamespace(**seen)

    return fit


@pytest.fixture(autouse=True)
def placed(request, monkeypatch):
    """Let the record that tells neighbours apart, the last or the one after it, be in one of the parts."""
    honest, held_out = parts.held_out_rows, "held_out" in request.node.originalname

    def with_last(*given):
        held = honest(*given)
        held[LAST:] = held_out
        return held

    monkeypatch.setattr(parts, "held_out_rows", with_last)
    return held_out


def replayed(**settings):
    """Yield for each neighbour what moved in fits, scores and refit."""
    original = run(fitting(base_table(), **settings))
    assert "refusal" not in original.visible, original.visible["refusal"]
    for table in strange_tables():
        assert_same(original, run(fitting(table, **settings), original=original))
    for table in neighbours(np.float64).values():
        again = run(fitting(table, **settings), original=original)
        assert_same(original, again)
        yield moved(original.tape, again.tape)


def moved(first, second):
    """Return how far what was blurred differs, and what was paid for, in each phase of a search."""
    found = {"fits": [], "scores": [], "refit": []}
    phase, rho = "fits", 0.0
    fed = iter(zip(first.fed, second.fed, strict=True))
    for event in first.events:
        if isinstance(event, Charge):
            if event.what == LossDifferences.what:
                phase = "scores"
            elif phase == "scores":
                phase = "refit"
            rho = event.rho
        elif isinstance(event, Request):
            a, b = next(fed)
            if event.kind in BLURRED:
                found[phase].append((float(np.linalg.norm(a - b)), event.settings[0] * math.sqrt(2.0 * rho)))
    return found


def check(*, placed, **settings):
    """Require that a record moves fits or scores, never both, and no phase by more than was paid for it."""
    cases = list(replayed(**settings))
    for phases in cases:
        assert len(phases["scores"]) == 1
        assert bool(phases["refit"]) == settings.get("refit", True)
        for phase, pairs in phases.items():
            same = phase == ("fits" if placed else "scores")
            for distance, allowed in pairs:
                assert distance <= (0.0 if same else allowed), f"{phase} move by {distance}, paid {allowed}"
    moving = "scores" if placed else "fits"
    assert any(distance > 0.0 for phases in cases for distance, _ in phases[moving])


SETTINGS = [
    pytest.param({}, id="logistic"),
    pytest.param({"model": DPLinearSVC, "refit": False, "declared": False}, id="svm", marks=pytest.mark.slow),
    pytest.param({"scoring": "zero_one_loss"}, id="errors", marks=pytest.mark.slow),
]


@pytest.mark.parametrize("settings", SETTINGS)
def test_a_record_that_is_trained_on_moves_fits_alone_by_no_more_than_was_paid_for(settings, placed):
    assert not placed
    check(held_out=0.5, placed=placed, **settings)


@pytest.mark.parametrize("settings", SETTINGS)
def test_a_record_that_is_held_out_moves_scores_alone_by_no_more_than_was_paid_for(settings, placed):
    assert placed
    check(held_out=0.5, placed=placed, **settings)


# -- planted bugs -------------------------------------------------------------------------------------------


def test_a_shuffle_instead_of_coins_is_noticed(monkeypatch, placed):
    honest = parts.held_out_rows

    def shuffled(count, people, share, noise):
        honest(count, people, share, noise)
        held = np.zeros(count, dtype=bool)
        held[np.random.default_rng(0).permutation(count)[: round(share * count)]] = True
        return held

    monkeypatch.setattr(parts, "held_out_rows", shuffled)
    with pytest.raises(AssertionError, match="move by"):
        check(held_out=0.5, placed=placed)


@pytest.mark.slow
def test_a_bound_that_is_too_small_for_records_that_are_held_out_is_noticed(monkeypatch, placed):
    """A tenth of the clip, which the losses of models that differ exceed."""
    honest = LossDifferences.bounded

    def forged(self, of):
        bounded = honest(self, of)
        return replace(bounded, sensitivity=0.1 * bounded.sensitivity)

    monkeypatch.setattr(LossDifferences, "bounded", forged)
    with pytest.raises(AssertionError, match="scores move by"):
        check(held_out=0.5, placed=placed)


@pytest.mark.slow
def test_the_exact_number_of_held_out_records_is_noticed(monkeypatch, placed):
    """Means over it instead of over the number that was bought."""
    seen, asked, made = [], LossDifferences.bounded, search.table_of

    def counting(self, of):
        seen.append(of.table.n_records)
        return asked(self, of)

    def leaky(settings, released, level, within):
        exact = released.value.copy()
        exact[0] = level * seen[-1]
        return made(settings, replace(released, value=exact), level, within)

    monkeypatch.setattr(LossDifferences, "bounded", counting)
    monkeypatch.setattr(search, "table_of", leaky)
    with pytest.raises(AssertionError, match="cv_results_ depends on the records"):
        check(held_out=0.5, placed=placed)
