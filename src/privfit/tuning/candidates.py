"""The settings that a search tries. They are public and do not change the privacy guarantee."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.model_selection import ParameterGrid

from privfit.accounting import Concentrated, Direct, Gaussian
from privfit.estimators.base import DPLinearModel
from privfit.estimators.labels import encoded_labels
from privfit.estimators.records import Records
from privfit.estimators.validation import shown
from privfit.remedies import remedy
from privfit.schema import Schema
from privfit.solvers import get_solver
from privfit.tuning.results import in_words

MOST_SETTINGS = 100  # then each gets a hundredth of the privacy budget

# Settings that may be tried. All others state the guarantee, public facts about the table, or the target,
# which are the same for all fits of a search.
TRIED = (
    "alpha",
    "class_weight",
    "constraint",
    "curves",
    "fit_intercept",
    "max_passes",
    "solver",
    "start",
    "tau",
    "weight_shrinkage",
)
# settings whose values are Python objects, which the command line cannot pass
OBJECTS = ("constraint", "start")
PRIVACY = ("epsilon", "delta", "rho", "ledger", "noise", "random_state")  # settings of the whole search


def check_estimator(estimator: Any) -> DPLinearModel:
    """Return the estimator; raise if its settings cannot be tried."""
    if not isinstance(estimator, DPLinearModel):
        kind = estimator.__name__ if isinstance(estimator, type) else type(estimator).__name__
        raise ValueError(
            f"DPSearchCV tries settings of one of privfit's own models, not of {kind}; give it, for example, "
            "DPLogisticRegression(schema=...)."
        )
    defaults = type(estimator)().get_params()
    for name in PRIVACY:
        if getattr(estimator, name) is not None and getattr(estimator, name) != defaults[name]:
            raise ValueError(
                f"{name} is a setting of DPSearchCV, for all fits together; leave it out "
                f"of {type(estimator).__name__}."
            )
    if estimator.inference:
        raise ValueError(
            "After a search there are no intervals, because choosing settings by the same records would make "
            "them too narrow; leave inference= out, or fit settings that you chose beforehand."
        )
    return estimator


def one_grid(param_grid: Any, grid: Any) -> Any:
    """Return the settings to try, which have two names; raise unless exactly one of them is given."""
    if (param_grid is None) == (grid is None):
        raise ValueError(
            "DPSearchCV needs the settings to try, once: param_grid={'alpha': [0, 0.01]}, for example."
        )
    return grid if param_grid is None else param_grid


def settings_of(estimator: DPLinearModel, grid: Any) -> list[dict[str, Any]]:
    """Return the settings to try, one dictionary for each fit; raise if the grid is invalid."""
    try:
        settings = [dict(setting) for setting in ParameterGrid(grid)]
    except (TypeError, ValueError):
        raise ValueError(
            "param_grid must name settings with a list of values each, such as {'alpha': [0, 0.01]}, or be a "
            "list of such dictionaries."
        ) from None
    if not 2 <= len(settings) <= MOST_SETTINGS:
        one = remedy(f"to fit one, call {type(estimator).__name__}.fit", "to train one, use privfit train")
        raise ValueError(
            f"{_grid()} must name 2 to {MOST_SETTINGS} settings to choose among, got {len(settings)}; {one}."
        )
    twice = _repeated(settings)
    if twice is not None:
        raise ValueError(
            f"{_grid()} names {in_words(twice)} twice, and every fit costs privacy budget; name it once."
        )
    known = estimator.get_params(deep=False)
    for name in dict.fromkeys(name for setting in settings for name in setting):
        if name not in known:
            possible = [each for each in TRIED if each in known]
            as_text = [each for each in possible if each not in OBJECTS]
            raise ValueError(
                f"{_grid()} names {shown(name)}, which is no setting of {estimator._noun}; a search can try "
                f"{remedy(', '.join(possible), ', '.join(as_text))}."
            )
        if name in PRIVACY:
            raise ValueError(
                f"{_grid()} names {name}, which decides what is promised and cannot be tried; "
                f"{remedy('say it to DPSearchCV', 'say it once, for the whole search')}."
            )
        if name not in TRIED:
            where = remedy(f"say it to {type(estimator).__name__}", "say it in the schema, or by an option")
            raise ValueError(
                f"{_grid()} names {name}, which says what is public or what is predicted and cannot be "
                f"tried; {where}."
            )
    return settings


def _repeated(settings: list[dict[str, Any]]) -> dict[str, Any] | None:
    """Return the first setting that is among those before it, or None; objects are compared by identity."""
    seen = set()
    for setting in settings:
        values = frozenset((name, _compared(value)) for name, value in setting.items())
        if values in seen:
            return setting
        seen.add(values)
    return None


def _compared(value: Any) -> Any:
    value = value.item() if isinstance(value, np.generic) else value
    # True is 1 to Python; of curves, one means that a rule decides and the other is a number of edges
    return (type(value) is bool, value) if isinstance(value, int | float | str | None) else id(value)


def check_weighted(settings: list[dict[str, Any]], *, given: bool) -> None:
    """Raise if weights are to be shrunk and the records have none, so that all fits would be the same."""
    if not given and any("weight_shrinkage" in setting for setting in settings):
        remedies = remedy("give sample_weight to fit", "declare a column of type weight in the schema")
        raise ValueError(f"{_grid()} names weight_shrinkage, and the records have no weights; {remedies}.")


def _grid() -> str:
    return remedy("param_grid", "--try")


def kind_of_promise(models: list[DPLinearModel], delta: float) -> Any:
    """Return the kind of promise that can pay for all these fits; raise if a solver has none."""
    kinds = set()
    for model in models:
        solver = get_solver(model.solver)
        promise = solver.promise(epsilon=1.0, delta=delta or 1e-6)
        if promise is None or isinstance(promise, Direct):
            why = "promises no privacy" if promise is None else "is one release with a proof of its own"
            raise ValueError(f"The solver {solver.name!r} {why} and cannot be tried; choose another solver.")
        kinds.add(type(promise))
    return Gaussian.of if kinds == {Gaussian} else Concentrated.of


def told_labels(
    estimator: DPLinearModel, records: Records, schema: Schema | None
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the classes for all fits, so that the training part does not decide which exist.

    Also returns the sentences about them in statements.
    """
    if not is_classifier(estimator) or schema is not None or records.y is None:
        return {}, {}
    _, encoder = encoded_labels(records.y, estimator.classes)
    if estimator.classes is not None:
        return {}, {}
    classes = tuple(encoder.classes.tolist())
    _, told = encoded_labels(records.y, classes)
    return {"classes": classes}, {told.assumption: encoder.assumption}
