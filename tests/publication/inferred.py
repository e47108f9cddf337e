"""Models with an inference that is made up, so that a test knows every standard error."""

from dataclasses import replace

import numpy as np
from declared import trained

from privfit.estimators import DPLinearRegression, DPLogisticRegression, DPPoissonRegressor
from privfit.estimators.publishing import restored
from privfit.models.inference import Inference
from privfit.models.links import IDENTITY, LOG, LOGIT
from privfit.models.targets import Counts, Interval
from privfit.schema import (
    Boolean,
    Categorical,
    CountLabel,
    Date,
    Integer,
    Label,
    NumberLabel,
    Numeric,
    Ordinal,
    Schema,
)

COLUMNS = [
    Integer("age", 18, 90, unit="years"),
    Numeric("income", 0, 10_000, unit="$", missing="indicator", curve=3),
    Categorical("region", ["North", "East", "South"], reference="East"),
    Categorical("job", ["a", "b"], missing="indicator"),
    Boolean("smoker", words=["no", "yes"]),
    Ordinal("health", ["poor", "fair", "good"]),
    Date("seen", "2020-01-01", "2024-12-31"),
]
LABELS = {
    "logit": Label("outcome", ["well", "unwell"], positive="well"),  # the second class in sorted order
    "logit of the first class": Label("outcome", ["well", "unwell"], positive="unwell"),
    "identity": NumberLabel("wage", low=0, high=5_000, unit="euros"),
    "log": CountLabel("visits", largest=50),
}


def inference_for(facts, seed=0, n=20_000, sigma=1.0):
    """Return an inference in which every effect is answered, with correlated weights and noise."""
    rng = np.random.default_rng(seed)
    columns = facts.columns or facts.feature_names or [f"x{j}" for j in range(facts.n_columns)]
    names = (*columns, *["intercept"] * facts.has_intercept)
    d = len(names)
    is_reference = np.zeros(d, dtype=bool)
    if facts.schema is not None:
        for fact in Schema.from_dict(facts.schema).features:
            if isinstance(fact, Categorical):
                is_reference[names.index(f"{fact.name}={fact.reference_level}")] = True
    q = int((~is_reference).sum())
    mixed = rng.normal(0.0, 1.0, (3 * q, q))
    curvature = n / (3 * q) * mixed.T @ mixed
    estimate = np.where(is_reference, 0.0, rng.normal(0.0, 1.0, d))
    return Inference(
        names=names,
        estimate=estimate,
        is_reference=is_reference,
        directions=np.eye(d)[:, ~is_reference],
        curvature=curvature,
        spread=1.3 * curvature,
        sigma_curvature=sigma,
        sigma_spread=sigma,
        sigma_gradient=100.0 * sigma,
        step=rng.normal(0.0, 1e-4, q),
        mass=n / 5,
    )


def with_inference(facts, **settings):
    """Return a published model whose weights are the centre of made-up intervals."""
    inference = inference_for(facts, **settings)
    weights = inference.estimate[: facts.n_columns]
    intercepts = inference.estimate[facts.n_columns :] if facts.has_intercept else np.zeros(1)
    return replace(facts, inference=inference, weights=weights[None], intercepts=intercepts)


def published_model(kind, columns=COLUMNS, **settings):
    """Return an estimator of one of `LABELS`, with intervals, as if it had been fitted."""
    label = LABELS[kind]
    schema = Schema(columns, label, records=12_000)
    if isinstance(label, Label):
        facts, estimator = trained(schema).published(), DPLogisticRegression
        assert facts.link is LOGIT
    else:
        plain = Schema(columns, LABELS["logit"], records=12_000)
        number = isinstance(label, NumberLabel)
        estimator = DPLinearRegression if number else DPPoissonRegressor
        facts = replace(
            trained(plain).published(),
            kind=estimator._kind,
            link=IDENTITY if number else LOG,
            target=Interval(0.0, 5_000.0) if number else Counts(50.0),
            schema=schema.to_dict(),
        )
    facts = with_inference(facts, **settings)
    return restored(estimator(schema=schema), facts, trained(Schema(columns, LABELS["logit"])).privacy_)
