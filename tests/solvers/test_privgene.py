"""PrivGene, and the curator's question it asks: choose among weight vectors."""

import math

import numpy as np
import pytest
from curators import curator_of
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from one_output import LOSSES
from scipy.special import logsumexp
from scripted import ScriptedNoise

from privfit import DPLinearSVC
from privfit.accounting import BudgetExceeded, Ledger
from privfit.curator import Curator
from privfit.engine.problem import Problem
from privfit.questions import ChangesOfLoss
from privfit.solvers import PrivGene

VALUES = {"logistic": lambda m: np.logaddexp(0, -m), "hinge": lambda m: np.maximum(1 - m, 0)}


def table(n=300, seed=1):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, 3))
    return X, np.where(X @ np.array([3.0, -2.0, 0.5]) + 0.3 + rng.logistic(size=n) > 0, 1.0, -1.0)


def make_curator(X, y, *, loss="logistic", rho=1.0, epsilon=1.0, noise=None, **public):
    ledger = Ledger(rho=rho)
    noise = ScriptedNoise(size=0.0) if noise is None else noise
    engine = Problem.of(X, LOSSES[loss].targets.nearest(y), LOSSES[loss], intercept=True)
    return curator_of(engine, ledger, noise, epsilon=epsilon, delta=1e-6, **public), ledger, noise


# -- the question


@pytest.mark.parametrize("loss", VALUES)
def test_vectors_are_scored_by_clipped_changes_of_the_loss(loss):
    X, y = table()
    rng = np.random.default_rng(0)
    w, candidates = rng.normal(size=4), rng.normal(size=(6, 4))
    curator, ledger, noise = make_curator(X, y, loss=loss)
    penalties = rng.random(6)
    chosen = curator.choose(ChangesOfLoss(candidates, 0.7), 0.1, of=curator.at(w), penalties=penalties)
    Z = np.column_stack([X, np.ones(len(y))])
    changes = np.clip(y[:, None] * (Z @ (candidates - w).T), -0.7, 0.7)
    assert np.mean(np.abs(changes) == 0.7) > 0.2
    m = (y * (Z @ w))[:, None]
    scores = np.sum(VALUES[loss](m + changes) - VALUES[loss](m), axis=0) + penalties - penalties.min()
    ((fed, scale, shape),) = noise.argmax_inputs
    np.testing.assert_allclose(fed, -scores, atol=1e-3)
    assert chosen == [np.argmin(scores)]
    assert shape == "gumbel"
    assert scale == pytest.approx(2 * 0.7 / math.sqrt(8 * 0.1), rel=1e-4)
    assert [(e.what, e.rho) for e in ledger.entries] == [("weights", 0.1)]


def test_winners_are_chosen_one_after_the_other_and_share_the_price():
    X, y = table()
    candidates = np.random.default_rng(0).normal(size=(6, 4))
    curator, ledger, noise = make_curator(X, y)
    chosen = curator.choose(ChangesOfLoss(candidates, 2.0), 0.1, of=curator.at(np.zeros(4)), winners=4)
    scores = noise.argmax_inputs[0][0]
    assert chosen == list(np.argsort(-scores)[:4])  # best first, none twice
    assert [len(fed) for fed, _, _ in noise.argmax_inputs] == [6, 5, 4, 3]
    for _, scale, _ in noise.argmax_inputs:
        assert scale == pytest.approx(4.0 / math.sqrt(8 * 0.1 / 4), rel=1e-4)
    assert ledger.spent == 0.1
    entry = ledger.entries[-1]  # the evidence has a sensitivity and a scale that cost the price of all four
    assert (entry.sensitivity / entry.scale) ** 2 / 8 == pytest.approx(0.1, rel=1e-4)


@pytest.mark.parametrize("winners", [0, 3])
def test_more_winners_than_candidates_are_refused_before_the_charge(winners):
    curator, ledger, _ = make_curator(*table())
    with pytest.raises(ValueError, match="winners must be between 1 and 2"):
        curator.choose(ChangesOfLoss(np.eye(4)[:2], 1.0), 0.1, of=curator.at(np.zeros(4)), winners=winners)
    assert ledger.spent == 0.0


