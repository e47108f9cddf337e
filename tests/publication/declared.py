"""Models with a schema: one for every type of column and every policy, and tables that try them."""

import datetime
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd

from privfit import DPLogisticRegression, Schema
from privfit.estimators.publishing import restored
from privfit.models.targets import TwoLabels
from privfit.schema import Boolean, Categorical, Date, Identifier, Ignored, Integer, Label, Numeric, Ordinal

LABEL = Label("outcome", ["well", "unwell"], positive="unwell")
NAN = np.nan

# by type: how to declare the column, a fill, and cells: good, beyond the bounds, missing, not fitting
TYPES = {
    "numeric": (
        lambda **k: Numeric("x", -3.0, 120.0, unit="years", **k),
        17.3,
        [0.1, 60.0, -9.0, 500.0, NAN, 120.0, -3.0, 44.4],
    ),
    "far from zero": (lambda **k: Numeric("x", 1e9, 1e9 + 7, **k), 1e9 + 2, [1e9 + 0.3, 1e9 + 6.9, NAN, 0.0]),
    "integer": (lambda **k: Integer("x", 1990, 2020, **k), 2001, [1990.0, 2003.0, 2050.0, NAN, 1815.0]),
    "curve": (
        lambda **k: Numeric("x", -3.0, 120.0, curve=[0.0, 0.001, 17.3, 50.0], **k),
        17.3,
        [0.0005, 60.0, -9.0, 500.0, NAN, 120.0, -3.0, 0.001, 50.0, 44.4, -1.0],
    ),
    "curve of integers": (
        lambda **k: Integer("x", 1990, 2020, curve=5, **k),
        2001,
        [1990.0, 2003.0, 2050.0, NAN, 1815.0, 2019.0],
    ),
    "boolean": (lambda **k: Boolean("x", **k), True, [True, False, True, True]),
    "boolean as numbers": (lambda **k: Boolean("x", **k), False, [1.0, 0.0, NAN, 7.0, 1.0]),
    "boolean words": (
        lambda **k: Boolean("x", words=["no", "yes"], **k),
        True,
        ["yes", "no", None, "perhaps", NAN, "yes"],
    ),
    "categorical": (
        lambda **k: Categorical("x", ["North", "East", "South"], **k),
        "South",
        ["East", "North", None, "Atlantis", NAN, "South"],
    ),
    "numbers as categories": (
        lambda **k: Categorical("x", ["10", "2", "7"], **k),
        "2",
        [2.0, 10.0, NAN, 8.0, 7.0],
    ),
    "mixed categories": (
        lambda **k: Categorical("x", ["A", "1", "other"], **k),
        "1",
        ["1", "A", None, "2", "other"],
    ),
    "ordinal": (
        lambda **k: Ordinal("x", ["poor", "fair", "good", "best"], **k),
        "good",
        ["poor", "best", None, "awful", "fair", "good"],
    ),
    "ordinal numbers": (lambda **k: Ordinal("x", ["1", "2", "5"], **k), "5", [1.0, 5.0, NAN, 3.0, 2.0]),
}
POLICIES = {
    "middle": lambda fill: {},
    "fill": lambda fill: {"fill": fill},
    "indicator": lambda fill: {"missing": "indicator"},
    "refuse": lambda fill: {"missing": "refuse"},
}
DATES = [
    *["1957-02-03", "03.02.1957", "1800-01-01", "31.02.1957", "1957-02-31", "", None, "2020-02-03T04:05"],
    *[datetime.date(1990, 12, 31), datetime.datetime(2001, 5, 6, 7), np.datetime64("1999-09-09T01"), 1957],
    *[np.datetime64("NaT"), pd.NaT, pd.Timestamp("1960-01-02"), b"1961-01-02", "2.3.1999"],
]


def schema_of(*columns):
    return Schema(columns, LABEL)


def whole_schema(dates=False):
    """One with every type."""
    columns = [
        Identifier("who"),
        Numeric("income", 0.0, 10_000.0, unit="$", thousands=",", missing="indicator", curve=4),
        Integer("age", 0, 120, unit="years", fill=40, curve=6),
        Categorical("region", ["North", "East", "South"], missing="indicator"),
        Categorical("code", ["10", "2"], fill="2"),
        Boolean("smoker", words=["no", "yes"]),
        Ordinal("health", ["poor", "fair", "good"], missing="indicator"),
        Ignored("remark"),
    ]
    born = [Date("born", "1920-01-01", "2010-12-31", format="%d.%m.%Y", curve=3)] if dates else []
    return schema_of(*columns, *born)


def people(n=300, seed=0):
    rng = np.random.default_rng(seed)
    gap = rng.uniform(size=(n, 3)) < 0.1
    frame = pd.DataFrame(
        {
            "who": np.arange(n),
            "income": np.where(gap[:, 0], NAN, rng.normal(4000, 4000, n)),
            "age": np.where(gap[:, 1], NAN, rng.integers(0, 130, n)),
            "region": rng.choice(["North", "East", "South", "Atlantis", None], n),
            "code": np.where(gap[:, 2], NAN, rng.choice([10.0, 2.0, 5.0], n)),
            "smoker": rng.choice(["no", "yes", "?"], n),
            "health": rng.choice(["poor", "fair", "good", "", None], n),
            "remark": "-",
            "born": rng.choice(["1957-02-03", "31.12.1999", "never", None], n),
        }
    )
    frame["outcome"] = np.where(frame["age"].fillna(50) + rng.normal(0, 30, n) > 60, "unwell", "well")
    return frame


@cache
def _fitted(kind, **settings):
    """A fit of four records, whose facts are then changed."""
    table = {"age": [1.0, 2.0, 3.0, 4.0], "outcome": ["well", "unwell", "well", "unwell"]}
    schema = schema_of(Numeric("age", 0, 9))
    return kind(8.0, 1e-6, schema=schema, noise="seeded", random_state=1, **settings).fit(table)


def trained(schema, seed=0, kind=DPLogisticRegression, **settings):
    """A model of this schema whose weights are made up, so that every feature matters."""
    rng, fitted = np.random.default_rng(seed), _fitted(kind, **settings)
    p = len(schema.feature_names)
    facts = replace(
        fitted.published(),
        weights=rng.normal(0, 2, (1, p)),
        intercepts=np.array([rng.normal() if fitted.fit_intercept else 0.0]),
        target=TwoLabels(tuple(sorted(schema.label.classes))),
        feature_names=tuple(fact.name for fact in schema.features),
        columns=schema.feature_names,
        bounds=(np.zeros(p), np.ones(p)),
        schema=schema.to_dict(),
    )
    return restored(kind(schema=schema), facts, fitted.privacy_)
