"""Fits that promise privacy to people, replayed on tables that differ in all records of one person."""

import dataclasses

import numpy as np
import pytest
from neighbours import FORMS, MODELS, base_table, hostile_records
from replay import assert_paid_for, assert_same, run
from test_solver_replay import OPENED, UNBLURRED

from privfit.curator import Curator
from privfit.engine.problem import Problem
from privfit.estimators import records as records_module
from privfit.preprocessing import PrivateBounds
from privfit.schema import people as people_module
from privfit.schema.people import NOBODY, People
from privfit.solvers import DPAGD, SGDMA, SOLVERS, Adaptive, GradientDescent, ModernDPAGD, PrivGene, SGDAdv

K = 3
TAKE_PEOPLE = {
    "adaptive": Adaptive(),
    "dpagd": DPAGD(splits=6),
    "dpagd, samples": DPAGD(splits=6, batch_size=20, selection="gumbel"),
    "dpagd-modern": ModernDPAGD(iterations=8),
    "frank-wolfe": SOLVERS["frank-wolfe"](),
    "gradient-descent": GradientDescent(steps=5),
    "newton": SOLVERS["newton"](),
    "privgene": PrivGene(population=12, parents=3),
}
ONE_RECORD_EACH = {
    "approximate-minima-perturbation": SOLVERS["approximate-minima-perturbation"](),
    "objective-perturbation": SOLVERS["objective-perturbation"](),
    "output-perturbation": SOLVERS["output-perturbation"](),
    "sgd-adv": SGDAdv(steps=6),
    "sgd-ma": SGDMA(max_steps=8),
}
NEW = 1000  # the id of a person who comes last


def visits():
    """Return 60 records of 20 people, who have 1 to 5 of them, sorted by what they add to a gradient."""
    X, y = base_table()
    who = np.repeat(np.arange(20), np.tile([1, 2, 3, 4, 5], 4)).astype(float)
    order = np.argsort((y - 0.5) * X[:, 0])
    return X[order], y[order], np.random.default_rng(5).permutation(who)


def with_person(table, rows, labels, *, order=None):
    X, y, who = table
    more = np.vstack([X, rows]), np.append(y, labels), np.append(who, np.full(len(rows), float(NEW)))
    return more if order is None else tuple(part[order] for part in more)


def neighbours(dtype=np.float64):
    """Return tables that differ in all records of one person, whatever the order of the rows.

    Records without an id are nobody's: they may come or go with anybody.
    """
    X, y, who = base = visits()
    hostile = hostile_records(X, y, dtype)
    rng = np.random.default_rng(6)
    found = {}
    for kind, (row, label) in hostile.items():
        for size in (1, 7) if kind == "mislabelled" else (7,):
            found[f"{size} records more, {kind}"] = with_person(base, np.tile(row, (size, 1)), [label] * size)
    rows, labels = (np.array(part) for part in zip(*hostile.values(), strict=True))
    found["all of these, shuffled"] = with_person(base, rows, labels, order=rng.permutation(60 + len(rows)))
    mixed = rng.normal(size=(9, X.shape[1]))
    found["nine visits, shuffled"] = with_person(base, mixed, [1] * 9, order=rng.permutation(69))
    found["nine visits, all rows turned round"] = with_person(base, mixed, [1] * 9, order=np.arange(69)[::-1])
    last = who < 19
    found["a person less"] = X[last], y[last], who[last]
    nobody = with_person(base, np.tile(3.0 * X[:10], (4, 1)), [1, 0] * 20)
    found["records of nobody"] = nobody[0], nobody[1], np.where(nobody[2] == NEW, np.nan, nobody[2])
    return found


def fit_of(table, solver, *, form="dense", loss="logistic", k=K, **settings):
    X, y, who = table
    public = {"epsilon": 20.0, "delta": 1e-3, "classes": (0, 1), "solver": solver, "rows_per_person": k}
    return lambda: MODELS[loss](**public | settings).fit(FORMS[form](X), y, groups=who)


def replay(solver, **settings):
    """Record a fit of the table; force what it released on its neighbours, and compare everything."""
    original = run(fit_of(visits(), solver, **settings))
    assert "refusal" not in original.visible, original.visible["refusal"]
    dtype = np.float32 if settings.get("form") == "float32" else np.float64
    for name, table in neighbours(dtype).items():
        try:
            again = run(fit_of(table, solver, **settings), original=original)
            assert_same(original, again, released_unblurred=UNBLURRED.get(solver.name, ()))
            assert_paid_for(original, again, opened=OPENED.get(solver.name))
        except AssertionError as difference:
            difference.add_note(f"on the table {name}")
            raise


@pytest.mark.parametrize("name", TAKE_PEOPLE)
def test_people_are_told_apart_by_nothing_but_what_was_released(name):
    replay(TAKE_PEOPLE[name], feature_bounds=(-2.0, 2.0))


