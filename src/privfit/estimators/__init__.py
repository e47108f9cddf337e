"""scikit-learn estimators with differential privacy."""

from privfit.estimators.linear import DPLinearSVC, DPLogisticRegression
from privfit.estimators.publishing import load
from privfit.estimators.statement import PrivacyStatement

__all__ = ["DPLinearSVC", "DPLogisticRegression", "PrivacyStatement", "load"]
