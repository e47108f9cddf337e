"""The clip of a person's sum of gradients (Q26)."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from privfit.engine import person_gradients
from privfit.engine.persons import Persons
from privfit.engine.problem import Problem
from privfit.losses import LOSSES

FORMS = {
    "row-major": np.ascontiguousarray,
    "column-major": np.asfortranarray,
    "float32": np.float32,
    "sparse": sparse.csr_array,
}
LOGISTIC = LOSSES["logistic"]


def people(sizes, most=None):
    numbers = np.repeat(np.arange(len(sizes)), sizes)
    return Persons.of(numbers, max(sizes) if most is None else most)


def table(n, p, seed=0, sparsity=0.5):
    rng = np.random.default_rng(seed)
    X = np.float32(rng.normal(size=(n, p)) * (rng.random((n, p)) > sparsity)).astype(float)
    return X, np.where(rng.random(n) < 0.5, 1.0, -1.0)


def by_definition(Z, y, persons, w, clip):
    """Return the sum with the gradients of records and persons formed one by one."""
    margins = y * (Z @ w)
    gradients = (-y / (1.0 + np.exp(margins)))[:, None] * Z
    total = np.zeros(Z.shape[1])
    for first, last in zip(persons.starts[:-1], persons.starts[1:], strict=True):
        own = gradients[first:last]
        own = own * np.minimum(1.0, clip / np.linalg.norm(own, axis=1))[:, None]
        together = own.sum(axis=0)
        total += together * min(1.0, clip / max(np.linalg.norm(together), 1e-300))
    return total


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("clip", [0.1, 1.0, 20.0])
def test_it_is_what_forming_every_gradient_gives_in_every_view(form, clip):
    X, y = table(60, 5)
    persons = people([1, 7, 2, 50 - 2 * 7, 7, 7], 50)
    center, scale, bias = np.linspace(-1, 1, 5), np.array([1.0, 0.2, 3.0, 0.0, 1.0]), 0.3
    w = np.random.default_rng(1).normal(size=6)
    plain = Problem.of(FORMS[form](X), y, LOGISTIC, persons=persons)
    for problem, Z in (
        (plain, np.column_stack([X, np.ones(60)])),
        (
            plain.transformed(center, scale, bias),
            np.column_stack([scale * (X - center), np.full(60, bias)]),
        ),
    ):
        found = problem.person_gradient_at(w, clip)
        np.testing.assert_allclose(found, by_definition(Z, y, persons, w, clip), atol=1e-3 * clip)


def test_several_outputs_are_clipped_together():
    loss = next(loss for loss in _with_outputs() if loss.outputs == 3)
    X, _ = table(40, 4)
    y = np.random.default_rng(2).integers(0, 3, 40).astype(float)
    persons = people([4] * 10)
    problem = Problem.of(X, y, loss, persons=persons)
    w = np.random.default_rng(3).normal(size=(5, 3))
    alone = np.stack(
        [Problem.of(X[i : i + 1], y[i : i + 1], loss).gradient_at(w, 0.5) for i in range(40)]
    ).reshape(10, 4, 5, 3)
    sums = alone.sum(axis=1)
    norms = np.linalg.norm(sums.reshape(10, -1), axis=1)
    expected = (sums * np.minimum(1.0, 0.5 / norms)[:, None, None]).sum(axis=0)
    np.testing.assert_allclose(problem.person_gradient_at(w, 0.5), expected, atol=1e-3)
    whole = problem.person_gradient_bound(0.5)
    assert whole >= 0.5


def _with_outputs():
    from privfit.losses.softmax import softmax

    return [softmax(3)]


def test_the_order_of_people_and_of_the_rows_around_them_changes_no_bit():
    X, y = table(30, 4)
    persons = people([3] * 10)
    w = np.random.default_rng(1).normal(size=5)
    first = Problem.of(X, y, LOGISTIC, persons=persons).person_gradient_at(w, 0.4)
    order = persons.rows(np.random.default_rng(2).permutation(10))
    again = Problem.of(X[order], y[order], LOGISTIC, persons=persons).person_gradient_at(w, 0.4)
    assert np.array_equal(first, again)


# -- one person more moves the sum by no more than the bound, whatever their records are --------------------

VALUES = st.sampled_from([0.0, 1.0, -1.0, 1e-3, -7.5, 1e8, -1e8, 1e-160, 1e150, -1e154, 3e-39, 2.0**-30])


@st.composite
def hostile_people(draw):
    k, p = draw(st.integers(1, 6)), draw(st.integers(1, 3))
    rows = draw(st.lists(st.lists(VALUES, min_size=p, max_size=p), min_size=k, max_size=k))
    labels = draw(st.lists(st.sampled_from([-1.0, 1.0]), min_size=k, max_size=k))
    w = draw(st.lists(st.sampled_from([0.0, 1.0, -3.0, 1e-9]), min_size=p + 1, max_size=p + 1))
    return np.array(rows), np.array(labels), np.array(w), draw(st.sampled_from([1e-3, 0.7, 4.0]))


def moved(rows, labels, w, clip, *, view=None, form=np.asarray, most=6, gradient=None):
    """Return how far a person moves the sum of a table of others, exactly, and the bound."""
    X, y = table(12, rows.shape[1], sparsity=0.0)
    sums = []
    for add in (False, True):
        Z, t = (np.vstack([X, rows]), np.append(y, labels)) if add else (X, y)
        persons = people([3, 3, 6, len(rows)] if add else [3, 3, 6], most)
        problem = Problem.of(form(Z), t, LOGISTIC, persons=persons)
        problem = problem if view is None else problem.transformed(*view)
        sums.append((gradient or Problem.person_gradient_at)(problem, w, clip))
    distance = [Fraction(a) - Fraction(b) for a, b in zip(*sums, strict=True)]
    return math.sqrt(sum(d * d for d in distance)), problem.person_gradient_bound(clip)


@settings(max_examples=60, deadline=None)
@given(hostile_people())
def test_a_person_moves_the_sum_by_no_more_than_the_bound(person):
    rows, labels, w, clip = person
    view = np.linspace(-0.5, 0.5, rows.shape[1]), np.linspace(1.0, 3.0, rows.shape[1]), 0.3
    for chosen in (None, view):
        for form in (np.asarray, sparse.csr_array):
            distance, bound = moved(rows, labels, w, clip, view=chosen, form=form)
            assert distance <= bound


def test_records_that_cancel_do_not_hide_the_others():
    """Two opposite records of any length leave a person's other records clipped as if they were alone."""
    for size in (1.0, 1e6, 1e12):
        rows = np.array([[size, 0.0], [size, 0.0], [0.0, 3.0], [0.0, 3.0], [0.0, 3.0]])
        distance, bound = moved(rows, np.array([1.0, -1.0, 1.0, 1.0, 1.0]), np.zeros(3), 0.5)
        assert distance <= bound
        assert distance > 0.45


