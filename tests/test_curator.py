import inspect
import math
import re
from dataclasses import dataclass, replace
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from pkgutil import iter_modules

import numpy as np
import pytest
from curators import curator_of
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from one_output import LOSSES
from scripted import ScriptedNoise
from watched import Watched

from privfit import questions
from privfit.accounting import BudgetExceeded, Ledger
from privfit.curator import Curator, SealedLine, SealedPoint
from privfit.engine.persons import Persons
from privfit.engine.problem import Problem
from privfit.losses.targets import TwoLabels
from privfit.questions import (
    ChangesOfLoss,
    ClassSums,
    Count,
    CurveNorms,
    EffectCurvature,
    EffectGradient,
    EffectSpread,
    Gradient,
    GradientAt,
    HessianAt,
    Histograms,
    LossDifferences,
    LossesAlong,
    Magnitudes,
    Moments,
    Norms,
    PeopleCount,
    PersonGradientAt,
    PersonSpread,
    RisesAlong,
    ScaleSlopesAt,
    ScoreSums,
    SecondMoments,
    SlopeCounts,
    SlopesAt,
    SufficientStatistics,
    TargetSums,
    VerticesAt,
    WeightSum,
)

FACTORS = (0.5, -0.25, 1.0, 0.75)
SHARES = np.array([[1.0, 0.0], [-0.25, 0.5], [0.0, 0.0], [0.0, 1.0], [0.75, 0.75], [-1.0, 0.5]])
STEPS = 2.0 * np.arange(21) / 20
EDGES = 4.0 * 2.0 ** -np.arange(8.0)
RHO = 0.01


def make_curator(X, y, *, loss="logistic", rho=1.0, noise=None, events=None, weights=None, **kwargs):
    ledger = Ledger(rho=rho)
    noise = ScriptedNoise() if noise is None else noise
    everybody = Persons.of(np.arange(len(X)), 1)
    engine = Problem.of(X, y, LOSSES[loss], intercept=True, weights=weights, persons=everybody)
    engine = engine if events is None else Watched(engine, events)
    return curator_of(engine, ledger, noise, epsilon=1.0, delta=1e-6, **kwargs), ledger, noise


def data(n=40, p=3, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, p)), np.where(rng.random(n) < 0.5, 1.0, -1.0)


# -- what can be asked, found by inspection: nothing public of the curator is without an entry here


@dataclass(frozen=True)
class Asked:
    """What a question is asked about."""

    w: np.ndarray
    direction: np.ndarray
    clip: float = 1.0

    def line(self, curator):
        return curator.along(curator.at(self.w), self.direction)

    @property
    def folds(self):
        return np.arange(1, len(self.w)) % 2.0


ASKED = Asked(np.full(4, 0.3), np.ones(4))

