"""Fits whose promise is about all records of a person."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest

from privfit import DPLinearRegression, DPLogisticRegression, DPPoissonRegressor, Ledger, Schema, load
from privfit.engine.problem import Problem
from privfit.leaks import WeakPromiseWarning
from privfit.penalties import NonNegative
from privfit.report import render
from privfit.schema import Identifier, Label, Numeric
from privfit.solvers import GradientDescent

pytestmark = pytest.mark.filterwarnings("ignore::privfit.solvers.BudgetWarning")

N, PEOPLE, K = 600, 200, 2
rng = np.random.default_rng(0)
VISITS = pd.DataFrame({"who": np.arange(N) % PEOPLE, "x": rng.random(N), "z": rng.random(N)})
VISITS["ill"] = np.where(VISITS["x"] + 0.3 * rng.normal(size=N) > 0.5, "yes", "no")
COLUMNS, LABEL = [Numeric("x", 0, 1), Numeric("z", 0, 1)], Label("ill", ["no", "yes"])
OF_PEOPLE = Schema([Identifier("who", rows_per_person=K), *COLUMNS], LABEL)
QUICK = {"solver": GradientDescent(steps=2)}
SEEDED = {"noise": "seeded", "random_state": 0, "feature_bounds": (0, 1), "classes": ("no", "yes")}


def by_groups(table=VISITS, groups=None, **settings):
    model = DPLogisticRegression(**QUICK | SEEDED | {"rows_per_person": K} | settings)
    return model.fit(table[["x", "z"]], table["ill"], groups=table["who"] if groups is None else groups)


@pytest.fixture
def problems(monkeypatch):
    """Collect the problems that fits are about."""
    seen, original = [], Problem.of.__func__

    def noticed(cls, *arguments, **settings):
        seen.append(original(cls, *arguments, **settings))
        return seen[-1]

    monkeypatch.setattr(Problem, "of", classmethod(noticed))
    return seen


def rows_of(problem):
    X = problem.table.layout.take(slice(None))
    return sorted(map(tuple, np.column_stack([X, problem.targets]).tolist()))


def test_at_most_so_many_records_of_a_person_are_used_whatever_their_order(problems):
    for table in (VISITS, VISITS.sample(frac=1.0, random_state=1)):
        by_groups(table)
    first, second = problems
    assert first.n_records == K * PEOPLE
    assert np.array_equal(np.diff(first.persons.starts), np.full(PEOPLE, K))
    assert rows_of(first) == rows_of(second)


def test_a_person_who_leaves_takes_their_records_along_and_no_others(problems):
    by_groups(VISITS)
    by_groups(VISITS[VISITS["who"] != 7])
    with_them, without = map(rows_of, problems)
    left = [row for row in with_them if row not in without]
    assert len(left) == K
    assert sorted([*without, *left]) == with_them


def test_without_an_id_a_record_is_nobodys_and_left_out(problems):
    groups = VISITS["who"].astype(float).mask(VISITS["who"] < 50)
    by_groups(groups=groups)
    by_groups(VISITS[VISITS["who"] >= 50])
    assert rows_of(problems[0]) == rows_of(problems[1])


def test_one_record_of_a_person_is_enforced_as_well(problems):
    model = by_groups(rows_per_person=1)
    assert problems[0].n_records == PEOPLE
    assert "at most 1 record is used" in model.privacy_.text


@pytest.mark.parametrize("kind", ["frame", "csv", "parquet"])
def test_the_id_column_of_a_schema_says_the_same(problems, tmp_path, kind):
    table = VISITS
    if kind != "frame":
        table = tmp_path / f"visits.{kind}"
        (VISITS.to_csv if kind == "csv" else VISITS.to_parquet)(table, index=False)
    seeded = {"noise": "seeded", "random_state": 0}
    declared = DPLogisticRegression(schema=OF_PEOPLE, **QUICK, **seeded).fit(table)
    without_k = Schema([Identifier("who"), *COLUMNS], LABEL)
    DPLogisticRegression(schema=without_k, rows_per_person=K, **QUICK, **seeded).fit(table)
    assert rows_of(problems[0]) == rows_of(problems[1])
    assert problems[0].n_records == K * PEOPLE
    assert declared.privacy_.records_per_person == K


def test_records_without_a_label_are_dropped_before_a_person_has_too_many(problems):
    table = VISITS.assign(ill=VISITS["ill"].mask(VISITS.index < PEOPLE))
    schema = Schema(OF_PEOPLE.columns, Label("ill", ["no", "yes"], missing="drop"))
    DPLogisticRegression(schema=schema, **QUICK).fit(table)
    assert problems[0].n_records == K * PEOPLE


def test_schemas_say_it_in_toml_too():
    text = OF_PEOPLE.to_toml()
    assert "rows_per_person = 2" in text
    assert Schema.from_toml(text) == OF_PEOPLE
    for wrong in (0, -1, 1.5, True, "2"):
        with pytest.raises(ValueError, match="rows_per_person of column 'who' must be a whole number"):
            Identifier("who", rows_per_person=wrong)


# -- what is refused, before a charge -----------------------------------------------------------------------

REFUSED = {
    "groups alone": ({"rows_per_person": None}, VISITS["who"], "set rows_per_person"),
    "nobody told apart": ({}, None, "no id tells people apart; pass groups= to fit"),
    "no number": ({"rows_per_person": 0}, VISITS["who"], "rows_per_person must be a positive whole number"),
    "a proof for one record": ({"solver": "sgd-ma"}, VISITS["who"], "needs people who have one record each"),
    "a ledger of records": ({"ledger": ()}, VISITS["who"], "The ledger's promise is about one record, and"),
    "another id": ({"ledger": "home"}, VISITS["who"], "tell people apart by 'home'"),
    "groups without that name": ({"ledger": "who"}, VISITS["who"].to_numpy(), "tell people apart by 'who'"),
    "too few ids": ({}, VISITS["who"][:-1], "inconsistent numbers"),
    "nobody has an id": ({}, np.full(N, np.nan), "No record has an id"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_does_not_fit_is_refused_before_a_charge(case):
    settings, groups, message = REFUSED[case]
    ids = settings.get("ledger", "groups" if getattr(groups, "name", None) is None else "who") or None
    ledger = Ledger(epsilon=3.0, promise="concentrated", delta=1e-6, person_id=ids)
    if settings.get("solver") == "sgd-ma":
        ledger = Ledger(epsilon=1.0, promise="direct", delta=1e-6, person_id="who")
    model = DPLogisticRegression(**QUICK | SEEDED | {"rows_per_person": K} | settings | {"ledger": ledger})
    with pytest.raises(ValueError, match=message):
        model.fit(VISITS[["x", "z"]], VISITS["ill"], groups=groups)
    assert ledger.entries == ()


def test_what_the_schema_says_is_not_said_twice():
    with pytest.raises(
        ValueError, match="The schema declares rows_per_person already; remove rows_per_person="
    ):
        DPLogisticRegression(schema=OF_PEOPLE, rows_per_person=3).fit(VISITS)
    with pytest.raises(ValueError, match="'who' tells people apart already; leave groups= out"):
        DPLogisticRegression(schema=OF_PEOPLE).fit(VISITS, groups=VISITS["who"])
    with pytest.raises(ValueError, match="no column 'who'"):
        DPLogisticRegression(schema=OF_PEOPLE).fit(VISITS.drop(columns="who"))


def test_fits_with_any_number_of_records_share_a_ledger():
    ledger = Ledger(epsilon=3.0, delta=1e-6, person_id="who")
    for k in (1, 2, 3):
        by_groups(ledger=ledger, rows_per_person=k, epsilon=0.5)
    DPLogisticRegression(epsilon=0.5, schema=OF_PEOPLE, ledger=ledger, **QUICK).fit(VISITS)
    assert {entry.what for entry in ledger.entries} >= {"number of records", "number of people", "gradient"}
    with pytest.raises(ValueError, match=r"The ledger's promise is about all records of one person .*'who'"):
        by_groups(ledger=ledger, rows_per_person=2, groups=VISITS["who"].rename("patient"))


# -- what is said -------------------------------------------------------------------------------------------


def test_statement_page_and_file_are_about_a_person_and_say_how_many_records(tmp_path):
    model = DPLogisticRegression(schema=OF_PEOPLE, **QUICK).fit(VISITS)
    statement = model.privacy_
    assert statement.is_about_people
    assert statement.relation == "add or remove all records of one person"
    assert "with respect to adding or removing all records of one person" in statement.text
    assert "told apart by the id 'who'; of each person at most 2 records are used" in statement.text
    assert "For a person with" not in statement.text
    assert "each person has at most one record" not in statement.text
    page = render(model.published())
    assert "What that means for one person" in page
    assert "of each person at most 2 records are used" in page
    path = tmp_path / "model.json"
    model.save(path)
    written = json.loads(path.read_text())["privacy"]
    assert written["records_per_person"] == K
    assert written["promise"]["person_id"] == "who"
    assert load(path).privacy_.text == statement.text
    assert load(path).published().is_about_people
    torn = json.loads(path.read_text())
    del torn["privacy"]["records_per_person"]
    path.write_text(json.dumps(torn))
    with pytest.raises(ValueError, match="makes no sense"):
        load(path)


def test_what_is_said_does_not_depend_on_how_many_records_people_have():
    texts = set()
    for who in (np.arange(N), np.arange(N) // 2, np.zeros(N, dtype=int)):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model = DPLogisticRegression(schema=OF_PEOPLE, **QUICK).fit(VISITS.assign(who=who))
        texts.add(model.privacy_.text.partition(" What was spent")[0])  # which noisy counts decide
    assert len(texts) == 1


def test_promises_of_two_units_are_not_added_up():
    model = DPLogisticRegression(**QUICK | SEEDED | {"rows_per_person": K})
    X, y = VISITS[["x", "z"]], VISITS["ill"]
    model.fit(X, y, groups=VISITS["who"])
    model.set_params(rows_per_person=None)
    with pytest.warns(UserWarning, match="some are about one record and others about all records"):
        model.fit(X, y)


def test_delta_is_compared_with_the_number_of_people():
    """The counts have noise of about 3 of 600 and 0.5 of 200: neither is near 1 / delta."""
    many = {"epsilon": 9.0, "rows_per_person": 3}
    with pytest.warns(
        WeakPromiseWarning, match="number of people: a program that publishes one person's records"
    ):
        by_groups(delta=1.0 / 100.0, **many)
    with warnings.catch_warnings():
        warnings.simplefilter("error", WeakPromiseWarning)
        by_groups(delta=1.0 / 400.0, **many)  # above 1 / 600 records, below 1 / 200 people


@pytest.mark.parametrize("solver", ["adaptive", "newton"])
def test_the_default_solver_clips_a_persons_sum_where_it_would_clip_a_record(solver):
    """Its gradients then cost one record's sensitivity; solvers that clip records pay for all of a person."""
    ledger = by_groups(solver=solver, epsilon=9.0, rows_per_person=3).ledger_
    sizes = {entry.what: float(entry.mechanism.rpartition(" ")[2]) for entry in ledger.entries}
    assert sizes["number of records"] == 3.0
    assert sizes["number of people"] == 1.0
    gradient = sizes["gradient"]
    assert gradient < 1.5 if solver == "adaptive" else gradient > 1.6


