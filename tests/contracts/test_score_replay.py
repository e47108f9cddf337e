"""Private scores replayed on neighbours: nothing but what was released tells two tables apart."""

import dataclasses

import numpy as np
import pytest
from neighbours import COLUMNS
from replay import Request
from scored import public_model
from sklearn.svm import LinearSVC
from test_solver_replay import overhear, replay_on_all_tables

from privfit import metrics
from privfit.curator import Curator
from privfit.mechanisms import gaussian
from privfit.metrics import examination
from privfit.metrics.cells import Cells

pytestmark = pytest.mark.filterwarnings("ignore::privfit.WeakPromiseWarning")

WEIGHTS = np.array([[1.0, -1.0, 0.5]])
PLAIN = {"curves": True, "n_records": None, "epsilon": 5.0}


def model(probabilities):
    """Return a public model, a new one for every run, because scores of one object add up."""
    made = public_model() if probabilities else public_model(kind=LinearSVC)
    made.coef_, made.n_features_in_ = WEIGHTS, COLUMNS
    return made


def replay(*, probabilities=True, delta=1e-3, **settings):
    return replay_on_all_tables(
        lambda table: lambda: metrics.evaluate(model(probabilities), *table, delta=delta, **settings)
    )


@pytest.mark.parametrize(
    ("probabilities", "curves", "n_records", "epsilon"),
    [(True, True, None, 5.0), (False, True, 60, 0.1), (True, False, 60, 5.0), (False, False, None, 0.1)],
)
def test_neighbours_are_told_apart_by_nothing_but_what_was_released(
    probabilities, curves, n_records, epsilon
):
    original = replay(probabilities=probabilities, curves=curves, n_records=n_records, epsilon=epsilon)
    assert [event.kind for event in original.tape.events if isinstance(event, Request)] == ["gaussian"]
    assert "accuracy" in original.visible["scores"]


def test_neighbours_are_told_apart_by_no_warning_of_a_large_delta():
    """1/delta lies between the number of records and that of a neighbour."""
    replay(**PLAIN | {"epsilon": 20.0, "delta": 1 / 60.5})


# -- planted bugs -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("curves", [True, False])
def test_the_exact_number_of_held_out_records_in_every_score_is_noticed(monkeypatch, curves):
    seen, honest, estimated = [], examination.predicted, Cells.estimated

    def counting(*given):
        predictions = honest(*given)
        seen.append(len(predictions.scores))
        return predictions

    def leaky(released, strategy, n_records):
        return estimated(released, strategy, seen[-1])

    monkeypatch.setattr(examination, "predicted", counting)
    monkeypatch.setattr(Cells, "estimated", leaky)
    with pytest.raises(AssertionError, match="cells depends on the records"):
        replay(**PLAIN | {"curves": curves})


LEAKS = {
    "one sum": slice(5, 6),
    "all sums of the first class": slice(None, 120),
    "all sums of the second class": slice(-120, None),
}


@pytest.mark.parametrize("where", LEAKS)
def test_sums_without_noise_are_noticed(monkeypatch, where):
    honest, heard = Curator.measure, overhear(monkeypatch, "gaussian")

    def leaky(self, *asked, **settings):
        answer = honest(self, *asked, **settings)
        value = answer.value.copy()
        value[LEAKS[where]] = heard[-1][LEAKS[where]]
        return dataclasses.replace(answer, value=value)

    monkeypatch.setattr(Curator, "measure", leaky)
    with pytest.raises(AssertionError, match="cells depends on the records"):
        replay(**PLAIN)


def test_an_exact_count_in_a_bin_of_the_result_is_noticed(monkeypatch):
    heard, estimated = overhear(monkeypatch, "gaussian"), Cells.estimated

    def leaky(released, strategy, n_records):
        cells = estimated(released, strategy, n_records)
        exact = strategy.estimator[0] @ heard[-1]
        return dataclasses.replace(cells, counts=np.append(exact[:1], cells.counts[1:]))

    monkeypatch.setattr(Cells, "estimated", leaky)
    with pytest.raises(AssertionError, match="cells depends on the records"):
        replay(**PLAIN)


def test_an_exact_score_that_is_printed_is_noticed(monkeypatch):
    honest = examination.predicted

    def talkative(*given):
        predictions = honest(*given)
        print(np.mean(np.sign(predictions.scores) == predictions.signs))
        return predictions

    monkeypatch.setattr(examination, "predicted", talkative)
    with pytest.raises(AssertionError, match="printed depends on the records"):
        replay(**PLAIN)


def test_noise_for_half_the_sensitivity_is_noticed(monkeypatch):
    sigma = gaussian.gaussian_sigma
    monkeypatch.setattr(gaussian, "gaussian_sigma", lambda sensitivity, rho: sigma(sensitivity, rho) / 2.0)
    with pytest.raises(AssertionError, match="is paid for"):
        replay(**PLAIN)
