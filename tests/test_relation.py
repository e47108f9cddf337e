"""People with several records: the sensitivity of a record is multiplied at the door, and never forgotten."""

import dataclasses

import numpy as np
import pytest
from curators import curator_of
from scripted import ScriptedNoise
from test_curator import ASKED, OPENED, PLACES, QUESTIONS, data

from privfit.accounting import Concentrated, Direct, Ledger
from privfit.accounting.relation import ONE_RECORD, Relation
from privfit.curator import Curator
from privfit.engine.bounded import Bounded, Scores
from privfit.engine.persons import Persons
from privfit.engine.problem import Problem
from privfit.losses import LOSSES
from privfit.penalties import Regulariser, Ridge
from privfit.questions import GradientAt
from privfit.solvers import SOLVERS

THREE = Relation(records_per_person=3)
PER_PERSON = {"PeopleCount", "PersonGradientAt"}  # questions whose sensitivity is that of a person already


def persons(n, relation):
    """Return whose records these are: three of each person, one of the last of 40, and those of one more.

    If the relation says that people have one record each, each record is somebody else's.
    """
    numbers = np.where(np.arange(n) < 40, np.arange(n) // 3, 14)
    return Persons.of(np.arange(n) if relation.is_one_record_each else numbers, relation.records_per_person)


def asked(name, relation, X=None, y=None):
    """Ask one question without noise, and return what went into the mechanism and the scale of its noise."""
    X, y = (X, y) if X is not None else data()
    noise = ScriptedNoise(size=0.0)
    problem = Problem.of(X, y, LOSSES["logistic"], persons=persons(len(X), relation))
    curator = curator_of(problem, Ledger(rho=1.0), noise, epsilon=1.0, delta=1e-6, relation=relation)
    QUESTIONS[name](curator, ASKED)
    return (noise.gaussian_inputs or [entry[:2] for entry in noise.argmax_inputs])[-1]


@pytest.mark.parametrize("name", sorted(set(QUESTIONS) - PER_PERSON - {"PersonSpread"}))
def test_every_question_has_as_many_times_the_noise_as_a_person_has_records(name):
    exact, scale = asked(name, ONE_RECORD)
    same, wider = asked(name, THREE)
    assert np.array_equal(exact, same)
    assert wider == pytest.approx(3.0 * scale, rel=1e-12)


@pytest.mark.parametrize("name", sorted(PER_PERSON))
def test_questions_about_people_have_the_noise_of_one_person(name):
    assert asked(name, THREE)[1] == pytest.approx(asked(name, ONE_RECORD)[1], rel=1e-4)


def test_squares_of_a_persons_sum_have_the_square_of_the_number_of_records_times_the_noise():
    assert asked("PersonSpread", THREE)[1] == pytest.approx(
        9.0 * asked("PersonSpread", ONE_RECORD)[1], rel=1e-3
    )


def test_a_relation_is_not_about_fewer_records_than_people_have():
    problem = Problem.of(*data(), LOSSES["logistic"], persons=persons(40, THREE))
    for relation in (ONE_RECORD, Relation(records_per_person=2, person_id="who")):
        with pytest.raises(ValueError, match="people may have 3 records"):
            curator_of(problem, Ledger(rho=1.0), ScriptedNoise(), epsilon=1.0, delta=1e-6, relation=relation)


@pytest.mark.parametrize("name", sorted(set(QUESTIONS) - {"Gradient, refined"}))
def test_a_whole_person_moves_no_answer_by_more_than_three_times_what_a_record_may(name):
    """Three records of one person, as long as they like, are added to a table."""
    X, y = data()
    exact, _ = asked(name, THREE)
    for size in (0.1, 1.0, 30.0):
        person = np.full((3, X.shape[1]), size)
        more, _ = asked(name, THREE, np.vstack([X, person]), np.append(y, [-1.0, -1.0, -1.0]))
        bounded = stated(name)
        if isinstance(bounded, Scores):  # what matters is how far scores move apart
            allowed = bounded.sensitivity if bounded.monotone else 2.0 * bounded.sensitivity
            assert np.ptp(more - exact) <= allowed
        else:
            assert np.linalg.norm(more - exact) <= bounded.sensitivity


def stated(name):
    """Return the question's sum with the bound for a person with three records."""
    said = []

    original = Curator._bounded

    def noticed(self, question, of):
        said.append(original(self, question, of))
        return said[-1]

    problem = Problem.of(*data(), LOSSES["logistic"], persons=persons(40, THREE))
    facts = {"epsilon": 1.0, "delta": 1e-6, "relation": THREE}
    with pytest.MonkeyPatch.context() as patch:  # of curators that are made of this one, too
        patch.setattr(Curator, "_bounded", noticed)
        QUESTIONS[name](Curator(problem, Ledger(rho=1.0), ScriptedNoise(), **facts), ASKED)
    return said[-1]


@pytest.mark.parametrize("name", ["sample", "clipped", "transformed", "projected"])
def test_a_curator_made_from_another_keeps_the_relation(name):
    X, y = data()
    problem = Problem.of(X, y, LOSSES["logistic"])
    curator = curator_of(problem, Ledger(rho=1.0), ScriptedNoise(), epsilon=1.0, delta=1e-6, relation=THREE)
    assert PLACES[name](curator, ASKED).relation is THREE


def test_a_forgotten_relation_is_an_error_and_not_one_record():
    problem = Problem.of(*data(), LOSSES["logistic"])
    with pytest.raises(TypeError, match="relation"):
        Curator(problem, Ledger(rho=1.0), ScriptedNoise(), epsilon=1.0, delta=1e-6)


@pytest.mark.parametrize("wrong", [0, -1, 1.5, True, None])
def test_records_per_person_are_a_positive_whole_number(wrong):
    with pytest.raises(ValueError, match="records_per_person must be a whole number"):
        Relation(records_per_person=wrong)


def test_what_is_already_bounded_by_person_is_not_multiplied():
    assert Bounded(lambda: np.ones(1), 2.0, "Q1", unit="person").under(THREE).sensitivity == 2.0
    once = Bounded(lambda: np.ones(1), 2.0, "Q1").under(THREE)
    assert once.sensitivity == 6.0
    assert once.under(THREE).sensitivity == 6.0
    scores = Scores(lambda: np.ones(2), 2.0, 2, True, "Q3")
    assert scores.under(THREE).sensitivity == 6.0


def test_data_are_not_opened_for_people_with_several_records():
    ledger = Ledger.keeping(Direct(1.0, 1e-6))
    problem = Problem.of(*data(), LOSSES["logistic"])
    curator = curator_of(problem, ledger, ScriptedNoise(), epsilon=1.0, delta=1e-6, relation=THREE)
    with pytest.raises(ValueError, match="proved for people with one record each; choose another solver"):
        OPENED["open"](curator, ASKED)
    assert ledger.entries == ()


def test_the_reach_is_shared_by_the_records_of_a_person():
    problem = Problem.of(*data(), LOSSES["logistic"])
    one, three = (
        curator_of(problem, Ledger(rho=0.5), ScriptedNoise(), epsilon=1.0, delta=1e-6, relation=relation)
        for relation in (ONE_RECORD, THREE)
    )
    assert one.reach(900.0) == 900.0
    assert three.reach(900.0) == 300.0
    assert one.reach(900.0, 0.125) == 450.0


# -- solvers say what they take before anything is charged


@dataclasses.dataclass(frozen=True)
class Box(Ridge):
    """Weights between -1 and 1."""

    is_constraint, is_cone = True, False

    def nearest(self, w, metric):
        return w if np.abs(w).max() <= 1.0 else np.clip(w, -1.0, 1.0)


UNUSUAL = {
    "several outputs": ({"loss": LOSSES["logistic"].of_classes(3), "targets": np.arange(40.0) % 3}, {}),
    "weights": ({"weights": np.full(40, 0.5)}, {}),
    "persons": ({}, {"relation": THREE}),
    "a set": ({}, {"penalty": Box()}),
}
TAKES = {
    "persons": {"adaptive", "dpagd", "dpagd-modern", "frank-wolfe", "gradient-descent", "newton", "privgene"}
}
TAKES["a set"] = {"adaptive", "dpagd", "dpagd-modern", "gradient-descent"}
TAKES["several outputs"] = {"adaptive", "dpagd", "dpagd-modern", "gradient-descent", "newton"}
TAKES["weights"] = {"adaptive", "dpagd", "dpagd-modern", "gradient-descent", "newton"}


@pytest.mark.parametrize("what", UNUSUAL)
@pytest.mark.parametrize("solver", [name for name in SOLVERS if SOLVERS[name].private])
@pytest.mark.filterwarnings("ignore::privfit.solvers.BudgetWarning")
def test_a_solver_takes_it_or_says_so_before_a_charge(solver, what):
    of_problem, of_curator = UNUSUAL[what]
    X, targets = data()
    problem = Problem.of(X, **({"targets": targets, "loss": LOSSES["logistic"]} | of_problem))
    promise = SOLVERS[solver]().promise(epsilon=1.0, delta=1e-6)
    ledger = Ledger.keeping(promise if isinstance(promise, Direct) else Concentrated(0.5))
    facts = {"epsilon": 1.0, "delta": 1e-6, "relation": ONE_RECORD, "penalty": Ridge()} | of_curator
    curator = Curator(problem, ledger, ScriptedNoise(), **facts)
    if solver in TAKES.get(what, ()):
        w = SOLVERS[solver]().solve(curator).w
        assert np.isfinite(w).all()
        if what == "a set":
            assert np.abs(w[:-1]).max() <= 1.0
    else:
        with pytest.raises(ValueError, match=f"The solver '{solver}' needs"):
            SOLVERS[solver]().solve(curator)
        assert ledger.entries == ()


# -- penalties in a view


def test_a_constrained_walk_in_a_view_ends_where_the_best_raw_weights_are():
    """Projecting the view's weights as if they were raw, or the raw ones, ends elsewhere.

    Columns are correlated, and one is scaled by 10; the reference is a fine walk over raw weights.
    """
    rng = np.random.default_rng(1)
    X = rng.normal(size=(400, 2)) @ np.array([[1.0, 0.9], [0.0, 0.5]])
    y = np.where(X @ [3.0, -2.0] + rng.logistic(size=400) > 0, 1.0, -1.0)
    problem = Problem.of(X, y, LOSSES["logistic"])

    def walk(view, steps, step):
        box, w = Regulariser(Box(0.01), view.table.view), np.zeros(3)
        for _ in range(steps):
            w = box.nearest(w - step * (view.gradient_at(w, np.inf) / 400 + box.gradient(w)))
        return view.table.raw_weights(w)

    best = walk(problem, 4000, 0.5)
    viewed = walk(problem.transformed(np.array([0.2, -0.1]), np.array([1.0, 10.0])), 40_000, 0.005)
    assert np.abs(best[:2]).max() == pytest.approx(1.0)
    np.testing.assert_allclose(viewed, best, atol=1e-6)


def test_a_regulariser_has_the_gradient_and_the_longest_step_of_its_penalty_in_the_view():
    problem = Problem.of(*data(), LOSSES["logistic"])
    view = problem.transformed(np.array([0.3, 0.0, -1.0]), np.array([2.0, 0.5, 1.0]), 0.3)
    penalty, w = Ridge(0.7), np.array([0.4, -1.0, 2.0, 0.5])
    ours = Regulariser(penalty, view.table.view)
    h = 1e-6
    slopes = [
        (penalty.value(view.table.raw_weights(w + h * e)) - penalty.value(view.table.raw_weights(w - h * e)))
        / (2 * h)
        for e in np.eye(4)
    ]
    np.testing.assert_allclose(ours.gradient(w), slopes, rtol=1e-6)
    steepest = np.linalg.eigvalsh(np.stack([ours.gradient(e) for e in np.eye(4)])).max()
    assert ours.longest_step <= 1.0 / steepest
    assert Regulariser(Ridge(), view.table.view).longest_step == np.inf
    assert ours.nearest(w) is w


def test_the_question_about_gradients_states_its_own_unit():
    problem = Problem.of(*data(), LOSSES["logistic"])
    assert GradientAt(np.zeros(4), 1.0).bounded(problem).unit == "record"