# Every question, at the price RHO; what follows a comma tells variants apart.
QUESTIONS = {
    "Gradient": lambda c, q: c.measure(Gradient(q.clip), RHO, of=c.at(q.w)),
    "Gradient, refined": lambda c, q: c.refine(c.measure(Gradient(q.clip), RHO, of=c.at(q.w)), RHO),
    "PersonGradientAt": lambda c, q: c.measure(PersonGradientAt(q.w, q.clip), RHO),
    "GradientAt": lambda c, q: c.measure(GradientAt(q.w, q.clip), RHO),
    "LossesAlong": lambda c, q: c.choose(LossesAlong(STEPS, q.clip), RHO, of=q.line(c)),
    "LossesAlong, laplace": lambda c, q: c.choose(
        LossesAlong(STEPS, q.clip), RHO, of=q.line(c), shape="laplace"
    ),
    "LossesAlong, exponential": lambda c, q: c.choose(
        LossesAlong(STEPS, q.clip), RHO, of=q.line(c), shape="exponential"
    ),
    "RisesAlong": lambda c, q: c.choose(RisesAlong(STEPS, q.clip), RHO, of=q.line(c)),
    "ChangesOfLoss": lambda c, q: c.choose(
        ChangesOfLoss(np.stack([q.direction, q.w, -q.w]), q.clip), RHO, of=c.at(q.w)
    ),
    "VerticesAt": lambda c, q: c.choose(VerticesAt(q.w, q.clip), RHO),
    "Count": lambda c, q: c.measure(Count(), RHO),
    "PeopleCount": lambda c, q: c.measure(PeopleCount(), RHO),
    "Norms": lambda c, q: c.measure(Norms(EDGES), RHO),
    "CurveNorms": lambda c, q: c.measure(CurveNorms(EDGES, q.folds), RHO),
    "Magnitudes": lambda c, q: c.measure(Magnitudes(), RHO),
    "Histograms": lambda c, q: c.measure(Histograms(np.tile([-1.0, 0.0, 0.0, 1e4], (c.n_features, 1))), RHO),
    "ScoreSums": lambda c, q: c.measure(ScoreSums(SHARES, FACTORS[: c.n_features - 1]), RHO),
    "ScoreSums, weighted": lambda c, q: c.measure(
        ScoreSums(SHARES, FACTORS[: c.n_features - 2], weighted=True), RHO
    ),
    "LossDifferences": lambda c, q: c.measure(LossDifferences(0.5 * q.clip, 0.125), RHO),
    "LossDifferences, weighted": lambda c, q: c.measure(
        LossDifferences(0.5 * q.clip, 0.125, weighted=True), RHO
    ),
    "Moments": lambda c, q: c.measure(Moments(q.clip, 0.3 * q.clip, q.folds, 0.7), RHO),
    "TargetSums": lambda c, q: c.measure(TargetSums(), RHO),
    "WeightSum": lambda c, q: c.measure(WeightSum(), RHO),
    "ClassSums": lambda c, q: c.measure(ClassSums(), RHO),
    "SlopesAt": lambda c, q: c.measure(SlopesAt(q.w, 0.5 * q.clip), RHO),
    "SlopeCounts": lambda c, q: c.measure(SlopeCounts([-0.5, 0.0, 0.3]), RHO, of=c.at(q.w)),
    "SlopeCounts, sizes": lambda c, q: c.measure(SlopeCounts([0.2, 0.9], sizes=True), RHO, of=c.at(q.w)),
    "ScaleSlopesAt": lambda c, q: c.projected(q.w).measure(ScaleSlopesAt(0.7, q.w[-1:], 0.5 * q.clip), RHO),
    "SecondMoments": lambda c, q: c.measure(SecondMoments(q.clip), RHO),
    "SufficientStatistics": lambda c, q: c.measure(SufficientStatistics(q.clip, 0.7), RHO),
    "HessianAt": lambda c, q: c.measure(HessianAt(q.w, 0.4 * q.clip), RHO),
    "EffectGradient": lambda c, q: c.measure(EffectGradient(q.clip, 0.9), RHO, of=c.at(q.w)),
    "EffectCurvature": lambda c, q: c.measure(EffectCurvature(q.clip, 0.2), RHO, of=c.at(q.w)),
    "PersonSpread": lambda c, q: c.measure(PersonSpread(q.clip, 0.9), RHO, of=c.at(q.w)),
    "EffectSpread": lambda c, q: c.measure(EffectSpread(q.clip, 0.9), RHO, of=c.at(q.w)),
}
ANSWERS = {"measure", "refine", "choose"}
OPENED = {
    "open": lambda c, q: c.open(RHO, why="test"),
    "open_without_privacy": lambda c, q: c.open_without_privacy(),  # tests/test_doors.py says by whom
}
# Nothing is released: what comes back is sealed, or another curator.
PLACES = {
    "at": lambda c, q: c.at(q.w),
    "along": lambda c, q: q.line(c),
    "move": lambda c, q: c.move(q.line(c), 0.25),
    "sample": lambda c, q: c.sample(0.5),
    "clipped": lambda c, q: c.clipped(-q.w[:-1], 2.0 * q.w[:-1]),
    "transformed": lambda c, q: c.transformed(q.w[:-1], 1.0 + q.folds, 0.3),
    "projected": lambda c, q: c.projected(q.w),
    "retargeted": lambda c, q: c.retargeted(0.1, 0.5, LOSSES["squared"]),
}
PUBLIC = {
    "n_weights": lambda c, q: c.n_weights,
    "n_features": lambda c, q: c.n_features,
    "intercept": lambda c, q: c.intercept,
    "loss": lambda c, q: c.loss,
    "reach": lambda c, q: c.reach(1000.0),
    "remaining": lambda c, q: c.remaining,
    "raw_weights": lambda c, q: c.raw_weights(q.w[-c.n_weights :]),
}
DECLARED = {
    "epsilon",
    "delta",
    "relation",
    "penalty",
    "regulariser",
    "weighted",
    "in_parts",
    "n_records",
    "bounds",
}


