"""A promise is about one record; what is said of people follows from declarations, never from the records."""

import dataclasses
import json
import re
import warnings

import mpmath
import numpy as np
import pandas as pd
import pytest
from scored import public_model
from sklearn.pipeline import make_pipeline

from privfit import DPLinearSVC, DPLogisticRegression, Ledger, PrivacyLeakError, Schema, load, metrics, strict
from privfit.accounting import Concentrated, Direct, Gaussian
from privfit.accounting.group import for_records
from privfit.estimators.statement import PrivacyStatement
from privfit.leaks import PrivacyLeakWarning
from privfit.models.origin import UNKNOWN
from privfit.preprocessing import SchemaEncoder
from privfit.report import render
from privfit.schema import Identifier, Label, Numeric
from privfit.solvers import GradientDescent

pytestmark = pytest.mark.filterwarnings("ignore::privfit.solvers.BudgetWarning")

N = 400
WITHOUT_ID = Schema([Numeric("x", 0, 1)], Label("ill", ["no", "yes"]))
WITH_ID = Schema([Identifier("who"), *WITHOUT_ID.columns], WITHOUT_ID.label)
rng = np.random.default_rng(0)
ONCE = pd.DataFrame({"who": np.arange(N), "x": rng.random(N), "ill": np.where(np.arange(N) % 2, "yes", "no")})
TWICE = ONCE.assign(who=np.arange(N) // 2)
SEVERAL = "Some ids in column 'who' repeat"
QUICK = {"n_records": N, "solver": GradientDescent(steps=2)}


@pytest.fixture(scope="module")
def about_people():
    return DPLogisticRegression(schema=WITHOUT_ID, **QUICK).fit(ONCE)


@pytest.fixture(scope="module")
def about_records():
    return DPLogisticRegression(schema=WITH_ID, **QUICK).fit(ONCE)


def fit(table, schema=WITH_ID, **settings):
    return DPLogisticRegression(schema=schema, **QUICK | settings).fit(table)


def warned(action):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = action()
    return result, [str(w.message) for w in caught if w.category is PrivacyLeakWarning]


def test_without_an_id_each_person_is_assumed_to_have_one_record():
    model, messages = warned(lambda: fit(TWICE, WITHOUT_ID))
    statement = model.privacy_
    assert messages == []
    assert statement.is_about_people
    assert "each person has at most one record" in statement.assumptions
    assert "whether or not any one person's record was in the table" in statement.text
    assert "For a person with" not in statement.text
    assert "a person may have several" not in statement._repr_html_()


@pytest.mark.parametrize("estimator", [DPLogisticRegression, DPLinearSVC])
def test_with_an_id_the_promise_is_about_one_record(estimator):
    model = estimator(epsilon=1.0, delta=1e-6, schema=WITH_ID, **QUICK).fit(ONCE)
    statement = model.privacy_
    assert not statement.is_about_people
    assert "whether or not any one record was in the table" in statement.text
    assert "person's record" not in statement.text
    assert "at most one record" not in statement.text
    assert "This is a promise about one record, not about one person" in statement.text
    assert "For a person with 2 records epsilon is at most 2.123 at delta = 1e-06." in statement.text
    assert "For a person with 10 records epsilon is at most 13.51 at delta = 1e-06." in statement.text
    assert "add or remove one record; a person may have several" in statement._repr_html_()


def test_the_page_says_record_where_the_statement_does(about_people, about_records):
    about_people, about_records = (render(model.published()) for model in (about_people, about_records))
    assert "What that means for one person" in about_people
    assert "records of a person" not in about_people
    assert "What that means for one record" in about_records
    assert "one person was in the table" not in about_records
    assert "at most one record" not in about_records
    assert re.search(">10</t[dh]><td[^>]*>13.51</td>", about_records)


def publishable(model):
    """Return all of a model file but what the noise, the clock and the ledger's random name decide."""
    facts = model.published()
    written = {name: fact for name, fact in facts.privacy.items() if name != "origin"}
    return written, facts.schema, facts.classes, facts.feature_names, facts.columns, facts.n_columns


def entries(ledger):
    return [(entry.rho, entry.delta, entry.what, entry.mechanism) for entry in ledger.entries]


def test_repeated_ids_change_nothing_that_is_published_or_kept():
    published, ledgers, scores = [], [], []
    for table in (ONCE, TWICE):
        ledger = Ledger(epsilon=3.0, delta=1e-6)
        settings = {"schema": WITH_ID, "ledger": ledger, **QUICK}
        model, _ = warned(lambda s=settings, t=table: DPLogisticRegression(**s).fit(t))
        found, _ = warned(lambda m=model, t=table: metrics.evaluate(m, t, t["ill"], rho=0.01))
        published.append(publishable(model))
        ledgers.append(entries(ledger))
        scores.append(dataclasses.replace(found.privacy, origin=UNKNOWN))
    assert published[0] == published[1]
    assert ledgers[0] == ledgers[1]
    assert scores[0] == scores[1]
    assert str(scores[0]) == str(scores[1])


def test_repeated_ids_are_told_to_the_custodian_without_a_number():
    _, messages = warned(lambda: fit(TWICE))
    assert len(messages) == 1
    assert messages[0].startswith(SEVERAL)
    assert "combine the records of each person into one" in messages[0]
    assert not any(character.isdigit() for character in messages[0])
    assert warned(lambda: fit(ONCE))[1] == []


@pytest.mark.parametrize("change", [lambda who: who.mask(who >= 0), lambda who: who.astype(str)])
def test_missing_ids_and_ids_of_any_type_are_no_repetition(change):
    table = ONCE.assign(who=change(ONCE["who"]))
    assert warned(lambda: fit(table))[1] == []


def test_a_table_without_the_id_column_is_fitted_and_the_promise_is_about_records():
    model, messages = warned(lambda: fit(ONCE.drop(columns="who")))
    assert messages == []
    assert not model.privacy_.is_about_people


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_ids_in_a_file_are_read_for_a_fit(tmp_path, kind):
    path = tmp_path / f"people.{kind}"
    (TWICE.to_csv if kind == "csv" else TWICE.to_parquet)(path, index=False)
    _, messages = warned(lambda: fit(path))
    assert [message[: len(SEVERAL)] for message in messages] == [SEVERAL]


def test_strict_mode_refuses_repeated_ids_before_anything_is_charged():
    ledger = Ledger(epsilon=3.0, delta=1e-6)
    model = DPLogisticRegression(schema=WITH_ID, ledger=ledger, **QUICK)
    with strict(), pytest.raises(PrivacyLeakError, match=SEVERAL):
        model.fit(TWICE)
    assert ledger.entries == ()
    with strict():
        model.fit(ONCE)
        before = ledger.entries
        with pytest.raises(PrivacyLeakError, match=SEVERAL):
            metrics.evaluate(model, TWICE, TWICE["ill"], rho=0.01)
    assert ledger.entries == before


def test_scores_of_a_model_with_an_id_are_about_records(about_records):
    found, messages = warned(lambda: metrics.evaluate(about_records, TWICE, TWICE["ill"], rho=0.01))
    assert messages[0].startswith(SEVERAL)
    assert not found.privacy.is_about_people
    assert "This is a promise about one record, not about one person" in found.privacy.text
    other = metrics.evaluate(public_model(("no", "yes")), ONCE[["x"]].to_numpy(), ONCE["ill"], rho=0.01)
    assert other.privacy.is_about_people


def test_a_file_of_an_earlier_version_is_read_as_its_schema_declares(tmp_path, about_people, about_records):
    path = tmp_path / "model.json"
    about_records.save(path)
    written = json.loads(path.read_text())
    written["privacy"]["assumptions"].insert(0, "each person has at most one record")
    path.write_text(json.dumps(written))
    assert not load(path).privacy_.is_about_people
    assert not load(path).published().is_about_people
    about_people.save(path)
    assert load(path).privacy_.is_about_people


def test_the_schema_of_an_encoder_in_a_pipeline_counts_as_well():
    """The fit behind it cannot see ids; scores of the pipeline can."""
    models = {}
    for schema in (WITHOUT_ID, WITH_ID):
        encoder = SchemaEncoder(schema, sparse_output=False)
        estimator = DPLogisticRegression(classes=("no", "yes"), feature_bounds=(0, 1), **QUICK)
        models[schema] = make_pipeline(encoder, estimator).fit(ONCE, ONCE["ill"])
    assert models[WITHOUT_ID][-1].privacy_.is_about_people
    assert not models[WITH_ID][-1].privacy_.is_about_people
    found, messages = warned(lambda: metrics.evaluate(models[WITH_ID], TWICE, TWICE["ill"], rho=0.01))
    assert messages[0].startswith(SEVERAL)
    assert not found.privacy.is_about_people
    found, messages = warned(lambda: metrics.evaluate(models[WITHOUT_ID], TWICE, TWICE["ill"], rho=0.01))
    assert not any(message.startswith(SEVERAL) for message in messages)
    assert found.privacy.is_about_people


# -- group privacy ------------------------------------------------------------------------------------------


def test_a_group_of_records_is_hidden_as_far_as_is_proved():
    """By definition: k mu of Gaussian noise, k^2 rho of zCDP, chains of neighbours of (epsilon, delta)-DP."""
    gaussian, concentrated = (kind.of(rho=0.02, delta=1e-6) for kind in (Gaussian, Concentrated))
    assert for_records(gaussian, 1) == (gaussian.epsilon, 1e-6)
    assert for_records(gaussian, 3) == pytest.approx((Gaussian.of(rho=0.18, delta=1e-6).epsilon, 1e-6))
    assert for_records(concentrated, 3) == pytest.approx(
        (Concentrated.of(rho=0.18, delta=1e-6).epsilon, 1e-6)
    )
    assert for_records(Direct(0.5, 0.0), 4) == (2.0, 0.0)
    factors = 1.0 + np.exp(0.5) + np.exp(1.0)
    assert for_records(Direct(0.5, 1e-6), 3) == pytest.approx((1.5, 1e-6 * factors))
    approximate = Concentrated(0.02, 1e-7, 1.0, 1e-6)
    assert for_records(approximate, 2) == pytest.approx((2.0, 1e-6 * (1.0 + np.e)))


@pytest.mark.parametrize("epsilon", [0.1, 0.7, 3.674859273497278, 3.7, 40.3])
@pytest.mark.parametrize("k", [2, 5, 10])
def test_the_delta_of_a_group_is_rounded_up_however_large_its_powers_are(epsilon, k):
    delta = 1e-200
    with mpmath.workdps(50):
        exact = mpmath.mpf(delta) * sum(mpmath.exp(i * mpmath.mpf(epsilon)) for i in range(k))
        assert exact <= for_records(Direct(epsilon, delta), k)[1] <= exact * (1 + mpmath.mpf(10) ** -11)


def test_where_nothing_is_promised_to_a_group_it_is_said():
    assert for_records(Direct(50.0, 1e-6), 10) == (np.inf, 1.0)
    assert for_records(Direct(200.0, 0.0), 10) == (np.inf, 1.0)
    assert for_records(Direct(1.0, 0.3), 2) == (np.inf, 1.0)  # 0.3 (1 + e) is above 1
    assert for_records(Gaussian.of(rho=1000.0, delta=1e-6), 30_000) == (np.inf, 1.0)
    statement = PrivacyStatement(Direct(8.0, 1e-3), (), {})
    assert "For a person with 10 records nothing is promised." in statement.text
