"""Make the charts of the user guide again: PYTHONPATH=src:benchmarks python tools/pictures.py [NAME ...].

Noise and data are seeded, so the charts come out the same. Other pictures are not made here: diagrams (door,
neighbours, odds, ledger, people, schema, commands) are drawn by hand, `make compare` draws the charts of the
comparison, and tools/screenshot.py makes the screenshot.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from comparison.pictures import digest
from svg import WIDTH, Chart, drawing

FOLDER = Path(__file__).parents[1] / "docs" / "pictures"
SEEDED: dict[str, Any] = {"noise": "seeded", "random_state": 0}


def attacker() -> str:
    """Draw the success of the best attacker against Gaussian noise (choosing.md)."""
    from scipy.stats import norm

    from privfit.accounting.gdp import mu_from_epsilon

    epsilons = np.geomspace(0.1, 8.0, 40)
    mu = np.array([mu_from_epsilon(epsilon, 1e-6) for epsilon in epsilons])
    chart = Chart("What the best attacker achieves (delta = 1e-6)", (0.1, 8.0), (0, 100), log=True)
    chart.axis_x((0.1, 0.5, 1, 2, 4, 8), "epsilon")
    chart.axis_y((0, 25, 50, 75, 100), ".0f")
    chart.line(epsilons, 100 * norm.cdf(mu / 2), "one")
    chart.line(epsilons, 100 * norm.cdf(norm.ppf(0.05) + mu), "two")
    chart.text(60, chart.y(58), "guesses right, in %", colour="one")
    chart.text(60, chart.y(14), "finds at 5% false alarms, in %", colour="two")
    return chart.svg()


def audit() -> str:
    """Return the claimed epsilon of every audited case, and the proven lower bound (audit.md)."""
    path = Path(__file__).parents[1] / "benchmarks" / "audit.csv"
    with path.open(newline="") as file:
        found = list(csv.DictReader(file))
    most = 5.0  # controls that prove more are drawn at the edge
    chart = Chart(
        "Claimed epsilon, and what attacks prove",
        (0, most),
        (0.2 - len(found), 0.6),
        height=100 + 18 * len(found),
        left=236,
    )
    chart.axis_x(range(int(most) + 1), "epsilon at delta = 0.05")
    chart.names([row["name"] for row in found])
    for place, row in enumerate(found):
        claimed, control = (float(row[f"{name}_epsilon"]) for name in ("claimed", "control"))
        height = chart.y(-place)
        chart.span(0.0, float(row["proven_epsilon"]), -place, "one", 3)
        chart.dots([float(row["proven_epsilon"])], [-place], "one", 4)
        chart.parts.append(
            f'<path d="M{chart.x(claimed):.1f} {height - 7:.1f} v14" stroke="var(--ink)" stroke-width="2"/>'
            f'<circle cx="{chart.x(min(control, most)):.1f}" cy="{height:.1f}" r="4.5" fill="none" '
            'stroke="var(--two)" stroke-width="1.5"/>'
        )
    chart.parts.append(f"<!-- {digest(path)} -->")
    return chart.svg()


def roc() -> str:
    """Return a private ROC curve with its band (classes.md)."""
    from privfit import DPLogisticRegression, Ledger, metrics

    rng = np.random.default_rng(0)
    people = rng.normal(size=(40_000, 3))
    ill = (people @ [1.0, -0.7, 0.4] + rng.logistic(size=40_000) > 4.0).astype(int)
    ledger = Ledger(epsilon=1.0, delta=1e-6)
    model = DPLogisticRegression(rho=ledger.rho / 2, feature_bounds=(-4, 4), ledger=ledger, **SEEDED)
    model.fit(people[:30_000], ill[:30_000])
    scores = metrics.evaluate(model, people[30_000:], ill[30_000:], rho=ledger.rho / 2, **SEEDED)
    curve = scores.roc_curve
    highest = np.flatnonzero(curve["tpr"] >= 0.8)[0]
    chart = Chart("Share of ill people found, over false alarms", (0, 1), (0, 1))
    chart.axis_x((0, 0.25, 0.5, 0.75, 1), "false alarms among healthy people")
    chart.axis_y((0, 0.25, 0.5, 0.75, 1))
    chart.band(curve["fpr"], curve["tpr_low"], curve["tpr_high"], "one")
    chart.line(curve["fpr"], curve["tpr"], "one")
    chart.line((0, 1), (0, 1), "line", "3 3", 1.5)
    chart.dots([curve["fpr"][highest]], [curve["tpr"][highest]], "two", 6)
    chart.text(
        chart.x(curve["fpr"][highest]) + 12,
        chart.y(curve["tpr"][highest]) + 18,
        "finds 4 of 5",
        colour="two",
    )
    return chart.svg()


def quantiles() -> str:
    """Return three private quantiles of incomes over age (numbers.md)."""
    from privfit import DPQuantileRegressor

    rng = np.random.default_rng(0)
    age = rng.uniform(18, 90, 20_000)
    income = np.exp(rng.normal(7.5 + 0.01 * age, 0.6))
    chart = Chart("Income over age: deciles at epsilon = 2 in all", (18, 90), (0, 10_000), left=56)
    chart.axis_x((20, 40, 60, 80), "age in years")
    chart.axis_y((0, 2_500, 5_000, 7_500, 10_000), ",.0f")
    seen = (income < 10_000) & (np.arange(20_000) < 350)
    chart.dots(age[seen], income[seen], "line", 1.6, 0.5)
    at = pd.DataFrame({"age": [18.0, 90.0]})
    for quantile, colour, name in ((0.9, "two", "0.9"), (0.5, "one", "median"), (0.1, "three", "0.1")):
        line = DPQuantileRegressor(
            rho=0.1006 / 3,
            quantile=quantile,
            feature_bounds={"age": (18, 90)},
            target_bounds=(0, 40_000),
            **SEEDED,
        ).fit(pd.DataFrame({"age": age}), income)
        ends = line.predict(at)
        chart.line((18, 90), ends, colour, width=3)
        chart.text(WIDTH - 20, chart.y(ends[1]) - 8, name, "end", colour)
    return chart.svg()


def curves() -> str:
    """Return the curve of age on Adult, with and without privacy (curves.md)."""
    from privfit import DPLogisticRegression
    from privfit.datasets import load_adult

    train = load_adult(split="train")
    private = DPLogisticRegression(1.0, 1e-6, schema=train.schema, curves=True, **SEEDED)
    private.fit(train.frame, train.target)
    plain = DPLogisticRegression(solver="nonprivate", schema=private.schema_).fit(train.frame, train.target)
    chart = Chart("Effect of age on the log odds of a high income", (17, 90), (-0.5, 4.5))
    chart.axis_x((20, 30, 40, 50, 60, 70, 80, 90), "age in years")
    chart.axis_y((0, 1, 2, 3, 4))
    for model, colour, dashes in ((plain, "line", "5 4"), (private, "one", "")):
        curve = model.curves_["age"]
        chart.line(curve.knots, curve.heights[0], colour, dashes, 3)
        chart.dots(curve.knots, curve.heights[0], colour, 3.5)
    chart.legend((("with privacy, epsilon = 1", "one"), ("without privacy", "line")), 240, 190)
    return chart.svg()


def effects() -> str:
    """Return odds ratios with intervals, and the true values (effects.md)."""
    from privfit import DPLogisticRegression
    from privfit.schema import Boolean, Categorical, Label, Numeric, Schema

    rng = np.random.default_rng(1)
    n = 40_000
    truth = {"age": 0.2, "bmi": 0.3, "smoker": 0.6, "exercise": -0.4, "urban": 0.0, "sex: m": 0.25}
    table = {
        "age": rng.uniform(20, 80, n),
        "bmi": rng.normal(25, 4, n).clip(15, 45),
        "smoker": rng.random(n) < 0.25,
        "exercise": rng.random(n) < 0.5,
        "urban": rng.random(n) < 0.6,
        "sex": rng.choice(["f", "m"], n),
    }
    score = truth["age"] * (table["age"] - 50) / 10 + truth["bmi"] * (table["bmi"] - 25) / 5 - 0.5
    score = score + sum(truth[name] * table[name] for name in ("smoker", "exercise", "urban"))
    score = score + truth["sex: m"] * (table["sex"] == "m")
    table["ill"] = rng.random(n) < 1 / (1 + np.exp(-score))
    schema = Schema(
        [
            Numeric("age", 20, 80),
            Numeric("bmi", 15, 45),
            *(Boolean(name) for name in ("smoker", "exercise", "urban")),
            Categorical("sex", ["f", "m"]),
        ],
        Label("ill", [False, True]),
        records=n,
    )
    model = DPLogisticRegression(1.0, 1e-6, schema=schema, inference=True, **SEEDED).fit(table)
    rows = [
        row for row in model.summary(per={"age": 10, "bmi": 5}) if row.contrast is not None and row.column
    ]
    title = "Odds ratios at epsilon = 1, 40,000 invented people"
    return forest(title, [(name, row.contrast) for name, row in zip(truth, rows, strict=True)], truth)


def forest(title: str, rows: list[tuple[str, Any]], truth: dict[str, float]) -> str:
    """Return effects with their intervals, one below the other, on the scale of odds ratios."""
    height = 100 + 32 * len(rows)
    chart = Chart(title, (0.5, 2.5), (0.6 - len(rows), 0.6), height=height, left=88, log=True)
    chart.axis_x((0.5, 0.7, 1, 1.5, 2, 2.5), "odds ratio with 95% interval; rings are true values")
    chart.line((1, 1), (0.6, 0.6 - len(rows)), "line", width=1.5)
    chart.names([name for name, _ in rows])
    for place, (name, contrast) in enumerate(rows):
        chart.span(*contrast.ratio_interval(), -place, "one", 4)
        chart.dots([contrast.ratio], [-place], "one", 5)
        chart.parts.append(
            f'<circle cx="{chart.x(np.exp(truth[name])):.1f}" cy="{chart.y(-place):.1f}" r="8" fill="none" '
            'stroke="var(--two)" stroke-width="2"/>'
        )
    return chart.svg()


def rents() -> str:
    """Return the effects of the notebook on rents with their intervals (gallery.md)."""
    from privfit import DPLinearRegression
    from privfit.schema import Boolean, NumberLabel, Numeric, Schema

    table, truth = invented_flats()
    schema = Schema(
        [Numeric("area", 20, 150), Numeric("rooms", 1, 6), Boolean("balcony"), Boolean("lift")],
        NumberLabel("rent", low=0, high=4_000),
        records=len(table),
    )
    model = DPLinearRegression(1.0, 1e-6, schema=schema, inference=True, **SEEDED).fit(table)
    rows = [row for row in model.summary(per={"area": 10}) if row.contrast is not None and row.column]
    chart = Chart(
        "What adds to the rent, in francs (epsilon = 1)", (-20, 180), (0.6 - 4, 0.6), height=228, left=120
    )
    chart.axis_x((0, 50, 100, 150), "francs with 95% interval; rings are true values")
    chart.names(["10 m² more", "a room more", "balcony", "lift"])
    for place, (row, value) in enumerate(zip(rows, truth, strict=True)):
        chart.span(*row.contrast.interval(), -place, "one", 4)
        chart.dots([row.contrast.estimate], [-place], "one", 5)
        chart.parts.append(
            f'<circle cx="{chart.x(value):.1f}" cy="{chart.y(-place):.1f}" r="8" fill="none" '
            'stroke="var(--two)" stroke-width="2"/>'
        )
    return chart.svg()


def invented_flats() -> tuple[pd.DataFrame, tuple[float, ...]]:
    """Return simulated flats, as in the notebook on rents, and the coefficients of their rents."""
    rng = np.random.default_rng(3)
    n = 30_000
    area = rng.uniform(20, 150, n)
    table = pd.DataFrame(
        {
            "area": area,
            "rooms": np.clip(np.round(area / 28 + rng.normal(0, 0.8, n)), 1, 6),
            "balcony": rng.random(n) < 0.6,
            "lift": rng.random(n) < 0.4,
        }
    )
    rent = 300 + 11 * area + 40 * table["rooms"] + 90 * table["balcony"] + 60 * table["lift"]
    table["rent"] = (rent + rng.normal(0, 200, n)).round()
    return table, (110.0, 40.0, 90.0, 60.0)


def scores() -> str:
    """Return private scores with their intervals and exact values (metrics.md)."""
    from sklearn.metrics import balanced_accuracy_score, brier_score_loss, roc_auc_score

    from privfit import DPLogisticRegression, Ledger, metrics

    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 3))
    y = (X @ [1.5, -1.0, 0.5] + rng.logistic(size=6000) > 0).astype(int)
    ledger = Ledger(epsilon=1.0, delta=1e-6)
    model = DPLogisticRegression(rho=0.01, ledger=ledger, **SEEDED).fit(X[:5000], y[:5000])
    found = metrics.evaluate(model, X[5000:], y[5000:], rho=0.005, **SEEDED)
    probability = model.predict_proba(X[5000:])[:, 1]
    exact = {
        "accuracy": model.score(X[5000:], y[5000:]),
        "balanced_accuracy": balanced_accuracy_score(y[5000:], model.predict(X[5000:])),
        "roc_auc": roc_auc_score(y[5000:], probability),
        "brier_score": brier_score_loss(y[5000:], probability),
    }
    chart = Chart("Private scores of 1,000 records, rho = 0.005", (0, 1), (-3.6, 0.6), height=228, left=136)
    chart.axis_x((0, 0.25, 0.5, 0.75, 1), "95% interval; rings are exact values")
    chart.names(["accuracy", "balanced accuracy", "AUC", "Brier score"])
    for place, (name, value) in enumerate(exact.items()):
        score = getattr(found, name)
        chart.span(*score.interval, -place, "one", 4)
        chart.dots([score.value], [-place], "one", 5)
        chart.parts.append(
            f'<circle cx="{chart.x(value):.1f}" cy="{chart.y(-place):.1f}" r="8" fill="none" '
            'stroke="var(--two)" stroke-width="2"/>'
        )
    return chart.svg()


def spending() -> str:
    """Return what a ledger of epsilon 3 was used for (ledgers.md)."""
    from privfit import Ledger
    from privfit.accounting import rho_from_epsilon

    ledger = Ledger(epsilon=3.0, delta=1e-6)
    parts, x = ['<text x="12" y="22" font-weight="bold">A ledger with epsilon = 3</text>'], 12.0
    uses = [("model, epsilon 1", Ledger(epsilon=1.0).rho, "one"), ("its scores", 0.01, "two")]
    uses += [("second model, epsilon 1.5", Ledger(epsilon=1.5).rho, "three")]
    uses += [("left", ledger.rho - sum(rho for _, rho, _ in uses), "soft")]
    assert rho_from_epsilon(1.0, 1e-6) < uses[0][1]  # Gaussian ledgers get more for the same epsilon
    for number, (name, rho, colour) in enumerate(uses):
        width = (WIDTH - 24) * rho / ledger.rho
        parts.append(f'<rect x="{x:.1f}" y="36" width="{width:.1f}" height="44" fill="var(--{colour})"/>')
        where = (12, 108 + 24 * number)
        parts.append(
            f'<rect x="{where[0]}" y="{where[1] - 11}" width="12" height="12" fill="var(--{colour})"/>'
            f'<text x="{where[0] + 18}" y="{where[1]}" font-size="13">{name}: {rho / ledger.rho:.0%}</text>'
        )
        x += width
    parts.append(f'<rect x="12" y="36" width="{WIDTH - 24}" height="44" fill="none" stroke="var(--line)"/>')
    return drawing("What a ledger with epsilon 3 was used for, as shares of rho", (WIDTH, 194), parts)


def plan() -> str:
    """Return a forecast over epsilon (planning.md)."""
    from privfit import plan as forecast

    expected = forecast(
        n=5_000, n_features=20, epsilons=(0.05, 0.1, 0.2, 0.5, 1.0, 3.0), positives=0.3, runs=8, seed=0
    )
    epsilons = [each.epsilon for each in expected.forecasts]
    chart = Chart("Forecast: 5,000 people, 20 columns, 30% positive", (0.05, 3.0), (0.66, 0.79), log=True)
    chart.axis_x(epsilons, "epsilon")
    chart.axis_y((0.66, 0.7, 0.74, 0.78))
    forecasts = expected.forecasts
    chart.band(epsilons, [each.low for each in forecasts], [each.high for each in forecasts], "one")
    chart.line(epsilons, [each.accuracy for each in expected.forecasts], "one")
    chart.dots(epsilons, [each.accuracy for each in expected.forecasts], "one")
    for value, name in ((expected.without_privacy, "without privacy"), (expected.constant, "commoner label")):
        chart.line((0.05, 3.0), (value, value), "line", "4 4", 1.5)
        chart.text(chart.left + 6, chart.y(value) - 6, name, colour="line")
    chart.text(chart.x(0.11), chart.y(0.715), "accuracy; band: one fit, 90%", colour="one")
    return chart.svg()


def constraint() -> str:
    """Return weights with and without a constraint (how-to.md)."""
    from privfit import DPLogisticRegression
    from privfit.penalties import NonNegative

    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (3_000, 6))
    truth = np.array([1.5, 0.8, 0.4, 0.1, 0.0, 0.0])
    y = (X @ truth + rng.logistic(size=3_000) > 0).astype(int)
    settings = {"epsilon": 0.5, "feature_bounds": (-1, 1), **SEEDED}
    free = DPLogisticRegression(**settings).fit(X, y).coef_[0]
    kept = DPLogisticRegression(constraint=NonNegative(), **settings).fit(X, y).coef_[0]
    chart = Chart("Six weights at epsilon = 0.5", (-0.5, 2.2), (-5.6, 0.6), height=290, left=84)
    chart.axis_x((-0.5, 0, 0.5, 1, 1.5, 2), "weight")
    chart.line((0, 0), (0.6, -5.6), "line", width=1.5)
    chart.names([f"column {k + 1}" for k in range(6)])
    for k in range(6):
        chart.dots([free[k]], [0.15 - k], "two", 5)
        chart.dots([kept[k]], [-0.15 - k], "one", 5)
    chart.legend((("without a constraint", "two"), ("NonNegative()", "one")), 270, 200)
    return chart.svg()


def fits() -> str:
    """Return the accuracies of repeated fits of one table (faq.md)."""
    from privfit import DPLogisticRegression

    rng = np.random.default_rng(0)
    X = rng.normal(size=(22_000, 8))
    y = (X @ rng.normal(size=8) * 0.7 + rng.logistic(size=22_000) > 0).astype(int)
    chart = Chart(
        "Accuracy of 20 fits of the same 2,000 records", (0.68, 0.8), (-1.6, 0.6), height=176, left=110
    )
    chart.axis_x((0.68, 0.72, 0.76, 0.8), "accuracy on 20,000 other records")
    chart.names(["epsilon = 0.1", "epsilon = 1"])
    for place, epsilon in enumerate((0.1, 1.0)):
        found = [
            DPLogisticRegression(epsilon, 1e-6, feature_bounds=(-5, 5), noise="seeded", random_state=seed)
            .fit(X[:2_000], y[:2_000])
            .score(X[2_000:], y[2_000:])
            for seed in range(20)
        ]
        chart.dots(found, [-place + 0.02 * (k % 5 - 2) * 4 for k in range(20)], "one", 4.5, 0.6)
    return chart.svg()


def digits() -> str:
    """Return the confusion matrix of the notebook on digits (gallery.md)."""
    from sklearn.datasets import load_digits
    from sklearn.metrics import confusion_matrix
    from sklearn.model_selection import train_test_split

    from privfit import DPLogisticRegression

    X, y = load_digits(return_X_y=True)
    train_X, test_X, train_y, test_y = train_test_split(X, y, test_size=0.25, random_state=0)
    model = DPLogisticRegression(4.0, 1e-6, classes=range(10), feature_bounds=(0.0, 16.0), **SEEDED)
    counts = confusion_matrix(test_y, model.fit(train_X, train_y).predict(test_X))
    shares = counts / counts.sum(axis=1, keepdims=True)
    parts = ['<text x="12" y="22" font-weight="bold">Digits that were held out, at epsilon = 4</text>']
    for row in range(10):
        for column in range(10):
            parts.append(
                f'<rect x="{70 + 28 * column}" y="{46 + 28 * row}" width="27" height="27" '
                f'fill="var(--{"one" if row == column else "two"})" fill-opacity="{shares[row, column]:.2f}" '
                'stroke="var(--soft)"/>'
            )
        parts.append(f'<text x="58" y="{64 + 28 * row}" text-anchor="end">{row}</text>')
        parts.append(f'<text x="{83 + 28 * row}" y="344" text-anchor="middle">{row}</text>')
    parts.append('<text x="210" y="368" text-anchor="middle" font-size="13">predicted digit</text>')
    parts.append('<text x="12" y="192" font-size="13">true</text>')
    return drawing("Confusion matrix of ten digits", (WIDTH, 380), parts)


def words() -> str:
    """Return the weights of words of the notebook on text (gallery.md)."""
    from sklearn.feature_extraction.text import CountVectorizer

    from privfit import DPLogisticRegression

    rng = np.random.default_rng(2026)
    calm = ["thanks", "opening", "address", "parking", "invoice", "appointment"]
    urgent = ["pain", "bleeding", "faint", "breath", "chest", "fever"]
    plain = ["hello", "my", "the", "is", "to", "and", "have", "we", "need", "about"]

    def message(is_urgent: int) -> str:
        said, other = (urgent, calm) if is_urgent else (calm, urgent)
        chosen = [
            *rng.choice(plain, 6),
            *rng.choice(said, rng.integers(1, 4)),
            *rng.choice(other, rng.integers(0, 2)),
        ]
        return " ".join(chosen)

    labels = (rng.random(10_000) < 0.4).astype(int)
    table = CountVectorizer(vocabulary=[*urgent, *plain, *calm], binary=True).transform(map(message, labels))
    model = DPLogisticRegression(1.0, 1e-6, feature_bounds=(0, 1), **SEEDED).fit(table, labels)
    weights = dict(zip([*urgent, *plain, *calm], model.coef_[0].tolist(), strict=True))
    shown = sorted([*urgent, *calm], key=lambda word: -weights[word])
    chart = Chart("Weights of words: urgent or not?", (-5, 5), (-11.6, 0.6), height=380, left=104)
    chart.axis_x((-4, -2, 0, 2, 4), "weight (log odds of urgent)")
    chart.names(shown)
    for place, word in enumerate(shown):
        chart.span(0, weights[word], -place, "two" if weights[word] > 0 else "one", 10)
    return chart.svg()


def probe() -> str:
    """Return the accuracy on MNIST of frozen features and of pixels, from committed runs (gallery.md)."""
    rows = pd.read_csv(Path(__file__).parents[1] / "benchmarks" / "probes.csv")
    means = rows.groupby(["features", "epsilon"])["accuracy"].mean()
    chart = Chart("MNIST: accuracy of private linear models", (89, 100), (-5.6, 0.6), height=286, left=164)
    chart.axis_x((90, 92, 94, 96, 98, 100), "accuracy on test images, in %")
    kinds = [(1.0, "epsilon = 1"), (3.0, "epsilon = 3"), (float("inf"), "not private")]
    places = [(features, *kind) for kind in kinds for features in ("scattering", "pixels")]
    for place, (features, epsilon, name) in enumerate(places):
        colour = "one" if features == "scattering" else "two"
        chart.dots([100 * means[features, epsilon]], [-place], colour, 6)
        words = "wavelets" if features == "scattering" else "pixels"
        chart.text(chart.left - 8, chart.y(-place) + 4, f"{name}, {words}", "end")
    return chart.svg()


PICTURES: dict[str, Callable[[], str]] = {
    f"{make.__name__}.svg": make
    for make in (
        *(attacker, roc, quantiles, curves, effects, rents, scores, spending, plan, constraint, fits),
        *(digits, words, probe, audit),
    )
}

if __name__ == "__main__":
    for name in sys.argv[1:] or PICTURES:
        (FOLDER / name).write_text(PICTURES[name](), encoding="utf-8")
        print(name)