# -- planted mistakes ---------------------------------------------------------------------------------------

LONG = np.array([[1e6, 0.0, 0.0]] + 4 * [[2.5e5, 0.0, 0.0]])  # one long record against four shorter ones
SIGNS = np.array([1.0, -1.0, -1.0, -1.0, -1.0])


def without_row_clip(problem, w, clip):
    """Clip the sum alone: it is short here, so no record is shrunk before each is clipped by itself."""
    slopes = person_gradients.general.coefficients(problem, problem.at(w).predictions)
    factors = np.ones(len(slopes))
    shares = (slopes * problem.table.norms)[:, None]
    angles = person_gradients.cosines(problem.table, problem.persons)
    person_gradients.person_factors(problem.persons.starts, angles, shares, clip, 0.0, factors)
    return problem.table.combination(slopes * factors, clip)


def records_alone(problem, w, clip):
    return problem.gradient_at(w, clip)


@pytest.mark.parametrize("wrong", [without_row_clip, records_alone])
def test_a_wrong_clip_moves_the_sum_beyond_the_bound(wrong):
    distance, bound = moved(LONG, SIGNS, np.zeros(4), 0.5, gradient=wrong)
    assert distance > 1.5 * bound
    distance, bound = moved(LONG, SIGNS, np.zeros(4), 0.5)
    assert distance <= bound


def test_the_bound_grows_with_the_rounding_of_each_record():
    X, y = table(12, 3)
    bounds = [
        Problem.of(X, y, LOGISTIC, persons=people([1] * 12, most)).person_gradient_bound(1.0)
        for most in (1, 2, 50)
    ]
    one = Problem.of(X, y, LOGISTIC).gradient_bound(1.0) - 1.0
    assert bounds == pytest.approx([1.0 + 2.0**-30 + most * one for most in (1, 2, 50)], rel=1e-15)


def test_more_records_than_angles_can_be_kept_of_are_refused():
    X, y = table(70, 3)
    problem = Problem.of(X, y, LOGISTIC, persons=people([70]))
    with pytest.raises(ValueError, match="at most 64 records"):
        problem.person_gradient_at(np.zeros(4), 1.0)


def test_persons_are_records_that_stand_together():
    with pytest.raises(ValueError, match="one after the other"):
        Persons.of(np.array([0, 1, 0]), 3)
    with pytest.raises(ValueError, match="between 1 and 2 records"):
        Persons.of(np.array([0, 0, 0]), 2)
    persons = people([2, 1, 3])
    assert persons.rows(np.array([0, 2])).tolist() == [0, 1, 3, 4, 5]
    assert np.diff(persons.subset(np.array([1, 3, 5])).starts).tolist() == [1, 2]
    X, y = table(6, 2)
    drawn = Problem.of(X, y, LOGISTIC, persons=persons).sampled(lambda count: np.array([count - 1]))
    assert drawn.n_records == 3
    assert drawn.persons.count == 1