def test_everything_the_curator_answers_is_guarded_here():
    answered = {name for name, _ in inspect.getmembers(Curator) if not name.startswith("_")}
    kinds = [ANSWERS, set(OPENED), set(PLACES), set(PUBLIC)]
    assert answered == set().union(*kinds)
    assert sum(map(len, kinds)) == len(answered)
    modules = [import_module(f"{questions.__name__}.{m.name}") for m in iter_modules(questions.__path__)]
    asked = {
        name
        for module in modules
        for name, kind in vars(module).items()
        if isinstance(kind, type) and kind.__module__ == module.__name__ and name != "Question"
    }
    assert {name.partition(",")[0] for name in QUESTIONS} == asked == set(questions.__all__)
    curator, _, _ = make_curator(*data())
    assert {name for name in vars(curator) if not name.startswith("_")} == DECLARED


@pytest.mark.parametrize("intercept", [True, False])
def test_projected_records_have_their_scores_as_the_only_feature(intercept):
    """What is asked of them is asked of X @ w, through a map, too; a record more is a score more."""
    X, y = data(40)
    w = np.linspace(-1.0, 2.0, X.shape[1] + intercept)
    center, scale = np.full(X.shape[1], 0.3 * intercept), np.linspace(0.5, 2.0, X.shape[1])
    problem = Problem.of(X, y, LOSSES["logistic"], intercept=intercept)
    curator = curator_of(problem, Ledger(rho=1.0), ScriptedNoise(size=0.0), epsilon=1.0, delta=1e-6)
    scores = scale * (X - center) @ w[: X.shape[1]]
    alone = curator.transformed(center, scale, 0.3).projected(w)
    assert alone.n_features == 1
    assert alone.n_weights == 1 + intercept
    edges = np.array([1e3, 1.0, 0.3, 0.0])
    counts = [np.sum((np.abs(scores) > low) & (np.abs(scores) <= high)) for high, low in pairwise(edges)]
    np.testing.assert_allclose(alone.measure(Norms(edges), RHO).value, counts)
    v = np.array([1.5, -0.2])[: 1 + intercept]
    columns = np.column_stack([scores, np.ones(40)])[:, : 1 + intercept]
    slopes = -1.0 / (1.0 + np.exp(y * (columns @ v)))
    np.testing.assert_allclose(
        alone.measure(GradientAt(v, 1e3), RHO).value, columns.T @ (slopes * y), atol=0.05
    )


def seen(answer):
    """Return what a solver can see of an answer."""
    if isinstance(answer, SealedPoint | SealedLine):
        return {name: seen(value) for name, value in vars(answer).items()}
    if isinstance(answer, Curator):
        return {name: str(getattr(answer, name)) for name in DECLARED} | {
            name: str(ask(answer, ASKED)) for name, ask in PUBLIC.items()
        }
    return str(answer)


@pytest.mark.parametrize("name", PLACES | PUBLIC)
def test_what_is_not_paid_for_is_the_same_for_all_tables(name):
    answers = []
    for n, seed in ((40, 0), (7, 1)):
        curator, ledger, noise = make_curator(*data(n, seed=seed), alpha=0.1)
        answers.append(seen((PLACES | PUBLIC)[name](curator, ASKED)))
        assert not ledger.entries
        assert not noise.gaussian_inputs
    assert answers[0] == answers[1]


@pytest.mark.parametrize("name", PLACES)
def test_places_are_sealed(name):
    curator, _, _ = make_curator(*data())
    assert isinstance(PLACES[name](curator, ASKED), SealedPoint | SealedLine | Curator)


def test_handles_show_nothing_but_public_vectors():
    curator, _, _ = make_curator(*data())
    assert set(vars(PLACES["at"](curator, ASKED))) == {"w"}
    assert set(vars(PLACES["along"](curator, ASKED))) == {"origin", "direction"}


# -- charge, look, blur


def watch(monkeypatch, question, rho):
    """Ask on a budget; return what happened in order, the ledger, and the refusal if there was one."""
    events = []
    curator, ledger, noise = make_curator(*data(), rho=rho, events=events)
    charge = Ledger.charge

    def noticed(self, *arguments, **settings):
        events.append("refused")
        entry = charge(self, *arguments, **settings)
        events[-1] = "charge"
        return entry

    def blurring(original):
        return lambda *arguments: (events.append("blur"), original(*arguments))[1]

    monkeypatch.setattr(Ledger, "charge", noticed)
    for kind in ("gaussian", "noisy_argmax"):
        monkeypatch.setattr(noise, kind, blurring(getattr(noise, kind)))
    try:
        question(curator, ASKED)
    except BudgetExceeded as refusal:
        return events, ledger, str(refusal)
    return events, ledger, None


