"""What is asked of records in parts is what is asked of the same records in one place, bit for bit (Q39).

The contract of an engine is tested of tables in one place. Here every question that a curator answers is
asked of both, so tables in parts keep it, too. A new question is held to this by being in `QUESTIONS`.
"""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from curators import curator_of
from engine_cases import LAYOUTS
from neighbours import MODELS, VARIANTS
from one_output import LOSSES
from scripted import ScriptedNoise
from several_outputs import LOSSES as OUTPUT_LOSSES
from test_curator import ASKED, PLACES, QUESTIONS

from privfit.accounting import Ledger
from privfit.accounting.relation import ONE_RECORD, Relation
from privfit.engine import parts
from privfit.engine.exact.grids import MAX_RECORDS
from privfit.engine.parts import InParts, Part, Request, divided
from privfit.engine.persons import Persons
from privfit.engine.problem import Problem
from privfit.mechanisms.noise import SeededNoise
from privfit.questions import (
    ClassSums,
    Count,
    EffectCurvature,
    EffectGradient,
    EffectSpread,
    Gradient,
    GradientAt,
    ScaleSlopesAt,
    SlopesAt,
    TargetSums,
)
from privfit.solvers import SOLVERS
from privfit.solvers.requirements import IN_ONE_PLACE

N = 3000
OF_PEOPLE = {"PersonGradientAt", "PersonSpread", "PeopleCount"}
# the products of factors that the logistic loss takes in one place are not exact
BY_PRODUCTS = {"LossesAlong", "LossesAlong, laplace", "LossesAlong, exponential"}


def table(seed, p=3):
    """Return numbers of many sizes, and ones that pack in other phrases in every part."""
    rng = np.random.default_rng(seed)
    X = rng.lognormal(sigma=3.0, size=(N, p)) * rng.choice([-1.0, 0.0, 1.0], size=(N, p))
    ones = rng.random((N, p)) < np.linspace(0.2, 0.9, p)
    X[ones] = 1.0
    X[rng.integers(N)] = 1e30
    return X, rng.random(N) < 0.4


