"""The audit of the package by itself: nothing more is proven than is claimed, and planted bugs are found.

A whole audit of a right package fails with probability 1e-3 at most, and each case has its share of that.
Controls have a planted bug; one that is not found out means that the canary has too little power.
"""

import dataclasses
import json
import math

import numpy as np
import pytest
from typer.testing import CliRunner
from weak_attacks import WEAK

from privfit import questions
from privfit.accounting import gdp
from privfit.auditing import bounds, run
from privfit.auditing.answers import CERTAIN, _log_probability_of_winner, log_likelihood_ratio
from privfit.auditing.bounds import (
    epsilon_of_guesses,
    epsilon_of_mu,
    most_telling,
    proven_epsilon,
    shift_over_deviation,
)
from privfit.auditing.run import ALPHA, attack, catalogue, finding_of
from privfit.cli import app
from privfit.curator import Curator
from privfit.mechanisms.noise import SeededNoise
from privfit.solvers import SOLVERS

SEED = 7
MECHANISMS = ("Gaussian noise", "Laplace noise", "selection, gumbel noise")
# with so few runs that a quarter of the noise is found out where the claim is Gaussian
FITS = ("PersonGradientAt", "adaptive, bounds declared", "adaptive, people", "scores of numbers")
CASES = catalogue()


def test_every_question_and_every_private_solver_is_audited():
    names = {name.partition(",")[0].partition(" (")[0] for name in CASES}
    assert set(questions.__all__) <= names
    assert {name for name, solver in SOLVERS.items() if solver.private} <= names
    assert {case.kind for case in CASES.values()} == {
        "mechanism",
        "question",
        "solver",
        "interval",
        "score",
        "people",
    }


def test_mechanisms_hold_and_too_little_noise_is_found_out():
    for found in attack(MECHANISMS, runs=600, seed=SEED):
        assert found.holds, found
        assert found.can_fail, found
        assert found.power > 0.5, found


@pytest.mark.slow
@pytest.mark.parametrize("name", FITS)
def test_fits_and_scores_hold_and_too_little_noise_is_found_out(name):
    case = dataclasses.replace(CASES[name], control=0.5)
    found = finding_of(case, 100, ALPHA / len(CASES), SEED)
    assert found.holds, found
    assert found.can_fail, found
    assert found.power > 0.5, found


@pytest.mark.deep
@pytest.mark.parametrize("name", CASES)
def test_everything_holds_and_too_little_noise_is_found_out(name):
    (found,) = attack([name], runs=1000)
    assert found.holds, found
    assert found.can_fail, found
    assert found.power > 0.5 or name in WEAK, found


# -- the statistics ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("hits", "least"), [(10, 0.6915), (9, 0.5550)])
def test_shares_are_bounded_as_clopper_and_pearson_do(hits, least):
    """The one-sided 97.5% bounds of 10 and 9 hits in 10, from their table, and of no misses: .3085."""
    proven = epsilon_of_guesses(hits, 0, 10, 0.05, delta=0.1)
    assert proven == pytest.approx(math.log((least - 0.1) / 0.3085), abs=1e-3)


@pytest.mark.parametrize("gaussian", [False, True])
def test_bounds_exceed_the_truth_as_seldom_as_they_say(gaussian):
    """With alpha = .2 of 100 audits of a known Gaussian at most 33 exceed it, but for one case in 1000."""
    rng, mu, delta = np.random.default_rng(11), 1.0, 0.05
    epsilon = gdp.epsilon_from_mu(mu, delta)
    exceeded = sum(
        proven_epsilon(rng.normal(mu, 1.0, 200), rng.normal(0.0, 1.0, 200), delta, 0.2, gaussian=gaussian)
        > epsilon
        for _ in range(100)
    )
    assert exceeded <= 33
    twice = rng.normal(2.0 * mu, 1.0, 1000), rng.normal(0.0, 1.0, 1000)
    assert proven_epsilon(*twice, delta, 0.2, gaussian=gaussian) > epsilon


def test_all_cases_share_the_rate_of_false_alarms_however_few_are_audited(monkeypatch):
    """Whoever audits one case after the other is not to have a false alarm more often than said."""
    original, rates = run.finding_of, []

    def noticed(case, runs, alpha, seed=None):
        rates.append(alpha)
        return original(case, runs, alpha, seed)

    monkeypatch.setattr(run, "finding_of", noticed)
    attack(["Gaussian noise"], runs=100, alpha=0.01, seed=SEED)
    assert rates == [0.01 / len(CASES)]


@pytest.mark.parametrize("gaussian", [False, True])
def test_ways_and_sides_share_the_rate_of_false_alarms(gaussian, monkeypatch):
    original, rates = bounds.shares_of, set()

    def noticed(hits, misses, runs, alpha):
        rates.add(alpha)
        return original(hits, misses, runs, alpha)

    monkeypatch.setattr(bounds, "shares_of", noticed)
    numbers = np.arange(40.0)
    proven_epsilon(numbers + 5.0, numbers, 0.05, 0.2, gaussian=gaussian)
    assert rates == {0.05 if gaussian else 0.1}


