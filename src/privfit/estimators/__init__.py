"""scikit-learn estimators with differential privacy.

Each file defines one. `privfit.load` and the command line find an estimator by its kind.
"""

from importlib import import_module
from pkgutil import iter_modules

from privfit.estimators.huber_regressor import DPHuberRegressor
from privfit.estimators.linear import DPLinearSVC, DPLogisticRegression
from privfit.estimators.linear_classifier import DPLinearClassifier
from privfit.estimators.linear_regression import DPLinearRegression
from privfit.estimators.linear_regressor import DPLinearRegressor
from privfit.estimators.poisson_regressor import DPPoissonRegressor
from privfit.estimators.quantile_regressor import DPQuantileRegressor
from privfit.estimators.statement import PrivacyStatement

__all__ = [
    "DPHuberRegressor",
    "DPLinearClassifier",
    "DPLinearRegression",
    "DPLinearRegressor",
    "DPLinearSVC",
    "DPLogisticRegression",
    "DPPoissonRegressor",
    "DPQuantileRegressor",
    "PrivacyStatement",
]

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")
