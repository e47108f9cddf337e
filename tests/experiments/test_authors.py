"""The authors' program, pinned by small cases that were worked out by hand, and each correction by itself."""

import math
from itertools import chain, pairwise, repeat
from pathlib import Path

import numpy as np
import pytest
from curators import curator_of
from scipy.sparse import coo_array, csr_array
from scripted import ScriptedNoise
from typer.testing import CliRunner

from privfit import DPLogisticRegression
from privfit.accounting import Ledger, rho_from_epsilon
from privfit.accounting.subsampled import sgd_epsilon
from privfit.cli import app
from privfit.engine.problem import Problem
from privfit.experiments.authors.descent import AuthorsDPAGD
from privfit.experiments.authors.genetic import AuthorsPrivGene, Brood
from privfit.experiments.authors.perturbation import AuthorsObjPert, AuthorsOutPert
from privfit.experiments.authors.program import Given, ProgramModel
from privfit.experiments.authors.programs import PROGRAMS
from privfit.experiments.authors.sgd import AuthorsSGDAdv, AuthorsSGDMA, authors_epsilon, batch_size
from privfit.experiments.designs import AUTHORS, REFERENCES, SEED, WATERFALL
from privfit.experiments.results import Results
from privfit.losses import get_loss
from privfit.solvers import DPAGD, SOLVERS, Solver

DOCS = Path(__file__).parents[2] / "docs"

EPSILON, DELTA = 8.0, 1e-8
ALL = frozenset({"E1", "E4", "E5", "E6", "E10"})
LOGISTIC = get_loss("logistic")
SHARE = EPSILON / 120
RHO_NMAX, RHO_NG = SHARE**2 / 2, SHARE**2 / (4 * math.log(1.25 / DELTA))


def table(n=60, p=3, seed=1):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    return X, np.where(X @ np.array([2.0, -1.0, 0.5]) + 0.3 * rng.normal(size=n) > 0, 1.0, -1.0)


class Script:
    """A generator of random numbers that makes the selection choose as told, and adds no other noise."""

    def __init__(self, choices, normals=()):
        self.choices, self.normals = iter(choices), chain(normals, repeat(None))
        self.selections = 0

    def standard_normal(self, shape):
        draw = next(self.normals)
        return np.zeros(shape) if draw is None else np.asarray(draw)

    def exponential(self, scale, size):
        self.selections += 1
        return np.where(np.arange(size) == next(self.choices), 0.0, 1e12)

    def laplace(self, *, scale, size):
        return -self.exponential(scale, size)


def learn(program, rng, X, y, loss=LOGISTIC, epsilon=EPSILON):
    return program.learn(Given(X=X, signs=y, loss=loss, epsilon=epsilon, delta=DELTA, rng=rng))


def first_gradient(X, y):
    """Sum the gradients at zero, clipped at 3: half of each record with its bias, against its label."""
    Z = np.column_stack([X, np.ones(len(y))])
    each = -y[:, None] * Z / 2
    return (each / np.maximum(1, np.linalg.norm(each, axis=1) / 3)[:, None]).sum(axis=0)


def unit(v):
    return v / np.linalg.norm(v)


def one_move(corrected, *choices, normals=(), regulariser=0.0, moves=1):
    """Return where so many moves lead, the rest of the budget being spent on standing still."""
    X, y = table()
    rng = Script(chain(choices, repeat(0)), normals)
    w, made = learn(AuthorsDPAGD(corrected=frozenset(corrected), regulariser=regulariser), rng, X, y)
    assert made == moves
    return w


def test_e5_the_step_before_the_chosen_one_is_taken():
    g = first_gradient(*table())
    np.testing.assert_allclose(one_move({}, 4), -0.3 * unit(g), atol=1e-6)
    np.testing.assert_allclose(one_move({}, 1), 0.0)
    np.testing.assert_allclose(one_move({"E5"}, 4), -0.4 * unit(g), atol=1e-6)


def test_e5_a_gradient_is_paid_for_twice():
    X, y = table()
    rho = rho_from_epsilon(EPSILON, DELTA, "classic")
    twice = 1 + math.floor((rho - RHO_NG - RHO_NMAX) / (2 * RHO_NG + RHO_NMAX))
    once = math.floor(rho / (RHO_NG + RHO_NMAX))
    assert twice < once
    for corrected, expected in (({}, twice), ({"E5"}, once)):
        program = AuthorsDPAGD(corrected=frozenset(corrected), regulariser=0.0)
        assert learn(program, Script(repeat(3)), X, y)[1] == expected


