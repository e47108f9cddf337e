"""The black-box audit for people with several records: neighbours differ in all records of one of them."""

import dataclasses

import numpy as np
import pytest
from replay import noise_from
from test_audit import ALPHA, DELTA, EPSILON, FITS, PILOT, Noise, proven_epsilon

from privfit import DPLinearSVC
from privfit.accounting import Gaussian, Ledger
from privfit.accounting.relation import Relation
from privfit.curator import Curator
from privfit.engine import person_gradients
from privfit.engine.persons import Persons
from privfit.engine.problem import Problem
from privfit.losses import LOSSES
from privfit.questions import PersonGradientAt
from privfit.solvers import GradientDescent

K, VISITS = 3, 7  # records of the person that are used at most, and that there are


def weights(with_person, noise):
    """Return the weights of many fits of a table in which only that person's records have a feature."""
    records = 4 + VISITS * with_person
    X = np.append(np.zeros(4), np.ones(records - 4))[:, None]
    y, who = (
        np.append(np.arange(4) % 2 == 0, np.ones(records - 4, dtype=bool)),
        np.minimum(np.arange(records), 4),
    )
    solver = GradientDescent(steps=2, clip=1.0, step=0.1)
    public = {"classes": (False, True), "fit_intercept": False, "solver": solver, "rows_per_person": K}
    with noise_from(noise):
        fits = (
            DPLinearSVC(EPSILON, DELTA, **public).fit(X, y, groups=who).coef_[0, 0]
            for _ in range(PILOT + FITS)
        )
        return np.array(list(fits))


def audit(releases, seed):
    noise = Noise(seed, 1.0)
    without, with_it = (releases(with_person, noise) for with_person in (False, True))
    return max(proven_epsilon(with_it, without, ALPHA / 2), proven_epsilon(-without, -with_it, ALPHA / 2))


@pytest.mark.deep
@pytest.mark.filterwarnings("ignore")
def test_nobody_proves_more_than_is_promised_to_a_person_and_a_forgotten_relation_is_found_out(monkeypatch):
    assert audit(weights, seed=1) <= EPSILON
    begun = Curator.__init__

    def about_one(self, *arguments, relation, **settings):
        begun(self, *arguments, relation=dataclasses.replace(relation, records_per_person=1), **settings)

    monkeypatch.setattr(Curator, "__init__", about_one)
    assert audit(weights, seed=2) > EPSILON


def gradients(with_person, noise):
    """Return noisy sums of gradients, along the records of the person who may be there: five in a row."""
    rows = np.vstack([np.zeros((2, 1)), np.full((5 * with_person, 1), 8.0)])
    persons = Persons.of(np.minimum(np.arange(len(rows)), 2), 5)
    problem = Problem.of(rows, np.ones(len(rows)), LOSSES["logistic"], intercept=False, persons=persons)
    promise = Gaussian.of(epsilon=EPSILON, delta=DELTA)
    found = []
    for _ in range(PILOT + FITS):
        ledger = Ledger.keeping(dataclasses.replace(promise, person_id="who"))
        relation = Relation(records_per_person=5, person_id="who")
        curator = Curator(problem, ledger, noise, epsilon=EPSILON, delta=DELTA, relation=relation)
        found.append(-curator.measure(PersonGradientAt(np.zeros(1), 0.5), ledger.rho).value[0])
    return np.array(found)


def test_the_clip_of_a_persons_sum_hides_the_person_and_that_of_each_record_does_not(monkeypatch):
    """An honest audit fails with probability ALPHA at most; seeds are fixed."""
    assert 0.5 < audit(gradients, seed=3) <= EPSILON
    monkeypatch.setattr(
        person_gradients, "gradient_sums_at", lambda problem, w, clip: problem.gradient_sums_at(w, clip)
    )
    assert audit(gradients, seed=4) > EPSILON