def test_refused_charge_leaves_the_data_unread(monkeypatch):
    curator, ledger, noise = make_curator(*table(), rho=0.01)
    point = curator.at(np.zeros(4))
    monkeypatch.setattr("privfit.engine.points.Line.rise_sums", lambda *a: pytest.fail("looked"))
    with pytest.raises(BudgetExceeded, match=r"weights needs rho = 0\.1"):
        curator.choose(ChangesOfLoss(np.eye(4), 1.0), 0.1, of=point)
    assert ledger.spent == 0.0
    assert not noise.argmax_inputs


@pytest.mark.parametrize("loss", [name for name, loss in LOSSES.items() if loss.lipschitz < math.inf])
@settings(max_examples=40)
@given(
    X=arrays(np.float64, (5, 2), elements=st.floats(-1e6, 1e6, width=32)),
    y=arrays(bool, 5),
    w=arrays(np.float64, 3, elements=st.floats(-50, 50)),
    candidates=arrays(np.float64, (4, 3), elements=st.floats(-50, 50)),
    clip=st.floats(0.01, 20),
)
def test_no_neighbour_moves_the_scores_beyond_their_noise(loss, X, y, w, candidates, clip):
    """The winner's distribution on two neighbours is computed, and its Renyi divergence held to a * rho."""
    signs = np.where(y, 1.0, -1.0)
    logs = []
    for rows in (slice(0, 5), slice(0, 4)):
        curator, _, noise = make_curator(X[rows], signs[rows], loss=loss)
        curator.choose(ChangesOfLoss(candidates, clip), 0.03, of=curator.at(w))
        ((scores, scale, _),) = noise.argmax_inputs
        logs.append(scores / scale - logsumexp(scores / scale))
    for p, q in (logs, logs[::-1]):
        assert np.ptp(p - q) <= math.sqrt(8 * 0.03)
        for a in (1.5, 2.0, 8.0, 64.0):
            assert logsumexp(a * p - (a - 1) * q) / (a - 1) <= a * 0.03


def test_a_record_uses_up_the_width_to_the_last_bit_of_its_rounding():
    """Two vectors that its margin tells apart by twice the clip, which the grid of sums rounds up."""
    clip = 0.75 + 0.6 * 2.0**-21
    fed = []
    for n in (1, 2):
        curator, _, noise = make_curator(np.full((n, 1), 1.0), np.ones(n), loss="hinge")
        candidates = np.array([[-6.0, 0.0], [-4.0, 0.0]])
        curator.choose(ChangesOfLoss(candidates, clip), 0.1, of=curator.at(np.array([-5.0, 0.0])))
        fed.append(noise.argmax_inputs[0])
    moved, allowed = np.ptp(fed[1][0] - fed[0][0]), fed[0][1] * math.sqrt(8 * 0.1)
    assert 2 * clip < moved <= allowed < 2 * clip * (1 + 1e-5)


# -- the search


@pytest.mark.parametrize("alpha", [0.0, 0.05])
@pytest.mark.parametrize("loss", VALUES)
def test_the_authors_variant_moves_one_weight_per_generation(loss, alpha):
    """Against a transcription under the same noise, with the width of differences: 2 * scale."""
    X, y = table()
    n, d, epsilon, rho = 300, 4, 80.0, 3.0
    noise = ScriptedNoise(5)
    curator, ledger, _ = make_curator(
        X, y, loss=loss, rho=rho, epsilon=epsilon, noise=noise, alpha=alpha, n_records=n
    )
    solution = PrivGene(variant="authors").solve(curator)
    draw, Z, w, scale = np.random.default_rng(5), np.column_stack([X, np.ones(n)]), np.zeros(d), 0.5
    assert solution.n_iter == 30  # n epsilon / 800
    for _ in range(30):
        moves = [w + sign * scale * e for sign in (1, -1) for e in np.eye(d)]
        scores = [VALUES[loss](y * (Z @ v)).sum() + n * alpha / 2 * v @ v for v in moves]
        gumbel = draw.gumbel(scale=2 * scale / math.sqrt(8 * rho / 30), size=2 * d)
        w = moves[int(np.argmax(gumbel - scores))]
        scale *= 0.95
    np.testing.assert_allclose(solution.w, w, rtol=1e-9, atol=1e-12)
    assert ledger.spent == pytest.approx(rho)