@pytest.mark.parametrize("name", QUESTIONS)
def test_questions_charge_then_look_then_blur(name, monkeypatch):
    events, ledger, _ = watch(monkeypatch, QUESTIONS[name], 1.0)
    again = "( charge blur)" if name.endswith("refined") else ""  # a second time is only blurred
    assert re.fullmatch(rf"charge( look)+ blur{again}", " ".join(events))
    assert ledger.spent == RHO * events.count("charge")


def test_opening_charges_before_it_hands_over(monkeypatch):
    assert watch(monkeypatch, OPENED["open"], 1.0)[0] == ["charge"]


@pytest.mark.parametrize("name", [*QUESTIONS, "open"])
def test_refused_charge_leaves_the_data_unread(name, monkeypatch):
    paid = 1 if name.endswith("refined") else 0
    events, ledger, refusal = watch(monkeypatch, (QUESTIONS | OPENED)[name], RHO * (paid + 0.1))
    assert re.search(
        rf"needs rho = 0\.01 .*, and rho = 0\.001 .* left of rho = {RHO * (paid + 0.1):.4g} ", refusal
    )
    assert events[-1] == "refused"
    assert events.count("blur") == events.count("charge") == len(ledger.entries) == paid
    assert ("look" in events) == bool(paid)
    assert ledger.spent == RHO * paid


def test_every_question_is_on_the_account_with_its_price():
    curator, ledger, _ = make_curator(*data())
    g = QUESTIONS["Gradient"](curator, ASKED)
    curator.refine(g, 0.02)
    QUESTIONS["LossesAlong"](curator, ASKED)
    QUESTIONS["Count"](curator, ASKED)
    assert [e.what for e in ledger.entries] == [
        "gradient",
        "gradient, refined",
        "step size",
        "number of records",
    ]
    assert [e.rho for e in ledger.entries] == [0.01, 0.02, 0.01, 0.01]


