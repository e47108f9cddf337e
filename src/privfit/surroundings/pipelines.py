"""Find the steps of a pipeline that learn from the data, and the schema by which steps encode tables.

The classes of steps are imported late, because most fits have no pipeline.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from sklearn.utils import get_tags

from privfit.schema import Schema


def schema_inside(model: Any) -> Schema | None:
    """Return the schema by which a step of a pipeline encodes tables."""
    return schema_among(leaves("", model))


def schema_among(steps: Iterable[tuple[str, Any]]) -> Schema | None:
    """Return the schema of the first step of privfit that has one."""
    ours = (step for _, step in steps if type(step).__module__.startswith("privfit."))
    schemas = (schema for step in ours if (schema := getattr(step, "schema", None)) is not None)
    return next((Schema.of(schema) for schema in schemas), None)


def leaves(name: str, step: Any) -> Iterator[tuple[str, Any]]:
    """Yield the step, or the steps that it consists of, with their names."""
    from sklearn.compose import ColumnTransformer
    from sklearn.pipeline import FeatureUnion, Pipeline

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
        yield from leaves(f"{name}__{part}", transformer)


def learns_nothing(step: Any) -> bool:
    """Return whether a step learns nothing from the data, or has paid for what it learns."""
    if step is None or isinstance(step, str):  # "passthrough" or "drop"
        return True
    from sklearn.frozen import FrozenEstimator
    from sklearn.impute import SimpleImputer
    from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, PolynomialFeatures

    if isinstance(step, OneHotEncoder | OrdinalEncoder):
        declared = not isinstance(step.categories, str)
        return declared and step.min_frequency is None and step.max_categories is None
    if isinstance(step, SimpleImputer):
        return bool(step.strategy == "constant" and not step.add_indicator)
    return (
        # the first was fitted elsewhere; the second learns the shape only
        isinstance(step, FrozenEstimator | PolynomialFeatures)
        or hasattr(step, "privacy_")  # it paid for what it learnt
        or (hasattr(step, "__sklearn_tags__") and not get_tags(step).requires_fit)
    )