def test_e1_only_the_first_and_the_latest_measurement_are_averaged():
    g, draws = first_gradient(*table()), np.random.default_rng(0).normal(size=(3, 4))
    prices = np.array([RHO_NG, 0.1 * RHO_NG, 0.11 * RHO_NG])
    noisy = g + 3 / np.sqrt(2 * prices)[:, None] * draws
    kept = 1.1 / 1.21  # as if the first had become what the second made of it
    dropped = kept * noisy[0] + (1 - kept) * noisy[2]
    np.testing.assert_allclose(one_move({}, 0, 0, 11, normals=draws), -unit(dropped), atol=1e-6)
    averaged = (prices[:, None] * noisy).sum(axis=0)
    np.testing.assert_allclose(one_move({"E1"}, 0, 0, 11, normals=draws), -unit(averaged), atol=1e-6)


def test_e6_the_regulariser_is_added_to_the_unit_vector():
    X, y = table()
    strength, first = 0.5, -unit(first_gradient(X, y))
    again = Problem.of(X, y, LOGISTIC).at(first).gradient_sum(3.0)
    theirs = one_move({}, 11, 11, regulariser=strength, moves=2)
    np.testing.assert_allclose(theirs, first - (unit(again) + strength * first), atol=1e-6)
    ours = one_move({"E6"}, 11, 11, regulariser=strength, moves=2)
    np.testing.assert_allclose(ours, first - unit(again + 60 * strength * first), atol=1e-6)


def test_e10_steps_are_never_longer_than_two():
    def longest(corrected):
        """Return the eleventh step, the longest candidate having been chosen ten times before."""
        tenth, eleventh = (
            one_move({"E5", *corrected}, *repeat(20, moves), moves=moves) for moves in (10, 11)
        )
        return np.linalg.norm(eleventh - tenth)

    assert longest({}) == pytest.approx(2.0)
    assert longest({"E10"}) == pytest.approx(2.2)


class Known(Script):
    """Hands out one vector of noise for the first selection, and keeps the scale that was asked for."""

    def __init__(self, draws):
        super().__init__(repeat(0))
        self.draws, self.scales = iter([draws]), []

    def exponential(self, scale, size):
        self.scales.append(scale)
        draws = next(self.draws, None)
        return super().exponential(scale, size) if draws is None else draws

    def laplace(self, *, scale, size):
        first = not self.scales
        return self.exponential(scale, size) * (1.0 if first else -1.0)


def test_e4_the_smallest_score_plus_exponential_noise_is_chosen():
    X, y = table()
    steps, direction = np.linspace(0, 2, 21), unit(first_gradient(X, y))
    slopes = np.column_stack([X, np.ones(60)]) @ direction
    scores = np.logaddexp(0, y[:, None] * np.outer(slopes, steps)).clip(max=3).sum(axis=0)
    differed = 0
    for seed in range(10):
        noise = np.random.default_rng(seed).exponential(40.0, 21)
        for corrected, chosen in (({}, np.argmin(scores + noise)), ({"E4"}, np.argmin(scores - noise))):
            rng = Known(noise)
            w, _ = learn(AuthorsDPAGD(corrected=frozenset({"E5", *corrected}), regulariser=0.0), rng, X, y)
            assert np.linalg.norm(w) == pytest.approx(steps[chosen], abs=1e-6)
            assert rng.scales[0] == pytest.approx(3 / math.sqrt(2 * RHO_NMAX))
        differed += np.argmin(scores + noise) != np.argmin(scores - noise)
    assert differed > 5


@pytest.mark.parametrize("regulariser", [0.0, 0.05])
@pytest.mark.parametrize("loss", ["logistic", "hinge"])
@pytest.mark.parametrize("seed", [5, 6])
def test_with_everything_corrected_it_is_dpagd(loss, regulariser, seed):
    X, y = table()
    program = AuthorsDPAGD(corrected=ALL, regulariser=regulariser)
    w, moves = learn(program, np.random.default_rng(seed), X, y, get_loss(loss))
    ledger = Ledger(rho=rho_from_epsilon(EPSILON, DELTA, "classic"))
    problem = Problem.of(X, y, get_loss(loss))
    settings = {"epsilon": EPSILON, "delta": DELTA, "alpha": regulariser, "n_records": 60}
    solution = DPAGD().solve(curator_of(problem, ledger, ScriptedNoise(seed), **settings))
    assert moves == solution.n_iter > 20
    np.testing.assert_allclose(w, solution.w, rtol=1e-3, atol=1e-3)


