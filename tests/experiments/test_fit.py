import math

import numpy as np
import pytest
from curators import curator_of

from privfit.accounting import Ledger
from privfit.datasets import load
from privfit.engine.problem import Problem
from privfit.experiments.designs import Cell, fold_rows
from privfit.experiments.fit import SampledPrivGene, fit_cell, table
from privfit.losses import LOSSES
from privfit.mechanisms.noise import SeededNoise
from privfit.solvers import PrivGene

SEED = 5


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_measures_what_can_be_worked_out_by_hand(loss):
    """The best constant is wrong about the smaller class, whose share determines its loss."""
    cell = Cell("logistic", "adult", loss, "majority", math.inf, None, 1, 3)
    outcome = fit_cell(cell, SEED)
    rich = load("adult", encoding="paper").target == ">50K"
    train, test = fold_rows(len(rich), "adult", 1, 3, SEED)
    p = rich[train].mean()
    best = -p * np.log(p) - (1 - p) * np.log(1 - p) if loss == "logistic" else 2 * p
    assert outcome.objective == pytest.approx(best, rel=1e-4)
    assert outcome.accuracy == pytest.approx(1 - rich[test].mean())
    assert outcome.records == len(train)


def test_noise_is_the_cells_own_and_repeatable():
    cell = Cell("logistic", "adult", "logistic", "sgd-adv", 0.8, None, 0, 0)
    twin = cell._replace(experiment="svm")  # the same in all but name
    first, again, other = (fit_cell(c, SEED) for c in (cell, cell, twin))
    assert first._replace(seconds=0) == again._replace(seconds=0)
    assert first.objective != other.objective


def test_privgene_on_a_subset_sees_about_that_many_records():
    X, y = np.random.default_rng(0).random((4000, 3)), np.ones(4000)
    engine = Problem.of(X, y, LOSSES["logistic"])
    curator = curator_of(engine, Ledger(rho=1.0), SeededNoise(0), epsilon=1.0, delta=1e-6, n_records=4000)
    sizes = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            PrivGene, "solve", lambda self, asked: sizes.append(asked.open_without_privacy().n_records)
        )
        SampledPrivGene(batch_size=1000).solve(curator)
        SampledPrivGene(batch_size=10_000).solve(curator)
    # six standard deviations: a false alarm in 5e8
    assert abs(sizes[0] - 1000) < 6 * (4000 * 0.25 * 0.75) ** 0.5
    assert sizes[1] == 4000


def test_seconds_are_those_of_the_processor(monkeypatch):
    readings = iter([10.0, 12.5])
    monkeypatch.setattr("privfit.experiments.fit.time.process_time", lambda: next(readings))
    cell = Cell("logistic", "adult", "logistic", "majority", math.inf, None, 0, 0)
    assert fit_cell(cell, SEED).seconds == 2.5


def test_a_table_is_cut_to_its_first_records():
    cell = Cell("logistic", "adult", "logistic", "majority", math.inf, None, 0, 0)
    rich = load("adult", encoding="paper").target[:100] == ">50K"
    train, _ = fold_rows(100, "adult", 0, 0, SEED)
    p = rich[train].mean()
    cut = fit_cell(cell, SEED, records=100)
    assert cut.records == 80
    assert cut.objective == pytest.approx(-p * np.log(p) - (1 - p) * np.log(1 - p), rel=1e-3)


@pytest.mark.parametrize("subset", ["10%", "full"])
def test_the_full_kddcup99_is_fitted_when_it_is_at_hand(monkeypatch, subset):
    asked = []
    monkeypatch.setattr("privfit.experiments.fit.subset_at_hand", lambda: subset)
    monkeypatch.setattr(
        "privfit.experiments.fit.load", lambda name, **settings: asked.append((name, settings))
    )
    table("kddcup99")
    assert asked == [("kddcup99", {"encoding": "paper", "subset": subset})]
