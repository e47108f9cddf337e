"""The assumptions of a plan, from its caller or from a schema, and checks of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np

import privfit.estimators  # noqa: F401  # which enters the models into the registry
from privfit.models.registry import MODELS
from privfit.planning.targets import Classes, Numbers, Target, shares_of
from privfit.schema import CountLabel, Label, Schema
from privfit.schema.curve import MOST_EDGES
from privfit.schema.curved import Curved

OF_CLASSES, OF_NUMBERS = ("logistic", "svm"), ("linear", "huber")
POSITIVES, AUC, R2 = 0.5, 0.8, 0.5  # defaults
MOST_SIMULATED_CELLS = 200_000_000  # the largest number of cells of one simulated table, which takes 800 MB
LARGEST_AUC = 0.9995  # the largest AUC that can be assumed; above it, labels would be certain


@dataclass(frozen=True)
class Assumptions:
    """The assumptions about a table, about its target, and about the fits.

    Parameters
    ----------
    n : int or None
        Number of people.
    n_features, numbers : int, and int or None
        Number of encoded columns, and how many of them are numbers; None for half of them.
    target : Target
        The target, and how well a model without privacy predicts it.
    model : str
        The kind of model.
    rows_per_person : int
        The number of rows of each person, all of which are used.
    curves : bool or int
        The same as the estimators' setting.
    delta, runs, seed
        As in `plan`.
    """

    n: int | None
    n_features: int
    numbers: int | None
    target: Target
    model: str
    rows_per_person: int
    curves: bool | int
    delta: float
    runs: int
    seed: int

    @classmethod
    def of(
        cls,
        n: int | None,
        n_features: int | None,
        *,
        delta: float,
        positives: float | None,
        auc: float | None,
        model: str | None,
        runs: int,
        seed: int,
        classes: int | Sequence[float] | None,
        r2: float | None,
        rows_per_person: int | None,
        curves: bool | int | None,
        schema: Schema | str | PathLike[str] | None,
    ) -> Assumptions:
        """Check the given assumptions, and take the others from the schema."""
        numbers = None
        if schema is not None:
            schema = Schema.of(schema)
            if n_features is not None:
                raise ValueError("The schema declares the features; leave n_features out.")
            plain = schema.without_curves()
            n_features = len(plain.feature_names)
            numbers = sum(isinstance(column, Curved) for column in plain.features)
            curves = schema.has_curves if curves is None else curves
            of_person = None if schema.identifier is None else schema.identifier.rows_per_person
            rows_per_person = of_person if rows_per_person is None else rows_per_person
            if n is None and schema.records is not None:
                # the schema declares the number of rows, not of people
                n = schema.records // (rows_per_person or 1)
            classes, model = _by_label(schema, classes, positives, model)
        if n_features is None:
            raise ValueError("Give the number of encoded columns, such as n_features=20, or a schema.")
        check_whole("n_features", n_features, 1)
        check_whole("runs", runs, 2)
        check_positive("delta", delta)
        check_whole("rows_per_person", 1 if rows_per_person is None else rows_per_person, 1)
        if isinstance(curves, int) and not isinstance(curves, bool) and not 0 <= curves <= MOST_EDGES:
            raise ValueError(f"curves must be True, False or a number of edges up to {MOST_EDGES}.")
        model = model or ("logistic" if r2 is None else "linear")
        return cls(
            n,
            n_features,
            numbers,
            _target(model, positives, auc, classes, r2),
            model,
            rows_per_person or 1,
            curves or False,
            delta,
            runs,
            seed,
        )

    def check_size(self, n: int) -> None:
        """Raise ValueError if there are too many people to simulate."""
        check_whole("n", n, 10)
        cells_per_person = self.n_features * self.rows_per_person
        if n * cells_per_person > MOST_SIMULATED_CELLS:
            most = MOST_SIMULATED_CELLS // cells_per_person
            raise ValueError(
                f"{n:,} x {cells_per_person} cells are too many to simulate; plan for {most:,} people: with "
                "more people the model only gets better."
            )


def _by_label(
    schema: Schema, classes: Any, positives: float | None, model: str | None
) -> tuple[Any, str | None]:
    """Return the classes and the kind of model for the schema's label."""
    label = schema.label
    if isinstance(label, CountLabel):
        raise ValueError(
            f"The label {label.name!r} is a count, and models of counts cannot be planned yet; plan a model "
            "of numbers, r2=..., for an idea of it."
        )
    if not isinstance(label, Label):
        return classes, model or "linear"
    if classes is None and positives is None and len(label.classes) > 2:
        classes = len(label.classes)
    told = 2 if classes is None else len(shares_of(classes))
    if told != len(label.classes):
        raise ValueError(f"The schema declares {len(label.classes)} classes, and {told} were given a share.")
    return classes, model or "logistic"


def _target(model: str, positives: float | None, auc: float | None, classes: Any, r2: float | None) -> Target:
    """Return the target; raise if the kind of model is not supported, or an assumption does not fit it."""
    if model not in OF_CLASSES + OF_NUMBERS:
        known = MODELS.get(model)
        why = "" if known is None else f" {known.title} cannot be planned yet."
        names = ", ".join(map(repr, OF_CLASSES + OF_NUMBERS))
        raise ValueError(
            f"Plans are for models of classes and of numbers: model must be one of {names}, got "
            f"{model!r}.{why}"
        )
    if model in OF_NUMBERS:
        for name, value in (("positives", positives), ("auc", auc), ("classes", classes)):
            if value is not None:
                raise ValueError(f"{name} is about classes, and the model {model!r} predicts numbers.")
        check_share("r2", R2 if r2 is None else r2, 0.0)
        return Numbers(R2 if r2 is None else r2)
    if r2 is not None:
        raise ValueError(f"r2 is about numbers, and the model {model!r} predicts classes; give auc.")
    if classes is not None and positives is not None:
        raise ValueError("positives is the share of one of two labels; give the shares of all classes alone.")
    check_share("auc", AUC if auc is None else auc, 0.5)
    share = POSITIVES if positives is None else positives
    check_share("positives", share, 0.0)
    shares = (1.0 - share, share) if classes is None else shares_of(classes)
    return Classes(shares, min(AUC if auc is None else auc, LARGEST_AUC))


def check_whole(name: str, value: Any, least: int) -> None:
    """Raise ValueError unless this is a whole number of at least `least`."""
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}, got {value!r}.")


def check_positive(name: str, value: Any) -> float:
    """Return a number; raise ValueError unless it is positive and finite."""
    if not isinstance(value, (int, float, np.number)) or not 0.0 < value < math.inf:
        raise ValueError(f"{name} must be positive and finite, got {value!r}.")
    return float(value)


def check_share(name: str, value: Any, above: float) -> None:
    """Raise ValueError unless this is a number between `above` and 1."""
    if not isinstance(value, (int, float, np.number)) or not above < value < 1.0:
        raise ValueError(f"{name} must be between {above:g} and 1, got {value!r}.")