def test_the_shift_of_a_likelihood_ratio_of_gaussians_is_mu():
    case, noise = CASES["Gaussian noise"], SeededNoise(3)
    present, absent = (
        np.array([log_likelihood_ratio(case.release, there, noise) for _ in range(4000)])
        for there in (True, False)
    )
    assert shift_over_deviation(present, absent) == pytest.approx(case.mu, abs=0.1)  # four standard errors


@pytest.mark.parametrize("gap", [0.0, 0.4, 3.0])
def test_winners_have_the_probabilities_of_their_noise(gap):
    """Of two scores that differ by `gap`: logistic, half an exponential, and (2 + gap) / 4 of one."""
    behind = {
        "gumbel": 1.0 / (1.0 + math.exp(gap)),
        "exponential": 0.5 * math.exp(-gap),
        "laplace": (2.0 + gap) / 4.0 * math.exp(-gap),
    }
    for shape, chance in behind.items():
        scores = np.array([gap, 0.0])
        assert math.exp(_log_probability_of_winner(scores, 1, shape)) == pytest.approx(chance, abs=2e-3)
        assert math.exp(_log_probability_of_winner(scores, 0, shape)) == pytest.approx(1 - chance, abs=2e-3)


def test_the_most_telling_direction_is_that_of_the_shift():
    rng = np.random.default_rng(5)
    absent = rng.normal(size=(2000, 3)) * [1.0, 10.0, 0.1]
    present = rng.normal(size=(2000, 3)) * [1.0, 10.0, 0.1] + [0.0, 0.0, 0.2]
    assert shift_over_deviation(*most_telling(present, absent)) == pytest.approx(2.0, abs=0.25)


@pytest.mark.parametrize("mu", [0.01, 0.3, 1.0, 4.0, 12.0])
@pytest.mark.parametrize("delta", [0.05, 1e-6])
def test_the_epsilon_of_a_mu_is_that_of_the_accounting(mu, delta):
    assert epsilon_of_mu(mu, delta) == pytest.approx(gdp.epsilon_from_mu(mu, delta), abs=1e-5)


# -- that this can fail --------------------------------------------------------------------------------------


def test_a_result_that_depends_on_the_records_leaves_no_doubt():
    """The exact count beside a noisy one."""

    def release(present, noise):
        noisy = noise.gaussian(np.array([10.0 + present]), 1e6)
        return np.append(noisy, 10.0 + present)

    assert log_likelihood_ratio(release, True, SeededNoise(0)) == CERTAIN
    assert log_likelihood_ratio(release, False, SeededNoise(0)) == -CERTAIN


def test_a_scale_that_depends_on_the_records_leaves_no_doubt():
    def release(present, noise):
        return noise.gaussian(np.array([10.0]), 1e6 + present)

    assert log_likelihood_ratio(release, True, SeededNoise(0)) == CERTAIN


def test_a_budget_that_is_four_times_too_large_is_found_out(monkeypatch):
    """The conversion from epsilon to rho and back is wrong, so that both ways agree with each other.

    The shift is then twice what epsilon allows. With each of 40 other seeds the attack proved at least 1.86
    times the claimed epsilon.
    """
    original = gdp.divergence
    monkeypatch.setattr(gdp, "divergence", lambda mu, epsilon: original(0.5 * mu, epsilon))
    (found,) = attack(["Gaussian noise"], runs=2000, seed=SEED)
    assert found.claimed_epsilon == 2.0
    assert not found.holds


def test_a_curator_that_forgets_how_many_records_a_person_has_is_found_out(monkeypatch):
    original = Curator._bounded

    def about_one(self, question, of):
        found = original(self, question, of)
        return dataclasses.replace(found, sensitivity=found.sensitivity / self.relation.records_per_person)

    monkeypatch.setattr(Curator, "_bounded", about_one)
    (found,) = attack(["Gradient, of a person"], runs=600, seed=SEED)
    assert not found.holds


# -- the command ---------------------------------------------------------------------------------------------


def test_the_command_prints_what_it_found(tmp_path):
    chart = tmp_path / "audit.svg"
    words = ["audit", "Gaussian noise", "--runs", "600", "--jobs", "1", "--json", "--plot", str(chart)]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    (found,) = json.loads(done.stdout)["findings"]
    assert found["holds"]
    assert found["proven_epsilon"] <= found["claimed_epsilon"] < found["control_epsilon"]
    assert "<svg" in chart.read_text()


def test_the_command_says_what_can_be_audited():
    done = CliRunner().invoke(app, ["audit", "nonsense"])
    assert done.exit_code == 2
    assert "No audited item has such a name; these exist: Gaussian noise," in done.stderr