def test_children_of_the_papers_variant_are_two_parents_crossed_and_one_weight_moved(monkeypatch):
    generations = []
    original = Curator.choose

    def spy(self, question, rho, **settings):
        chosen = original(self, question, rho, **settings)
        generations.append((question.candidates, question.clip, question.candidates[chosen]))
        return chosen

    monkeypatch.setattr(Curator, "choose", spy)
    curator, ledger, _ = make_curator(*table(), noise=ScriptedNoise(2), n_records=300)
    solution = PrivGene(population=30, parents=5).solve(curator)
    assert [len(parents) for _, _, parents in generations] == [5] * 7 + [1]
    np.testing.assert_array_equal(solution.w, generations[-1][2][0])
    assert ledger.spent == pytest.approx(1.0)
    assert np.abs(generations[0][0]).max() <= 0.5
    assert np.abs(generations[0][0]).min(axis=0).max() < 0.25  # spread over the whole interval
    crossed_at, mothers, fathers = set(), set(), set()
    for t, (children, clip, _) in enumerate(generations[1:], 1):
        parents, scale = generations[t - 1][2], 0.5 * 0.95**t
        assert children.shape == (30, 4)
        assert clip == pytest.approx(np.abs(children - children.mean(axis=0)).max())
        for child in children:
            origins = [
                (cut, a, b)
                for cut in range(5)
                for a in range(5)
                for b in range(5)
                for moves in [np.sort(np.abs(child - np.append(parents[a, :cut], parents[b, cut:])))]
                if a != b and np.allclose(moves, [0.0, 0.0, 0.0, scale], atol=1e-12)
            ]
            assert origins
            if t == 1 and len(origins) == 1:  # later, parents are related, and a cut may not show
                crossed_at |= {origins[0][0]}
                mothers |= {origins[0][1]}
                fathers |= {origins[0][2]}
    assert crossed_at == {1, 2, 3}
    assert len(mothers) > 2
    assert len(fathers) > 2


@pytest.mark.parametrize(("epsilon", "generations"), [(1e-3, 8), (50.0, 19), (1e6, 200)])
def test_the_number_of_generations_grows_with_the_promise_within_limits(epsilon, generations):
    curator, _, _ = make_curator(*table(), epsilon=epsilon, n_records=300)
    solution = PrivGene(variant="authors").solve(curator)
    assert solution.n_iter == generations
    assert [step.step for step in solution.trace] == pytest.approx(0.5 * 0.95 ** np.arange(generations))


@pytest.mark.parametrize("variant", ["paper", "authors"])
def test_the_number_of_records_is_bought_unless_declared(variant):
    X, y = table()
    curator, ledger, _ = make_curator(X, y)
    PrivGene(variant=variant, population=10, parents=2).solve(curator)
    assert ledger.entries[0].what == "number of records"
    assert ledger.entries[0].rho == pytest.approx(0.002)
    assert ledger.spent == pytest.approx(1.0, rel=1e-12)


def test_without_an_intercept_every_weight_is_a_columns():
    model = DPLinearSVC(
        1e4, 1e-6, solver="privgene", fit_intercept=False, noise="seeded", random_state=0
    ).fit(*table())
    assert model.coef_.shape == (1, 3)
    assert model.intercept_ == 0.0


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"variant": "other"}, "variant must be one of"),
        ({"mutation": 0.0}, "positive finite mutation"),
        ({"decay": math.inf}, "positive finite decay"),
        ({"c": math.nan}, "positive finite c"),
        ({"relative_clip": -1.0}, "positive finite relative_clip"),
        ({"parents": 1}, "whole number of at least 2 for parents"),
        ({"population": 5}, "parents <= population"),
    ],
)
def test_bad_settings_are_refused(bad, message):
    with pytest.raises(ValueError, match=message):
        PrivGene(**bad)


def test_the_earlier_name_of_a_setting_works_and_warns():
    with pytest.warns(FutureWarning, match=r"PrivGene\(reach=\.\.\.\) is called relative_clip now"):
        assert PrivGene(reach=2.0) == PrivGene(relative_clip=2.0)