def test_the_stages_correct_one_erratum_each():
    stages = [PROGRAMS[name] for name in WATERFALL if name in PROGRAMS]
    added = [b.corrected - a.corrected for a, b in pairwise(stages)]
    assert stages[0] == PROGRAMS["authors-dpagd-NOT-PRIVATE"] == AuthorsDPAGD()
    assert added == [{"E1"}, {"E4"}, {"E5"}, {"E6"}, {"E10"}]
    for name in (name for name in WATERFALL if name.startswith("authors-e")):
        assert PROGRAMS[name].private != name.endswith("NOT-PRIVATE")
        assert name.upper().split("-")[1] in PROGRAMS[name].corrected


def test_a_step_of_sgd_costs_what_the_paper_prints():  # E9
    q = batch_size(39_073) / 39_073
    assert batch_size(39_073) == 207
    assert authors_epsilon(q, 4.0, 1, 1e-8) == pytest.approx(math.log(1e8) / 32, rel=2e-4)
    assert f"{authors_epsilon(q, 4.0, 1, 1e-8):.4f}" == "0.5757"


def test_what_the_page_says_of_the_prices_of_sgd_ma():
    """The accountant reckons with C; sums over batches of a fixed size move by 2 C, half the multiplier."""
    q = batch_size(39_073) / 39_073
    stated = [f"{authors_epsilon(q, 4.0, steps, 1e-8):.3f}" for steps in (1, 20_000)]
    right = [[f"{sgd_epsilon(2.0, q, t, 1e-8, name):.3f}" for t in (1, 20_000)] for name in ("rdp", "pld")]
    page = " ".join((DOCS / "authors.md").read_text().split())
    assert f"states {stated[0]} for one step and {stated[1]} for 20,000" in page
    assert (
        f"would cost {' and '.join(right[0])} with all orders, and {' and '.join(right[1])} with PLD" in page
    )


@pytest.mark.parametrize(("epsilon", "steps"), [(0.5, 0), (0.6, 100), (0.8, 1000), (2.0, 20_000)])
def test_sgd_ma_runs_the_most_steps_of_the_list(monkeypatch, epsilon, steps):
    X, y = csr_array((40_000, 2)), np.ones(40_000)
    taken = []
    monkeypatch.setattr("privfit.experiments.authors.sgd._walk", lambda _, steps, *rest: taken.append(steps))
    learn(AuthorsSGDMA(), None, X, y, epsilon=epsilon)
    assert taken == [steps]


class Batches(Script):
    """Draws the first records as a batch, and keeps what was asked for."""

    def __init__(self):
        super().__init__(())
        self.asked = []

    def choice(self, n, size, *, replace):
        self.asked.append((n, size, replace))
        return np.arange(size)


def test_sgd_adv_steps_by_the_mean_over_a_batch_of_fixed_size():
    X, y = table(500)
    rng = Batches()
    w, steps = learn(AuthorsSGDAdv(), rng, X, y, epsilon=1.0)
    assert steps == 1
    assert rng.asked == [(500, 32, False)]  # int(sqrt(500) + 10), without replacement
    np.testing.assert_allclose(w, -0.1 * first_gradient(X[:32], y[:32]) / 32, atol=1e-6)


def test_sgd_adv_has_the_noise_of_advanced_composition():
    X, y = table(500)
    rng = Batches()
    rng.normals = iter([np.ones(4)])
    w, _ = learn(AuthorsSGDAdv(), rng, X, y, epsilon=1.0)
    share = 1.0 / (2 * math.sqrt(2 * math.log(2e8))) / (2 * 32 / 500)
    sigma = 6 / share * math.sqrt(2 * math.log(2.5e8))
    np.testing.assert_allclose(w, -0.1 * (first_gradient(X[:32], y[:32]) + sigma) / 32, atol=1e-6)


def test_outpert_blurs_unclipped_steps_with_noise_for_records_of_norm_one():
    X, y = table()
    program = AuthorsOutPert(steps=1, regulariser=0.0)
    w, _ = learn(program, Script((), [np.ones(4)]), 100 * X, y, epsilon=0.5)
    Z = np.column_stack([100 * X, np.ones(60)])
    sigma = math.sqrt(2 * math.log(2e8)) * (3 / 60) / 0.5
    np.testing.assert_allclose(w, (y[:, None] * Z / 2).sum(axis=0) / 60 + sigma, atol=1e-6)
    assert program.sees_the_test_fold