def numbers_of(table=VISITS):
    return table["x"] * 3.0 + 5.0


MODELS = {
    "classes": lambda: by_groups(VISITS.assign(ill=np.arange(N) % 3), classes=(0, 1, 2), solver="adaptive"),
    "balanced": lambda: by_groups(class_weight="balanced", solver="adaptive"),
    "numbers": lambda: DPLinearRegression(rows_per_person=K).fit(
        VISITS[["x", "z"]], numbers_of(), groups=VISITS["who"]
    ),
    "counts": lambda: DPPoissonRegressor(rows_per_person=K).fit(
        VISITS[["x", "z"]], np.arange(N) % 4, groups=VISITS["who"]
    ),
    "weights": lambda: DPLogisticRegression(rows_per_person=K, max_weight=1.0).fit(
        VISITS[["x", "z"]], VISITS["x"] > 0.5, VISITS["z"], groups=VISITS["who"]
    ),
    "weights that nothing bounds": lambda: DPLogisticRegression(rows_per_person=K).fit(
        VISITS[["x", "z"]], VISITS["x"] > 0.5, VISITS["z"], groups=VISITS["who"]
    ),
    "a set": lambda: by_groups(constraint=NonNegative(), solver="adaptive"),
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.filterwarnings("ignore::privfit.PrivacyLeakWarning")
def test_every_kind_of_model_takes_people_with_several_records(name):
    model = MODELS[name]()
    assert model.privacy_.records_per_person == K
    assert np.isfinite(model.coef_).all()