def test_an_exception_after_the_charge_leaves_it_on_the_account(monkeypatch):
    curator, ledger, noise = make_curator(*data())
    monkeypatch.setattr(noise, "gaussian", lambda *a: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        QUESTIONS["Gradient"](curator, ASKED)
    assert ledger.spent == 0.01


def test_a_question_whose_bound_nobody_proved_is_not_asked():
    class Curious:
        what = "everything"

        def bounded(self, of):
            raise AssertionError("was shown the records")

    curator, ledger, _ = make_curator(*data())
    for ask in (curator.measure, lambda q, rho: curator.choose(q, rho, of=curator.at(np.zeros(4)))):
        with pytest.raises(TypeError, match=r"Only questions of privfit\.questions are answered"):
            ask(Curious(), 0.01)
    assert ledger.spent == 0.0


@pytest.mark.parametrize("name", QUESTIONS)
def test_every_bound_names_its_claim(name, monkeypatch):
    claims = (Path(__file__).parents[1] / "docs" / "privacy.md").read_text()
    curator, _, _ = make_curator(*data())
    asked = []
    original = Curator._bounded
    monkeypatch.setattr(
        Curator, "_bounded", lambda *arguments: asked.append(original(*arguments)) or asked[-1]
    )
    QUESTIONS[name](curator, ASKED)
    assert f"**{asked[0].claim} " in claims


def test_bad_candidate_steps_are_refused_before_the_charge():
    curator, ledger, _ = make_curator(*data())
    line = curator.along(curator.at(np.zeros(4)), np.ones(4))
    for steps in (np.array([0.0]), np.array([0.0, 1.0, 3.0]), np.arange(1000.0)):
        with pytest.raises(ValueError, match="steps must be 0, h, 2h"):
            curator.choose(LossesAlong(steps, 3.0), 0.01, of=line)
    assert ledger.spent == 0.0


def test_move_follows_the_line():
    curator, _, _ = make_curator(*data(), noise=ScriptedNoise(size=0.0))
    line = curator.along(curator.at(np.full(4, 0.5)), np.ones(4))
    moved = curator.move(line, 0.25)
    np.testing.assert_allclose(moved.w, 0.25)
    np.testing.assert_allclose(
        curator.measure(Gradient(1.0), 0.01, of=moved).value,
        curator.measure(Gradient(1.0), 0.01, of=curator.at(np.full(4, 0.25))).value,
        atol=1e-5,
    )


def test_only_the_last_gradient_can_be_refined():
    curator, ledger, _ = make_curator(*data())
    first = QUESTIONS["Gradient"](curator, ASKED)
    QUESTIONS["Gradient"](curator, ASKED)
    with pytest.raises(ValueError, match="measured last"):
        curator.refine(first, 0.01)
    assert ledger.spent == 0.02


def test_refining_is_as_good_as_having_paid_at_once():
    curator, _, noise = make_curator(*data())
    g = QUESTIONS["Gradient"](curator, ASKED)
    refined = curator.refine(curator.refine(g, 0.03), 0.05)
    assert refined.rho == pytest.approx(0.09)
    (exact, sigma1), (_, sigma2), (_, sigma3) = noise.gaussian_inputs
    draws = np.random.default_rng(0)
    z = [draws.standard_normal(4) for _ in range(3)]
    expected = exact + (0.01 * sigma1 * z[0] + 0.03 * sigma2 * z[1] + 0.05 * sigma3 * z[2]) / 0.09
    np.testing.assert_allclose(refined.value, expected, rtol=1e-12)
    assert refined.sigma == pytest.approx(refined.sensitivity / math.sqrt(2 * 0.09))


# -- sensitivity: whatever one record says, no mechanism's input moves further than its noise was made for


records = arrays(np.float64, (5, 2), elements=st.floats(-1e6, 1e6, width=32))
vectors = arrays(np.float64, 3, elements=st.floats(-50, 50))


def views(curator):
    yield curator
    yield curator.clipped(np.array([-3.0, 0.0]), np.array([0.0, 1e3]))
    yield curator.transformed(np.array([0.3, -5.0]), np.array([2.0, 0.1]), 0.3)


# Quick tests ask every question with a third of the losses, and every loss a third of the questions.
WITH_LOSSES = [
    pytest.param(name, loss, marks=pytest.mark.slow if (i + k) % 3 else ())
    for i, name in enumerate(QUESTIONS)
    for k, loss in enumerate(LOSSES)
]


@pytest.mark.parametrize(("name", "loss"), WITH_LOSSES)
@settings(max_examples=20)
@given(
    X=records,
    y=arrays(bool, 5),
    w=vectors,
    direction=vectors,
    clip=st.floats(0.01, 20),
    weights=st.none() | arrays(np.float64, 5, elements=st.floats(0.0, 1.0)),
)
def test_no_neighbour_moves_a_question_beyond_its_noise(name, loss, X, y, w, direction, clip, weights):
    signs = np.where(y, max(LOSSES[loss].targets.typical), min(LOSSES[loss].targets.typical))
    if name in ("RisesAlong", "ChangesOfLoss") and LOSSES[loss].lipschitz == math.inf:
        curator, ledger, _ = make_curator(X, signs, loss=loss)
        with pytest.raises(ValueError, match="inf"):
            QUESTIONS[name](curator, Asked(w, direction, clip))
        assert ledger.spent == 0.0
        return
    if name.startswith(("Effect", "PersonSpread")) and LOSSES[loss].second_derivative is None:
        curator, ledger, _ = make_curator(X, signs, loss=loss)
        with pytest.raises(ValueError, match="second derivative"):
            QUESTIONS[name](curator, Asked(w, direction, clip))
        assert ledger.spent == 0.0
        return
    if name == "ClassSums" and not isinstance(LOSSES[loss].targets, TwoLabels):
        curator, ledger, _ = make_curator(X, signs, loss=loss)
        with pytest.raises(ValueError, match="only targets that are classes"):
            QUESTIONS[name](curator, Asked(w, direction, clip))
        assert ledger.spent == 0.0
        return
    noises = []
    for rows in (slice(0, 5), slice(0, 4)):
        kept = None if weights is None else weights[rows]
        noise = ScriptedNoise(size=0.0)
        curator, _, noise = make_curator(X[rows], signs[rows], loss=loss, noise=noise, weights=kept)
        for view in views(curator):
            QUESTIONS[name](view, Asked(w, direction, clip))
        noises.append(noise)
    assert noises[0].gaussian_inputs or noises[0].argmax_inputs
    for (a, sigma), (b, _) in zip(*(n.gaussian_inputs for n in noises), strict=True):
        assert np.linalg.norm(a - b) <= sigma * math.sqrt(2 * RHO)
    for (a, scale, shape), (b, _, _) in zip(*(n.argmax_inputs for n in noises), strict=True):
        moved = a - b
        assert np.ptp(moved) <= scale * math.sqrt((8 if shape == "gumbel" else 2) * RHO)
        if "Along" in name:  # a record more lowers no loss
            assert moved.max() <= 1e-3 * clip


def test_the_noise_is_not_larger_than_the_sensitivity_needs():
    X, y = data()
    curator, _, noise = make_curator(X, y)
    curator.measure(Gradient(2.0), 0.01, of=curator.at(np.zeros(4)))
    assert noise.gaussian_inputs[0][1] == pytest.approx(2.0 / math.sqrt(0.02), rel=1e-5)
    line = curator.along(curator.at(np.zeros(4)), np.ones(4))
    for shape, factor in (("laplace", 2), ("exponential", 2), ("gumbel", 8)):
        curator.choose(LossesAlong(STEPS, 3.0), 0.01, of=line, shape=shape)
        assert noise.argmax_inputs[-1][1] == pytest.approx(3.0 / math.sqrt(factor * 0.01), rel=1e-3)


def test_moments_of_a_record_at_both_radii_use_up_their_sensitivity():
    inputs = []
    for rows in (slice(0, 2), slice(0, 1)):
        X, y = np.array([[0.1], [0.5]])[rows], np.ones(2)[rows]
        curator, _, noise = make_curator(X, y, noise=ScriptedNoise(size=0.0))
        curator.measure(Moments(0.5, 0.25, np.ones(1), 2.0), 0.01)  # z = 1/2 and its curve z (z - 1) = -1/4
        inputs.append(noise.gaussian_inputs[0])
    (a, sigma), (b, _) = inputs
    np.testing.assert_allclose(a - b, [0.5, -0.5], atol=1e-6)
    assert sigma * math.sqrt(2 * 0.01) == pytest.approx(math.hypot(0.5, 0.5), rel=1e-4)
    assert np.linalg.norm(a - b) <= sigma * math.sqrt(2 * 0.01)


def test_second_moments_of_a_record_at_the_radius_use_up_their_sensitivity():
    inputs = []
    for rows in (slice(0, 2), slice(0, 1)):
        X, y = np.array([[0.1, 0.0], [0.4, -0.3]])[rows], np.ones(2)[rows]
        curator, _, noise = make_curator(X, y, noise=ScriptedNoise(size=0.0))
        curator.transformed(np.zeros(2), np.ones(2), 1e-9).measure(SecondMoments(0.5), 0.01)
        inputs.append(noise.gaussian_inputs[0])
    (a, sigma), (b, _) = inputs
    np.testing.assert_allclose(a - b, [0.16, -0.12 * math.sqrt(2), 0.0, 0.09, 0.0, 0.0], atol=1e-5)
    assert sigma * math.sqrt(2 * 0.01) == pytest.approx(0.25, rel=1e-3)
    assert np.linalg.norm(a - b) == pytest.approx(0.25, rel=1e-3)
    assert np.linalg.norm(a - b) <= sigma * math.sqrt(2 * 0.01)


def test_sufficient_statistics_of_a_record_at_its_bounds_use_up_their_sensitivity():
    """R^2 alone, or R^2 with R B left out for a target, would be a wrong bound, which this record exceeds."""
    inputs = []
    for rows in (slice(0, 2), slice(0, 1)):
        X, y = np.array([[0.1, 0.0], [0.8, -0.6]])[rows], np.array([0.1, 9.0])[rows]
        curator, _, noise = make_curator(X, y, loss="squared", noise=ScriptedNoise(size=0.0))
        curator.transformed(np.zeros(2), np.ones(2), 1e-9).measure(SufficientStatistics(0.5, 2.0), 0.01)
        inputs.append(noise.gaussian_inputs[0])
    (a, sigma), (b, _) = inputs
    root = math.sqrt(2)  # the row is shrunk to (.4, -.3) whatever its target is, and the target to 2
    moved = [0.16, -0.12 * root, 0.0, 0.09, 0.0, 0.0, 0.8, -0.6, 0.0]
    np.testing.assert_allclose(a - b, moved, atol=1e-4)
    declared = sigma * math.sqrt(2 * 0.01)
    assert declared == pytest.approx(math.hypot(0.25, 1.0), rel=1e-3)
    assert 0.25 < np.linalg.norm(a - b) <= declared
    assert np.linalg.norm(a - b) == pytest.approx(declared, rel=1e-3)


def test_what_shrinks_a_row_of_sufficient_statistics_does_not_depend_on_its_target():
    """A clip of the row together with its target biases least squares."""
    matrices = []
    for y in (0.0, 0.3, -30.0):
        curator, _, noise = make_curator(
            np.array([[3.0, 4.0]]), np.array([y]), loss="squared", noise=ScriptedNoise(size=0.0)
        )
        curator.measure(SufficientStatistics(2.0, 1.0), 0.01)
        matrices.append(noise.gaussian_inputs[0][0][:-3])
    np.testing.assert_array_equal(matrices[0], matrices[1])
    np.testing.assert_array_equal(matrices[0], matrices[2])


def test_slopes_that_are_no_number_are_in_the_last_bin():
    curator, _, noise = make_curator(
        np.array([[1.0], [1.0]]), np.array([0.5, -0.5]), loss="squared", noise=ScriptedNoise(size=0.0)
    )
    asked = SlopeCounts([-1.0, 0.0, 1.0], sizes=False)
    curator.measure(asked, 0.01, of=curator.at(np.array([1e308, 1e308])))
    counts = noise.gaussian_inputs[0][0]
    assert counts.sum() == 2.0
    for edges in ([], [1.0, 1.0], [2.0, 1.0], [[0.0]]):
        with pytest.raises(ValueError, match="ascending"):
            curator.measure(SlopeCounts(edges), 0.01, of=curator.at(np.zeros(2)))


def test_the_corners_scores_of_a_record_use_up_their_width():
    """At w = 0 a slope is 1/2, so the record (1, -1, 0.2) moves scores by +-1/2, +-1/2 and +-1/10."""
    X, y = np.array([[1.0, -1.0, 0.2]] * 3), np.ones(3)
    inputs = []
    for rows in (slice(0, 3), slice(0, 2)):
        curator, _, noise = make_curator(X[rows], y[rows])
        curator.choose(VerticesAt(np.zeros(4), 0.5), 0.01)
        inputs.append(noise.argmax_inputs[0])
    (a, scale, shape), (b, _, _) = inputs
    np.testing.assert_allclose(a - b, [0.5, -0.5, 0.1, -0.5, 0.5, -0.1], atol=1e-6)
    assert shape == "gumbel"
    assert scale == pytest.approx(2 * 0.5 / math.sqrt(8 * 0.01), rel=1e-5)
    assert np.ptp(a - b) <= scale * math.sqrt(8 * 0.01)


def test_no_penalty_is_so_large_that_rounding_moves_scores_further_than_they_are_blurred():
    """Uncut, 1e30 would swallow every score; 1e7 and 1e9 leave rounding that the width has to hold."""
    X, y = np.array([[0.7, -1.0, 0.2]] * 3), np.ones(3)
    slopes = [0.35, -0.5, 0.1, -0.35, 0.5, -0.1]
    for size in (1e7, 1e9, 1e30):
        pull = np.array([size, -size, 0.1])
        inputs = []
        for rows in (slice(0, 3), slice(0, 2)):
            curator, _, noise = make_curator(X[rows], y[rows])
            curator.choose(VerticesAt(np.zeros(4), 1.0), 0.01, penalties=np.concatenate([pull, -pull]))
            inputs.append(noise.argmax_inputs[0])
        (a, scale, _), (b, _, _) = inputs
        assert a.argmax() in (1, 3)  # downhill of the penalties
        assert np.ptp(a - b) <= scale * math.sqrt(8 * 0.01)
        np.testing.assert_allclose(a - b, slopes, atol=1e-5)


def test_rounding_of_penalties_is_paid_for_where_there_are_any():
    X, y = data()
    scales = []
    for penalties in (0.0, np.full(2, 7.0), np.array([0.0, 7.0])):
        curator, _, noise = make_curator(X, y)
        candidates = np.zeros((2, curator.n_weights))
        point = curator.at(np.zeros(curator.n_weights))
        curator.choose(ChangesOfLoss(candidates, 1.0), 0.01, of=point, penalties=penalties)
        scales.append(noise.argmax_inputs[0][1])
    assert scales[0] == scales[1] < scales[2] == pytest.approx(scales[0], rel=1e-5)


def test_corners_of_several_outputs_are_refused_before_the_charge():
    X, y = data()
    curator, ledger, _ = make_curator(X, y)
    curator._records.loss = replace(curator.loss, outputs=2)
    with pytest.raises(ValueError, match="losses with one output only"):
        curator.choose(VerticesAt(np.zeros(4), 1.0), 0.01)
    assert ledger.spent == 0.0


def test_histograms_of_a_record_use_up_their_sensitivity():
    X, y = data(p=5)
    inputs = []
    for rows in (slice(0, 40), slice(0, 39)):
        curator, _, noise = make_curator(X[rows], y[rows], noise=ScriptedNoise(size=0.0))
        curator.measure(Histograms(np.zeros((5, 1))), 0.01)
        inputs.append(noise.gaussian_inputs[0])
    (a, sigma), (b, _) = inputs
    np.testing.assert_array_equal((a - b).reshape(5, 2), np.column_stack([X[39] <= 0.0, X[39] > 0.0]))
    assert np.linalg.norm(a - b) == pytest.approx(math.sqrt(5))
    assert sigma * math.sqrt(2 * 0.01) == pytest.approx(math.sqrt(5), rel=1e-6)


def test_a_huge_record_reaches_the_mechanism_clipped():
    X, y = data()
    X[7] = 1e9
    gradients = []
    for rows in (np.arange(40), np.delete(np.arange(40), 7)):
        curator, _, _ = make_curator(X[rows], y[rows], noise=ScriptedNoise(size=0.0))
        gradients.append(curator.measure(Gradient(1.0), 0.01, of=curator.at(np.full(4, 1e-9))).value)
    assert np.linalg.norm(gradients[0] - gradients[1]) == pytest.approx(1.0, rel=1e-5)


# -- random subsets


def test_sample_draws_each_record_by_its_own_coin_and_charges_the_same_account():
    curator, ledger, _ = make_curator(*data(n=2000), n_records=2000)
    sizes = []
    for _ in range(200):
        batch = curator.sample(0.25)
        sizes.append(batch._records.n_records)
        assert batch.n_records == 500
    # Binomial(2000, 1/4): a fixed-size subset would have variance 0. Fixed seed, so no false alarms.
    assert np.mean(sizes) == pytest.approx(500, abs=5)
    assert np.std(sizes) == pytest.approx(math.sqrt(2000 * 0.25 * 0.75), rel=0.2)
    QUESTIONS["Gradient"](batch, ASKED)
    assert ledger.spent == 0.01


def test_a_sampled_neighbour_differs_by_at_most_the_one_record():
    X, y = data(n=50)
    sums = []
    for rows in (slice(0, 50), slice(0, 49)):
        curator, _, noise = make_curator(X[rows], y[rows], noise=ScriptedNoise(size=0.0))
        noise.poisson_rows = lambda n, q: np.flatnonzero(np.random.default_rng(3).random(50)[:n] < q)
        batch = curator.sample(0.5)
        sums.append(batch.measure(Gradient(1.0), 0.01, of=batch.at(np.zeros(4))).value)
    assert np.linalg.norm(sums[0] - sums[1]) <= 1.0 + 1e-5


def test_an_empty_subset_is_answered_with_noise_alone():
    curator, _, _ = make_curator(*data(), noise=ScriptedNoise(size=0.0))
    batch = curator.sample(0.0)
    np.testing.assert_array_equal(
        batch.measure(Gradient(1.0), 0.01, of=batch.at(np.zeros(4))).value, np.zeros(4)
    )


def test_a_sample_may_hold_all_records_and_no_probability_is_above_1():
    curator, _, noise = make_curator(*data(n=50), noise=ScriptedNoise(size=0.0))
    noise.poisson_rows = lambda n, q: np.arange(n)
    assert curator.sample(1.0).measure(Count(), 0.01).value == 50.0
    with pytest.raises(ValueError, match="probability must lie between 0 and 1"):
        curator.sample(1.0 + 1e-9)


@pytest.mark.parametrize(("clip", "rho"), [(math.inf, RHO), (1.0, 0.0)])
def test_what_no_noise_can_hide_is_refused_before_it_is_charged_or_looked_at(clip, rho):
    X, y = data()
    events = []
    curator, ledger, _ = make_curator(X, y, events=events)
    with pytest.raises(ValueError, match="must be a positive finite number"):
        curator.measure(GradientAt(np.zeros(4), clip), rho)
    assert ledger.spent == 0.0
    assert ledger.entries == ()
    assert events == []