def problem_of(loss, layout="dense_c_f64", *, seed=0, weights=False, p=3, people=False):
    X, positive = table(seed, p)
    y = np.where(positive, max(loss.targets.typical), min(loss.targets.typical))
    rng = np.random.default_rng(seed)
    shares = rng.random(N) if weights else None
    whose = np.sort(rng.permutation(np.arange(N) // 3)[: N // 2]) if people else None
    if whose is None:
        return Problem.of(LAYOUTS[layout](X), y, loss, weights=shares)
    used = slice(0, len(whose))  # of people with one to three records
    persons = Persons.of(whose, 3)
    shares = None if shares is None else shares[used]
    return Problem.of(LAYOUTS[layout](X[used]), y[used], loss, weights=shares, persons=persons)


def borders(seed, problem=None):
    """Return where parts begin: some are empty, and some have a single record, or person."""
    rng = np.random.default_rng(seed)
    starts = np.arange(N + 1) if problem is None or problem.persons is None else problem.persons.starts
    cuts = rng.integers(len(starts), size=int(rng.integers(1, 9)))
    return starts[sorted([*cuts, cuts[0], min(cuts[0] + 1, len(starts) - 1)])].tolist()


def curator(records):
    noise, ledger = ScriptedNoise(size=0.0), Ledger(rho=1.0)
    relation = ONE_RECORD
    if records.persons is not None:
        relation, ledger = Relation(records_per_person=3, person_id="id"), Ledger(rho=1.0, person_id="id")
    return curator_of(records, ledger, noise, epsilon=1.0, delta=1e-6, relation=relation), noise


def fed(name, records, *, view=False):
    """Return what a question feeds to the noise, and at which scale."""
    asked, noise = curator(records)
    QUESTIONS[name](asked.transformed(ASKED.w[:-1], 1.0 + ASKED.folds, 0.3) if view else asked, ASKED)
    (kind,) = [inputs for inputs in (noise.gaussian_inputs, noise.argmax_inputs) if inputs]
    return kind


@pytest.mark.parametrize("view", [False, True])
@pytest.mark.parametrize(
    "layout",
    [
        "csr_f64",
        *(pytest.param(name, marks=pytest.mark.slow) for name in ("dense_c_f64", "dense_f_f32", "csr_f32")),
    ],
)
@pytest.mark.parametrize("name", sorted(QUESTIONS.keys() - OF_PEOPLE))
def test_answers_do_not_depend_on_the_parts(name, layout, view):
    problem = problem_of(LOSSES["logistic"], layout)
    if name in BY_PRODUCTS:
        in_one_place = fed(name, problem, view=view)
        problem = divided(problem, [])
    else:
        in_one_place = None
    if "ScoreSums" in name and view:
        pytest.skip("scores are sums over columns as they are")
    expected = fed(name, problem, view=view)
    for seed in range(3):
        whole = problem_of(LOSSES["logistic"], layout)
        found = fed(name, divided(whole, borders(seed)), view=view)
        for one, other in zip(expected, found, strict=True):
            np.testing.assert_array_equal(one[0], other[0])
            assert one[1:] == other[1:], "a scale is public"
    if in_one_place is not None:
        for one, other in zip(expected, in_one_place, strict=True):
            np.testing.assert_allclose(one[0], other[0], rtol=1e-5)


@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("loss", ["huber_1.345", "smoothed_hinge", "poisson"])
@pytest.mark.parametrize(
    "name", ["Gradient", "GradientAt", "RisesAlong", "HessianAt", "TargetSums", "WeightSum"]
)
def test_losses_and_weights_do_not_matter(name, loss, weights):
    problem = problem_of(LOSSES[loss], weights=weights)
    if name == "RisesAlong" and not LOSSES[loss].lipschitz < np.inf:
        pytest.skip("rises are bounded only if slopes are")
    for one, other in zip(fed(name, problem), fed(name, divided(problem, borders(1))), strict=True):
        np.testing.assert_array_equal(one[0], other[0])


@pytest.mark.parametrize("layout", ["dense_c_f64", "csr_f64"])
def test_several_outputs_add_up(layout):
    loss = OUTPUT_LOSSES["softmax_4"]
    problem = problem_of(loss, layout, weights=True)
    w = np.random.default_rng(3).normal(size=(4, 4))
    questions = [GradientAt(w, 1.0), SlopesAt(w, 0.5), TargetSums(), ClassSums()]
    in_parts = divided(problem, borders(5))
    for question in questions:
        np.testing.assert_array_equal(in_parts.bounded(question).look(), question.bounded(problem).look())
    for question in (EffectGradient(1.0, 1.4), EffectCurvature(1.0, 0.5), EffectSpread(1.0, 1.4)):
        whole = question.bounded(problem.at(w)).look()
        np.testing.assert_array_equal(in_parts.at(w).bounded(question).look(), whole)
    of_scores = ScaleSlopesAt(0.7, w[-1], 0.5)
    np.testing.assert_array_equal(
        in_parts.projected(w).bounded(of_scores).look(), of_scores.bounded(problem.projected(w)).look()
    )


@pytest.mark.parametrize("layout", ["dense_c_f64", "csr_f32"])
@pytest.mark.parametrize("name", sorted(QUESTIONS.keys() - BY_PRODUCTS))
def test_answers_about_people_do_not_depend_on_the_parts(name, layout):
    """Each person's records are in one part (Q42)."""
    problem = problem_of(LOSSES["logistic"], layout, people=True)
    expected = fed(name, problem)
    for seed in range(2):
        for one, other in zip(expected, fed(name, divided(problem, borders(seed, problem))), strict=True):
            np.testing.assert_array_equal(one[0], other[0])
            assert one[1:] == other[1:], "a scale is public"


@pytest.mark.parametrize("name", sorted(OF_PEOPLE))
def test_questions_about_people_are_refused_if_it_is_not_known_who_is_who(name):
    asked, _ = curator(divided(problem_of(LOSSES["logistic"]), [100]))
    with pytest.raises(ValueError, match="need records with the ids of people"):
        QUESTIONS[name](asked, ASKED)
    assert asked.remaining == 1.0


def test_records_of_a_person_are_not_divided():
    problem = problem_of(LOSSES["logistic"], people=True)
    inside = next(k for k in range(N) if k not in problem.persons.starts)
    with pytest.raises(ValueError, match="All records of a person must be in one part"):
        divided(problem, [inside])


@pytest.mark.parametrize("name", sorted(QUESTIONS.keys() - OF_PEOPLE - BY_PRODUCTS))
def test_a_sample_is_that_of_the_same_coins_in_one_place(name):
    """A coin is tossed for the number of a row in the whole table, whatever part has it (Q41)."""
    problem, found = problem_of(LOSSES["logistic"], weights=True), []
    for records in (problem, *(divided(problem, borders(seed)) for seed in range(3))):
        asked, noise = curator(records)
        noise.rng = np.random.default_rng(5)
        QUESTIONS[name](asked.sample(0.2), ASKED)
        found.append(noise.gaussian_inputs or noise.argmax_inputs)
    for other in found[1:]:
        for one, same in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(one[0], same[0])


def test_rows_that_are_not_in_order_get_the_coins_of_their_numbers():
    """On a cluster a part has the blocks that its worker has, from anywhere in the table."""
    problem = problem_of(LOSSES["hinge"])
    whole = divided(problem, [700, 1500])
    home = parts.LocalParts([whole.parts.parts[k] for k in (2, 0, 1)])
    home.stretches = [[slice(1500, N)], [slice(0, 700)], [slice(700, 1500)]]
    rows = np.random.default_rng(2).permutation(N)[:400]
    question, w = GradientAt(np.full(4, 0.2), 1.0), np.sort(rows)
    found = InParts(whole.without_records, home).sampled(lambda count: w).bounded(question).look()
    np.testing.assert_array_equal(found, question.bounded(problem.subset(w)).look())


@pytest.mark.parametrize("what", ["people", "a sample"])
def test_samples_of_people_and_of_samples_are_refused(what):
    problem = problem_of(LOSSES["logistic"], people=what == "people")
    asked, _ = curator(divided(problem, []))
    asked = asked if what == "people" else asked.sample(0.5)
    with pytest.raises(ValueError, match="one place only"):
        PLACES["sample"](asked, ASKED)


def test_a_part_is_sent_its_own_rows_alone():
    _, records, home = counting()
    records.sampled(lambda count: np.arange(0, count, 7)).bounded(Count()).look()
    (step,) = home.requests[0].steps
    for k, own in enumerate([500, 1500, 1000]):
        (rows,) = home.requests[0].of_part(k).steps[0].arguments
        assert rows.max() < own
    assert isinstance(step.arguments[0], parts.OwnRows)


# -- places --------------------------------------------------------------------------------------------


class Counting(parts.LocalParts):
    """Parts in this process that count what they are sent, and may lose a part before an answer."""

    def __init__(self, made, lose=()):
        super().__init__(made)
        self.lose, self.requests, self.rounds = dict(lose), [], 0

    def answers(self, request, parts=None):
        lost = self.lose.pop(self.rounds, None)
        self.rounds += 1
        if lost is not None:  # another machine makes it again of the same records
            self.parts[lost] = pickle.loads(pickle.dumps(self.parts[lost]))
        self.requests.append(request)
        return super().answers(request, parts)


def walk(records):
    """Walk along lines, as DP-AGD does, and return what was found on the way."""
    point, found = records.at(np.zeros(4)), []
    for step in range(6):
        gradient = (
            point.bounded(Gradient(1.0)).look() if isinstance(records, InParts) else point.gradient_sum(1.0)
        )
        found.append(gradient)
        point = point.along(gradient / np.linalg.norm(gradient)).move(0.1 + 0.01 * step)
    return found


def counting(lose=()):
    problem = problem_of(LOSSES["hinge"])
    whole = divided(problem, [500, 2000])
    home = Counting(list(whole.parts.parts), lose)
    return problem, InParts(whole.without_records, home), home


def test_places_are_derived_once_and_forgotten_when_nobody_holds_them():
    problem, records, home = counting()
    np.testing.assert_array_equal(walk(records), walk(problem))
    assert [len(request.steps) for request in home.requests] == [1, 2, 2, 2, 2, 2], "a walk is not sent again"
    assert all(len(part._places) <= 3 for part in home.parts)
    records.bounded(Count()).look()
    assert [len(part._places) for part in home.parts] == [0, 0, 0]


@pytest.mark.parametrize("when", range(6))
def test_a_part_that_was_lost_derives_its_places_again(when):
    problem, records, home = counting({when: 1})
    np.testing.assert_array_equal(walk(records), walk(problem))
    assert home.rounds == 6 + (when > 0), "the part that forgot is asked again, and nobody else"


def test_arguments_are_those_of_the_time_when_a_place_was_named():
    problem, records, _ = counting()
    w = np.full(4, 0.3)
    point, expected = records.at(w), problem.at(w).gradient_sum(1.0)
    w[:] = 7.0
    np.testing.assert_array_equal(point.bounded(Gradient(1.0)).look(), expected)


def test_a_part_shows_nothing_of_its_records():
    _, records, home = counting()
    walk(records)
    assert repr(home.parts[0]) == str(home.parts[0]) == "<part>"


def test_the_limit_of_records_holds_for_all_parts_together(monkeypatch):
    problem = problem_of(LOSSES["hinge"])
    monkeypatch.setattr(parts, "MAX_RECORDS", N - 1)
    with pytest.raises(ValueError, match=f"at most {N - 1} records are supported in all parts"):
        divided(problem, [10])
    assert MAX_RECORDS == 2**32


def test_a_part_that_does_not_know_a_place_says_so():
    part = Part(problem_of(LOSSES["hinge"]))
    assert part.answer(Request(7, (), Count(), frozenset())) is None
    assert part.answer(Request(None, (), Count(), frozenset())) == [N]


# -- models --------------------------------------------------------------------------------------------


def solved(solver, records, n, alpha=0.0):
    ledger = Ledger.keeping(solver.promise(epsilon=4.0, delta=1e-6))
    asked = curator_of(records, ledger, SeededNoise(3), epsilon=4.0, delta=1e-6, n_records=n, alpha=alpha)
    return solver.solve(asked), ledger


@pytest.mark.filterwarnings("ignore::privfit.solvers.BudgetWarning")
@pytest.mark.parametrize(
    ("loss", "n"), [("logistic", None), *(pytest.param(loss, N, marks=pytest.mark.slow) for loss in MODELS)]
)
@pytest.mark.parametrize("name", VARIANTS)
def test_every_solver_gives_the_same_model_or_refuses_before_a_charge(name, loss, n):
    solver = VARIANTS[name]
    problem = problem_of(LOSSES[loss], "csr_f64")
    in_parts = divided(problem, borders(4))
    if IN_ONE_PLACE in solver.requires:
        ledger = Ledger.keeping(solver.promise(epsilon=4.0, delta=1e-6))
        with pytest.raises(ValueError, match="a table in one place"):
            solver.solve(curator_of(in_parts, ledger, SeededNoise(3), epsilon=4.0, delta=1e-6))
        assert ledger.spent == 0.0
        return
    (one, ledger), (other, same) = solved(solver, problem, n), solved(solver, in_parts, n)
    np.testing.assert_array_equal(one.w, other.w)
    assert (one.trace, one.notes) == (other.trace, other.notes)
    assert [entry.rho for entry in ledger.entries] == [entry.rho for entry in same.entries]


def test_some_solvers_take_parts():
    able = {name for name, solver in SOLVERS.items() if IN_ONE_PLACE not in solver.requires}
    assert able == {
        "adaptive",
        "dpagd",
        "dpagd-modern",
        "frank-wolfe",
        "gradient-descent",
        "newton",
        "privgene",
        "sgd-adv",
        "sgd-ma",
        "sufficient-statistics",
    }


def test_what_a_cluster_may_log_of_a_question_does_not_say_which_records_are_in_a_sample():
    """Dask logs the arguments of a call that fails, for example if it cannot read what it spilled."""
    problem = divided(problem_of(LOSSES["logistic"]), [1000])
    sample = problem.sampled(lambda count: np.array([7, 1234]))
    request = Request(None, sample._steps, Count(), frozenset())
    own = [request.of_part(part).steps[0].arguments[0] for part in range(2)]
    assert [rows.tolist() for rows in own] == [[7], [234]]
    assert "7" not in repr(request)
    assert "234" not in repr(request)
