"""Fits of several classes with inference: centres, standard errors, tables, refusals before a charge."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression

import privfit
from privfit import DPLinearSVC, DPLogisticRegression, Ledger
from privfit.schema import Categorical, Label, Numeric, Schema

AMPLE = {"rho": 900.0, "noise": "seeded", "random_state": 0, "max_passes": 40}  # hardly any noise
CLASSES = ("bus", "car", "foot")
REGIONS = ("east", "north", "south")
SCHEMA = Schema(
    [Numeric("age", 0.0, 100.0), Categorical("region", REGIONS, reference="north", missing="refuse")],
    label=Label("mode", CLASSES),
)
NAMES = ("age", "region=east", "region=north", "region=south", "intercept")


def people(n, seed=0):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({"age": rng.uniform(20.0, 80.0, n), "region": rng.choice(REGIONS, n)})
    south = table["region"] == "south"
    scores = np.column_stack([np.zeros(n), 0.03 * (table["age"] - 50.0), 0.8 * south - 0.5])
    shares = np.cumsum(softmax(scores, axis=1), axis=1)
    table["mode"] = np.array(CLASSES)[(rng.random((n, 1)) > shares[:, :2]).sum(axis=1)]
    return table


@pytest.fixture(scope="module")
def ample():
    return DPLogisticRegression(schema=SCHEMA, inference=True, **AMPLE).fit(people(4000))


def likelihood(table):
    """Return the differences from the first class at the maximum, and the sandwich of their covariance."""
    columns = [table["age"] / 100.0, table["region"] == "east", table["region"] == "south"]
    rows = np.column_stack([*columns, np.ones(len(table))]).astype(float)
    found = LogisticRegression(C=np.inf, fit_intercept=False, tol=1e-8, max_iter=2000).fit(
        rows, table["mode"]
    )
    w = (found.coef_[1:] - found.coef_[0]).ravel()  # class by class
    p, hits = softmax(rows @ found.coef_.T, axis=1), np.array(CLASSES) == table["mode"].to_numpy()[:, None]
    scores = np.concatenate([(p - hits)[:, [k]] * rows for k in (1, 2)], axis=1)
    blocks = [[(rows.T * (p[:, j] * ((j == k) - p[:, k]))) @ rows for k in (1, 2)] for j in (1, 2)]
    H = np.block(blocks)
    return w, np.linalg.solve(H, np.linalg.solve(H, scores.T @ scores).T)


def test_without_noise_effects_are_those_of_the_likelihood(ample):
    inference = ample.inference_
    assert inference.names == tuple(f"{label}: {name}" for label in CLASSES[1:] for name in NAMES)
    free = ~inference.is_reference
    assert [name for name, kept in zip(inference.names, free, strict=True) if not kept] == [
        "car: region=north",
        "foot: region=north",
    ]
    w, covariance = likelihood(people(4000))
    errors = np.sqrt(np.diag(covariance))
    # records longer than the radius count less, so both are estimates of the same, a little apart
    assert np.all(np.abs(inference.estimate[free] - w) < 0.5 * errors)
    np.testing.assert_allclose(ample.std_err_[free], errors, rtol=0.1)
    assert np.all(ample.privacy_err_[free] < 0.01 * errors)
    assert ample.conf_int()[~free].tolist() == [[0.0, 0.0]] * 2
    np.testing.assert_allclose(np.sqrt(np.diag(ample.covariance_)), ample.std_err_)
    both = np.zeros(10)
    both[[0, 5]] = 1.0, -1.0  # car against foot, which is no row of its own
    a = np.array([1, 0, 0, 0, -1, 0, 0, 0])
    assert inference.effect(both).std_err == pytest.approx(np.sqrt(a @ covariance @ a), rel=0.1)


def test_the_centres_are_differences_of_the_weights(ample):
    weights = np.column_stack([ample.coef_, ample.intercept_])
    np.testing.assert_allclose((weights[1:] - weights[0]).ravel(), ample.inference_.estimate, atol=1e-12)
    np.testing.assert_allclose(weights.sum(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(ample.conf_int().mean(axis=1), ample.inference_.estimate, atol=1e-12)


def test_the_summary_has_a_block_for_each_class_and_goes_through_a_file(ample, tmp_path):
    summary = ample.summary(per={"age": 10})
    text = str(summary)
    assert text.index("car against bus") < text.index("foot against bus")
    assert "Compared with" in text
    assert "the log odds of a class against bus" in text
    assert "foot against bus" in summary._repr_html_()
    frame = summary.to_frame()
    assert frame["class"].tolist() == ["car"] * 5 + ["foot"] * 5
    of_age = frame[frame["column"] == "age"]
    np.testing.assert_allclose(of_age["coef"], 0.1 * ample.inference_.estimate[[0, 5]])
    np.testing.assert_allclose(of_age["odds_ratio"], np.exp(of_age["coef"]))
    assert summary[-1].contrast.reading.changed == "the log odds of foot against bus"
    ample.save(tmp_path / "model.json")
    loaded = privfit.load(tmp_path / "model.json")
    np.testing.assert_allclose(loaded.conf_int(), ample.conf_int())
    assert str(loaded.summary(per={"age": 10})) == text
    ample.report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "The regression table" in page
    assert "foot: age, +1" in page


def test_contrasts_in_words_are_refused(ample):
    with pytest.raises(ValueError, match="not known for several classes"):
        ample.contrast({"age": 10})


def test_columns_of_interest_are_judged_for_every_class():
    model = DPLogisticRegression(schema=SCHEMA, inference=["age"], **AMPLE).fit(people(3000))
    known = np.isfinite(model.std_err_)
    asked = [name.endswith((": age", "=north")) for name in model.inference_.names]
    assert known.tolist() == asked


PUBLIC = {"classes": (0, 1, 2), "feature_bounds": (-1.0, 1.0), "inference": True}


@pytest.mark.parametrize(
    ("kind", "settings", "columns", "why"),
    [
        (DPLinearSVC, {}, 2, "not known for the .*hinge.* loss"),
        (DPLogisticRegression, {}, 150, "more than 300 effects of several classes, and this model has 302"),
        (DPLogisticRegression, {"n_records": 60}, 2, "too small for standard errors of 6 effects"),
    ],
)
def test_what_is_not_known_is_refused_before_a_charge(kind, settings, columns, why):
    ledger = Ledger(epsilon=1.0, delta=1e-6)
    X = np.linspace(-1.0, 1.0, 60 * columns).reshape(60, columns)
    with pytest.raises(ValueError, match=why):
        kind(1.0, ledger=ledger, **PUBLIC | settings).fit(X, np.arange(60) % 3)
    assert not ledger.entries


def test_people_with_several_records_are_refused_before_a_charge():
    X = np.linspace(-1.0, 1.0, 120).reshape(60, 2)
    opened = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DPLogisticRegression, "_open_ledger", lambda self, terms: opened.append(terms))
        with pytest.raises(ValueError, match="several classes of people with several records"):
            DPLogisticRegression(1.0, rows_per_person=2, **PUBLIC).fit(
                X, np.arange(60) % 3, groups=np.arange(60) // 2
            )
    assert not opened