def test_objpert_scales_rows_before_the_bias_and_does_not_regularise_it():
    X, y = table()
    program, epsilon = AuthorsObjPert(), 0.5
    draws = np.random.default_rng(0).normal(size=4)
    rows = program.rows(X)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1.0)
    w, _ = learn(program, Script((), [draws]), rows, y, epsilon=epsilon)
    b = math.sqrt(8 * math.log(2e8) + 4 * epsilon) / epsilon * draws
    Z = np.column_stack([rows, np.ones(60)])
    slope = -(y / (1 + np.exp(y * (Z @ w)))) @ Z + b + 60 * 0.001 * w
    slope[:3] += (2 + 2 / epsilon) * w[:3]  # not the bias
    np.testing.assert_allclose(slope / 60, 0.0, atol=2e-4)


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
@pytest.mark.parametrize("place", range(8))
def test_privgenes_losses_are_those_of_its_candidates(loss, place):
    rng = np.random.default_rng(place)
    Z, y = coo_array(rng.random((50, 4)) * (rng.random((50, 4)) < 0.5)), rng.choice([-1.0, 1.0], 50)
    brood = Brood(rng.normal(size=4), np.zeros(4), 0.5, 0).next(place, 0.95)
    margins = y[:, None] * (Z @ brood.candidates().T)
    each = np.logaddexp(0, -margins) if loss == "logistic" else np.maximum(1 - margins, 0)
    np.testing.assert_allclose(brood.losses(Z, y, get_loss(loss)), each.sum(axis=0))


def test_privgenes_winner_moves_on_in_its_own_place():
    first = Brood(np.zeros(3), np.zeros(3), 0.5, 0)
    up, down = first.next(2, 0.5), first.next(3, 0.5)
    np.testing.assert_allclose(up.winner, [0, 0.5, 0])
    np.testing.assert_allclose(up.moved, [0, 0.75, 0])
    expected = [[0.25, 0.5, 0], [-0.25, 0.5, 0], [0, 0.75, 0], [0, 0.5, 0], [0, 0.75, 0.25], [0, 0.75, -0.25]]
    np.testing.assert_allclose(up.candidates(), expected)
    np.testing.assert_allclose(down.moved, [0, -0.75, 0])
    expected = [[0.25, -0.5, 0], [-0.25, -0.5, 0], [0, -0.25, 0], [0, -0.75, 0]]
    np.testing.assert_allclose(down.candidates()[:4], expected)


def test_privgene_answers_with_the_winner_moved_on():
    class First(Script):
        def choice(self, n, *, p):
            return int(np.argmax(p))

    X, y = csr_array((400, 2)), np.ones(400)  # the bias alone matters; up is better
    w, generations = learn(AuthorsPrivGene(), First(()), X, y, epsilon=4.0)
    assert generations == 2
    np.testing.assert_allclose(w, [0, 0, 0.5 + 0.475 + 0.45125])


@pytest.mark.parametrize("name", PROGRAMS)
def test_no_estimator_and_no_name_leads_to_a_program(name):
    assert name not in SOLVERS
    assert not isinstance(PROGRAMS[name], Solver)
    X, y = table()
    with pytest.raises(ValueError, match="solver must be a name or a solver object"):
        DPLogisticRegression(solver=PROGRAMS[name]).fit(X, y)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if "sgd-ma" in name else ()) for name in AUTHORS]
)
def test_a_program_learns(name):
    rng = np.random.default_rng(0)
    X = rng.random((3000, 3))
    y = (X @ [4.0, -4.0, 1.0] + 0.1 * rng.normal(size=3000) > 0.5).astype(int)
    settings = {"epsilon": 20.0, "delta": 1e-6, "rng": rng}
    model = ProgramModel(PROGRAMS[name], "hinge", **settings).fit(csr_array(X), y)
    assert model.score(csr_array(X), y) > 0.85
    assert model.coef_.shape == (1, 3)
    assert model.n_iter_ > 0


@pytest.mark.slow
def test_reproduce_authors_from_the_command_line(tmp_path):
    options = ["--smoke", "--dataset", "adult", "--jobs", "1", "--out", str(tmp_path)]
    result = CliRunner().invoke(app, ["reproduce", "authors", *options])
    assert result.exit_code == 0, result.output
    out = tmp_path / "smoke"
    for name, algorithms in (("authors", AUTHORS), ("authors-svm", AUTHORS), ("waterfall", WATERFALL)):
        found = {cell.algorithm for cell in Results(out / f"{name}.csv", SEED).finished()}
        assert found == {*algorithms, *REFERENCES}
        assert (out / f"{name}.png").stat().st_size > 5000
    assert (out / "waterfall-objective.svg").stat().st_size > 5000
    page = (out / "summary.md").read_text()
    assert page.count("| authors' DP-AGD: NOT PRIVATE | ") == 6
