"""Differentially private linear models with a proven guarantee and nothing to tune."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from privfit import converters as _converters  # noqa: F401  # registers what `save` and `report` call
from privfit.version import __version__ as __version__

if TYPE_CHECKING:
    from privfit import accounting as accounting
    from privfit import datasets as datasets
    from privfit import estimators as estimators
    from privfit import losses as losses
    from privfit import metrics as metrics
    from privfit import penalties as penalties
    from privfit import planning as planning
    from privfit import preprocessing as preprocessing
    from privfit import schema as schema
    from privfit import solvers as solvers
    from privfit import testing as testing
    from privfit import tuning as tuning
    from privfit.accounting import BudgetExceeded, Ledger
    from privfit.estimators import (
        DPHuberRegressor,
        DPLinearClassifier,
        DPLinearRegression,
        DPLinearRegressor,
        DPLinearSVC,
        DPLogisticRegression,
        DPPoissonRegressor,
        DPQuantileRegressor,
    )
    from privfit.leaks import PrivacyLeakError, PrivacyLeakWarning, WeakPromiseWarning, strict
    from privfit.planning import people_needed, plan
    from privfit.publication import load
    from privfit.schema import Schema
    from privfit.tuning import DPSearchCV

__all__ = [
    "BudgetExceeded",
    "DPHuberRegressor",
    "DPLinearClassifier",
    "DPLinearRegression",
    "DPLinearRegressor",
    "DPLinearSVC",
    "DPLogisticRegression",
    "DPPoissonRegressor",
    "DPQuantileRegressor",
    "DPSearchCV",
    "Ledger",
    "PrivacyLeakError",
    "PrivacyLeakWarning",
    "Schema",
    "WeakPromiseWarning",
    "load",
    "people_needed",
    "plan",
    "strict",
]

# Names are imported when they are first used (PEP 562), because scikit-learn takes a second to import and
# `privfit --help` does not need it.
_MODULE_OF = {
    "BudgetExceeded": "accounting",
    "DPHuberRegressor": "estimators",
    "DPLinearClassifier": "estimators",
    "DPLinearRegression": "estimators",
    "DPLinearRegressor": "estimators",
    "DPLinearSVC": "estimators",
    "DPLogisticRegression": "estimators",
    "DPPoissonRegressor": "estimators",
    "DPQuantileRegressor": "estimators",
    "DPSearchCV": "tuning",
    "Ledger": "accounting",
    "PrivacyLeakError": "leaks",
    "PrivacyLeakWarning": "leaks",
    "Schema": "schema",
    "WeakPromiseWarning": "leaks",
    "load": "publication",
    "people_needed": "planning",
    "plan": "planning",
    "strict": "leaks",
}
_SUBPACKAGES = (
    "accounting",
    "datasets",
    "estimators",
    "losses",
    "metrics",
    "penalties",
    "planning",
    "preprocessing",
    "schema",
    "solvers",
    "testing",
    "tuning",
)


def __getattr__(name: str) -> Any:
    if name in _SUBPACKAGES:
        return import_module(f"{__name__}.{name}")
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_SUBPACKAGES})