@pytest.mark.parametrize("name", ONE_RECORD_EACH)
def test_one_record_of_each_person_is_what_proofs_about_one_record_take(name):
    replay(ONE_RECORD_EACH[name], k=1, alpha=0.05)


@pytest.mark.parametrize(
    "settings",
    [
        {"form": "csr"},
        {"form": "float32", "loss": "hinge"},
        {"fit_intercept": False, "epsilon": 0.5},
        {"k": 1},
        {"k": 100},
    ],
    ids=str,
)
def test_the_default_solver_tells_people_apart_by_nothing_in_other_settings(settings):
    replay(Adaptive(), **settings)


@pytest.mark.parametrize("epsilon", [0.5, 20.0])
def test_private_bounds_tell_people_apart_by_nothing(epsilon):
    def fit_of(table):
        return lambda: PrivateBounds(epsilon, 1e-3, rows_per_person=K).fit(table[0], groups=table[2])

    original = run(fit_of(visits()))
    assert "refusal" not in original.visible
    for table in neighbours().values():
        again = run(fit_of(table), original=original)
        assert_same(original, again)
        assert_paid_for(original, again)


# -- planted bugs -------------------------------------------------------------------------------------------


def by_row_order(people, most, X, *columns):
    rows = np.argsort(people.numbers, kind="stable")
    rows = rows[people.numbers[rows] != NOBODY]
    first = np.searchsorted(people.numbers[rows], people.numbers[rows])
    return rows[np.arange(len(rows)) - first < most]


def by_a_key_from_the_data(people, most, X, *columns):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(people_module, "_KEY", str(len(people)).encode())
        return people_module.records_used(people, most, X, *columns)


def everybody(column, name):
    found = people_module.people_in(column, name)
    alone = found.numbers == NOBODY
    numbers = found.numbers.copy()
    numbers[alone] = len(found.ids) + np.arange(alone.sum())
    return People(numbers, [*found.ids, *(f"nobody {i}" for i in range(alone.sum()))])


@pytest.mark.parametrize("wrong", [by_row_order, by_a_key_from_the_data])
def test_a_choice_that_looks_beyond_the_person_is_noticed(monkeypatch, wrong):
    """A small clip makes all records weigh the same, so that exchanging some of others' shows."""
    solver = GradientDescent(steps=2, clip=0.05)
    replay(solver, feature_bounds=(-2.0, 2.0))
    monkeypatch.setattr(records_module, "records_used", wrong)
    with pytest.raises(AssertionError, match="moves what"):
        replay(solver, feature_bounds=(-2.0, 2.0))


def test_people_without_an_id_are_noticed(monkeypatch):
    monkeypatch.setattr(records_module, "people_in", everybody)
    with pytest.raises(AssertionError, match="moves what"):
        replay(GradientDescent(steps=2), feature_bounds=(-2.0, 2.0))


def test_a_relation_that_is_forgotten_on_the_way_is_noticed(monkeypatch):
    """By what it moves, or by the next curator that is made of the same records."""
    original = Curator._over

    def forgetful(self, records, **changed):
        made = original(self, records, **changed)
        made.relation = dataclasses.replace(self.relation, records_per_person=1)
        return made

    monkeypatch.setattr(Curator, "_over", forgetful)
    with pytest.raises(AssertionError, match=r"moves what|people may have"):
        replay(Adaptive(), feature_bounds=(-2.0, 2.0))


def test_weights_that_are_shared_among_the_records_of_a_person_before_the_clip_are_noticed(monkeypatch):
    """Records of weight 1/3 still add up to more than one clipped record, because the clip comes after."""
    made, begun = Problem.of.__func__, Curator.__init__

    def weighted(cls, *arguments, persons, **settings):
        sizes = np.diff(persons.starts)
        settings["weights"] = np.repeat(1.0 / sizes, sizes)
        return made(cls, *arguments, persons=persons, **settings)

    def about_one(self, *arguments, relation, **settings):
        begun(self, *arguments, relation=relation, **settings)
        self.relation = dataclasses.replace(relation, records_per_person=1)

    monkeypatch.setattr(Problem, "of", classmethod(weighted))
    monkeypatch.setattr(Curator, "__init__", about_one)
    with pytest.raises(AssertionError):
        replay(GradientDescent(steps=2, clip=0.1), feature_bounds=(-2.0, 2.0))


def test_an_unscaled_sensitivity_is_noticed(monkeypatch):
    begun = Curator.__init__

    def about_one(self, *arguments, relation, **settings):
        begun(self, *arguments, relation=relation, **settings)
        self.relation = dataclasses.replace(relation, records_per_person=1)

    monkeypatch.setattr(Curator, "__init__", about_one)
    with pytest.raises(AssertionError, match="moves what"):
        replay(GradientDescent(steps=2), feature_bounds=(-2.0, 2.0))
