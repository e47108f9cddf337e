"""scikit-learn estimators with differential privacy.

To add one, add a file here that defines it. `privfit.load` and the command line find it by its kind.
"""

from importlib import import_module
from pkgutil import iter_modules

from privfit.estimators.linear import DPLinearSVC, DPLogisticRegression
from privfit.estimators.statement import PrivacyStatement

__all__ = ["DPLinearSVC", "DPLogisticRegression", "PrivacyStatement"]

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")
