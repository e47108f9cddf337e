"""Differentially private linear models with a proven guarantee and nothing to tune."""

from privfit.accounting import BudgetExceeded, Ledger
from privfit.estimators import DPLinearSVC, DPLogisticRegression
from privfit.leaks import PrivacyLeakError, PrivacyLeakWarning, WeakPromiseWarning, strict

__version__ = "0.1.0"

__all__ = [
    "BudgetExceeded",
    "DPLinearSVC",
    "DPLogisticRegression",
    "Ledger",
    "PrivacyLeakError",
    "PrivacyLeakWarning",
    "WeakPromiseWarning",
    "strict",
]
