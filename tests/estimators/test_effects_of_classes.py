"""Fits of several classes with inference: centres, standard errors, tables, refusals before a charge."""

import re

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


def log_odds(model, row, of, against):
    """Return the log odds of one class against another that a model predicts for a row."""
    shares = model.predict_proba(pd.DataFrame([row]))[0]
    places = list(model.classes_)
    return np.log(shares[places.index(of)] / shares[places.index(against)])


YOUNG = {"age": 30.0, "region": "east"}
OLD = {"age": 70.0, "region": "south"}


@pytest.mark.parametrize("against", [None, *CLASSES])
def test_a_contrast_is_a_change_of_the_log_odds_of_each_class_against_another(ample, against):
    found = ample.contrast(YOUNG, OLD, against=against)
    other = against or "bus"
    assert [each.reading.changed for each in found] == [
        f"the log odds of {label} against {other}" for label in CLASSES if label != other
    ]
    for label, each in zip([label for label in CLASSES if label != other], found, strict=True):
        change = log_odds(ample, OLD, label, other) - log_odds(ample, YOUNG, label, other)
        assert each.estimate == pytest.approx(change)
        assert each.ratio == pytest.approx(np.exp(change))
        assert each.words == f"age: from 30 to 70; region: south instead of east, {label} against {other}"
        single = ample.contrast(YOUNG, OLD, of=label, against=against)
        assert (single.estimate, single.std_err) == (each.estimate, each.std_err)
        assert str(single) in str(found)
        assert single._repr_html_() in found._repr_html_()


def test_a_contrast_of_two_classes_is_as_sure_as_the_covariance_says(ample):
    found = ample.contrast({"age": 10, "region": "south"}, of="car", against="foot")
    a = np.zeros(10)
    a[[0, 3]], a[[5, 8]] = (0.1, 1.0), (-0.1, -1.0)
    assert found.estimate == pytest.approx(a @ ample.inference_.estimate)
    assert found.std_err == pytest.approx(ample.inference_.effect(a).std_err)
    backwards = ample.contrast({"age": 10, "region": "south"}, of="foot", against="car")
    assert backwards.interval() == pytest.approx([-end for end in found.interval()[::-1]])


@pytest.mark.parametrize(
    ("named", "reason"),
    [
        ({"of": "tram"}, "of must be one of the classes, which are bus, car, foot"),
        ({"against": "tram"}, "against must be one of the classes"),
        ({"of": "bus"}, "name the same class"),
        ({"of": "car", "against": "car"}, "name the same class"),
    ],
)
def test_classes_that_cannot_be_compared_are_refused(ample, named, reason):
    with pytest.raises(ValueError, match=reason):
        ample.contrast({"age": 10}, **named)


def test_the_page_draws_every_class_against_the_first_with_error_bars(ample, tmp_path):
    ample.report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    captions = re.findall("<figcaption>(.*?)</figcaption>", page)
    assert [caption.split(" with ")[0] for caption in captions] == [
        "Effects on the log odds of car against bus",
        "Effects on the log odds of foot against bus",
    ]
    assert [caption.count("The dot is the estimate") for caption in captions] == [1, 0]
    figures = re.findall('<figure class="effects">(.*?)</figure>', page)
    for label, figure in zip(CLASSES[1:], figures, strict=True):
        lines = re.findall("<li.*?</li>", figure)
        assert len(lines) == 3
        (south,) = (line for line in lines if "region = south" in line)
        assert ('class="sure' in south) == ample.contrast({"region": "south"}, of=label).is_sure
        assert 'class="whole' in south
    # all charts have one scale, so that their lengths can be compared
    assert len(set(re.findall('<b class="zero" style="(.*?)"', page))) == 1
    assert "Bars to the right" not in page


def test_columns_of_interest_are_judged_for_every_class():
    model = DPLogisticRegression(schema=SCHEMA, inference=["age"], **AMPLE).fit(people(3000))
    known = np.isfinite(model.std_err_)
    asked = [name.endswith((": age", "=north")) for name in model.inference_.names]
    assert known.tolist() == asked


PUBLIC = {"classes": (0, 1, 2), "feature_bounds": (-1.0, 1.0), "inference": True}


@pytest.mark.parametrize(
    ("kind", "settings", "columns", "why"),
    [
        (DPLinearSVC, {}, 2, "not available for the .*hinge.* loss"),
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
