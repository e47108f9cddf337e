"""What scikit-learn's meta-estimators did to the data before a private estimator got them.

Whether a column was standardised, or a record drawn twice, cannot be looked up in the data: that would be a
look that nobody paid for. What can be seen is who called `fit`. They are on the stack, and say what they
are.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterable, Iterator
from typing import Any

from sklearn.compose import ColumnTransformer
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, PolynomialFeatures
from sklearn.utils import get_tags

from privfit.leaks import leak
from privfit.schema import Schema


def warn_about_fitted_steps(estimator: Any) -> tuple[str, ...]:
    """Warn if `estimator` is being fitted behind pipeline steps that learn from the data, and name them.

    To be called by the estimator's `fit`, before anything is charged. In strict mode it is an error. A step
    that was fitted outside a pipeline cannot be seen.
    """
    before = _leaves_before(estimator)
    steps = tuple(
        f"step {name!r} ({type(step).__name__})" for name, step in before if not _learns_nothing(step)
    )
    if steps:
        leak(
            f"What the pipeline learnt in {', '.join(steps)} was",
            "declare what is public with schema=, SchemaEncoder or feature_bounds=(low, high), buy bounds "
            "with PrivateBounds, or fit the step on public data and wrap it in FrozenEstimator",
        )
    return steps


def schema_before(estimator: Any) -> Schema | None:
    """Return the schema by which a step before `estimator`, which is being fitted, encodes tables."""
    return _schema_among(_leaves_before(estimator))


def schema_inside(model: Any) -> Schema | None:
    """Return the schema by which a step of a pipeline encodes tables."""
    return _schema_among(_leaves("", model))


def _schema_among(leaves: Iterable[tuple[str, Any]]) -> Schema | None:
    ours = (step for _, step in leaves if type(step).__module__.startswith("privfit."))
    schemas = (schema for step in ours if (schema := getattr(step, "schema", None)) is not None)
    return next((Schema.of(schema) for schema in schemas), None)


def _leaves_before(estimator: Any) -> Iterator[tuple[str, Any]]:
    """Follow the stack outwards, and in each pipeline go through the steps before the one being fitted."""
    running = {id(estimator)}
    for owner in _callers():
        if isinstance(owner, Pipeline) and id(owner) not in running:
            is_running = [id(step) in running for _, step in owner.steps]
            for name, step in owner.steps[: is_running.index(True) if any(is_running) else 0]:
                yield from _leaves(name, step)
        running.add(id(owner))


def _callers() -> Iterator[Any]:
    """Yield the objects whose methods are running, from the inside outwards."""
    frame = inspect.currentframe()
    while frame is not None:
        owner = frame.f_locals.get("self") if "self" in frame.f_code.co_varnames else None
        if owner is not None:
            yield owner
        frame = frame.f_back


def is_cut_off() -> bool:
    """Return whether a worker of joblib fits, so that who called it cannot be seen from here."""
    joblib = sys.modules.get("joblib")
    if joblib is None:
        return False
    callers = list(_callers())
    in_a_batch = any(isinstance(owner, joblib.parallel.BatchedCalls) for owner in callers)
    return in_a_batch and not any(isinstance(owner, joblib.Parallel) for owner in callers)


def drawn_with_repetition() -> bool:
    """Return whether an ensemble is running that draws the same record several times, as bagging does."""
    if "sklearn.ensemble" not in sys.modules:  # then there is none, and importing it would take a while
        return False
    from sklearn.ensemble import BaggingClassifier, BaggingRegressor

    return any(
        isinstance(owner, BaggingClassifier | BaggingRegressor) and owner.bootstrap for owner in _callers()
    )


def _leaves(name: str, step: Any) -> Iterator[tuple[str, Any]]:
    """Yield the step, or those that it is made of, with their names."""
    parts: Iterable[tuple[str, Any]]
    if isinstance(step, Pipeline):
        parts = step.steps
    elif isinstance(step, FeatureUnion):
        parts = step.transformer_list
    elif isinstance(step, ColumnTransformer):
        parts = [(part, transformer) for part, transformer, _ in step.transformers_]
    else:
        yield name, step
        return
    for part, transformer in parts:
        yield from _leaves(f"{name}__{part}", transformer)


def _learns_nothing(step: Any) -> bool:
    if step is None or isinstance(step, str):  # "passthrough" or "drop"
        return True
    if isinstance(step, OneHotEncoder | OrdinalEncoder):
        declared = not isinstance(step.categories, str)
        return declared and step.min_frequency is None and step.max_categories is None
    if isinstance(step, SimpleImputer):
        return bool(step.strategy == "constant" and not step.add_indicator)
    return (
        isinstance(step, FrozenEstimator | PolynomialFeatures)  # fitted elsewhere; learns the shape only
        or hasattr(step, "privacy_")  # paid for what it learnt, and says so
        or (hasattr(step, "__sklearn_tags__") and not get_tags(step).requires_fit)
    )
