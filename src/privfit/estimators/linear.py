"""The scikit-learn estimators: validation, labels, a solver by name, a statement. Nothing numerical."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from privfit.accounting import Ledger, epsilon_from_rho, rho_from_epsilon
from privfit.curator import Curator
from privfit.estimators.pipelines import warn_about_fitted_steps
from privfit.estimators.progress import budget_bar
from privfit.estimators.statement import PrivacyStatement
from privfit.estimators.validation import (
    check_bounds,
    check_finite,
    check_lengths,
    check_positive,
    clip_features,
    encode_labels,
    row_norms,
)
from privfit.losses import get_loss
from privfit.mechanisms.noise import noise_source
from privfit.solvers import Solution, Solver, get_solver


class _DPLinearClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn is untyped
    """What the two estimators share."""

    _loss: ClassVar[str]

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        *,
        rho: float | None = None,
        solver: str | Solver = "adaptive",
        alpha: float = 0.0,
        fit_intercept: bool = True,
        classes: Any = None,
        n_records: int | None = None,
        feature_bounds: tuple[Any, Any] | None = None,
        ledger: Ledger | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.rho = rho
        self.solver = solver
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.classes = classes
        self.n_records = n_records
        self.feature_bounds = feature_bounds
        self.ledger = ledger
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any) -> Self:
        """Train on features X and labels y within the privacy budget.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_records, n_features)
            One row per person.
        y : array of shape (n_records,)
            Labels of two classes.
        """
        from privfit.engine.local import LocalEngine  # late: it brings numba, which only a fit needs

        solver = get_solver(self.solver)
        epsilon, budget = self._budget(solver)  # bad settings are refused before the data are looked at
        check_positive("alpha", self.alpha, or_zero=True)
        if self.n_records is not None:
            check_positive("n_records", self.n_records)
        fitted_steps = warn_about_fitted_steps(self) if solver.private else ()
        if y is not None:
            check_lengths(X, y)
            check_finite("y", np.asarray(y))
        X, y = validate_data(
            self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_all_finite=False
        )
        check_finite("X", X)
        self.classes_, signs, classes_leaked = encode_labels(y, self.classes)
        bounds = None if self.feature_bounds is None else check_bounds(X, self.feature_bounds)
        noise = noise_source(self.random_state)
        ledger = self._account(solver, epsilon, budget)

        engine = LocalEngine(X, signs, get_loss(self._loss), intercept=self.fit_intercept)
        with budget_bar(type(self).__name__, self.verbose) as show:
            curator = Curator(
                engine if bounds is None else engine.clipped(*bounds),
                ledger,
                noise,
                epsilon=epsilon,
                delta=self.delta,
                alpha=self.alpha,
                n_records=self.n_records,
                bounds=bounds,
                on_answer=show,
            )
            try:
                solution = solver.solve(curator)
            except KeyboardInterrupt as interrupt:
                interrupt.add_note(f"The fit was interrupted and released no model: {ledger.statement()}")
                raise
        self._set_solution(solution)
        self.feature_bounds_ = bounds if solution.bounds is None else solution.bounds
        self.ledger_ = ledger if solver.private else None
        self.privacy_ = self._statement(
            solver, ledger, noise.secure, classes_leaked, fitted_steps, solution, epsilon
        )
        return self

    def _budget(self, solver: Solver) -> tuple[float, float]:
        """Return the epsilon and the rho of this fit."""
        if not solver.private and self.ledger is not None:
            raise ValueError(
                f"solver={solver.name!r} has no price, so it cannot draw on a ledger; remove ledger=."
            )
        if self.rho is not None:
            check_positive("rho", self.rho)
            epsilon = epsilon_from_rho(self.rho, self.delta, solver.conversion)
            if solver.conversion != "direct":
                return epsilon, self.rho
            epsilon *= 1.0 - 2.0**-40  # so that its price is not above rho
        else:
            check_positive("epsilon", self.epsilon)
            epsilon = self.epsilon
        return epsilon, rho_from_epsilon(epsilon, self.delta, solver.conversion)

    def _account(self, solver: Solver, epsilon: float, budget: float) -> Ledger:
        """Open an account for this fit, or a portion of the shared one."""
        direct = solver.conversion == "direct"
        if self.ledger is not None:
            return self.ledger.portion(budget, self.delta if direct else 0.0)
        if self.rho is not None and not direct:
            return Ledger(rho=budget)
        return Ledger(epsilon=epsilon, delta=self.delta, conversion=solver.conversion)

    def _set_solution(self, solution: Solution) -> None:
        w = solution.w
        self.coef_ = (w[:-1] if self.fit_intercept else w).reshape(1, -1).copy()
        self.intercept_ = w[-1:].copy() if self.fit_intercept else np.zeros(1)
        self.unit_rows_ = solution.unit_rows
        self.n_iter_ = solution.n_iter
        self.trace_ = solution.trace

    def _statement(
        self,
        solver: Solver,
        ledger: Ledger,
        secure: bool,
        classes_leaked: bool,
        fitted_steps: tuple[str, ...],
        solution: Solution,
        epsilon: float,
    ) -> PrivacyStatement:
        assumptions = ["each person has at most one record", "the columns and their order are public"]
        if classes_leaked:
            assumptions.append("the set of labels is public; it was read off the data, not declared")
        else:
            assumptions.append(f"the labels {self.classes_[0]!s} and {self.classes_[1]!s} are public")
        if self.n_records is not None:
            assumptions.append(f"the number of records, declared as {self.n_records}, is public")
        if self.feature_bounds is not None:
            assumptions.append("the declared feature bounds are public or were released privately")
        if fitted_steps:
            assumptions.append(
                f"what the pipeline learnt in {', '.join(fitted_steps)} is public; it was taken from the data"
            )
        if not secure:
            assumptions.append(
                "SEEDED NOISE, FOR RESEARCH ONLY: anyone who can guess random_state can remove the noise; "
                "set random_state=None before publishing"
            )
        relation = "add or remove one record"
        if not solver.private:
            return PrivacyStatement(math.inf, 1.0, math.inf, relation, (), {}, solution.notes)
        spent = ledger.spent
        if solver.conversion != "direct":
            epsilon = epsilon_from_rho(max(spent, 1e-12), self.delta, solver.conversion) if spent else 0.0
        return PrivacyStatement(
            epsilon=epsilon,
            delta=self.delta,
            rho=spent,
            relation=relation,
            assumptions=tuple(assumptions),
            spending=ledger.spending(),
            notes=solution.notes,
            approximate=solver.conversion == "direct",
        )

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the signed distance-like score of every row; positive means the second class."""
        check_is_fitted(self)
        X = validate_data(
            self, X, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_all_finite=False, reset=False
        )
        check_finite("X", X)
        if self.feature_bounds_ is not None:
            X = clip_features(X, *self.feature_bounds_)
        scores: NDArray[np.float64] = np.asarray(X @ self.coef_.ravel()) + self.intercept_[0]
        return scores / row_norms(X, self.fit_intercept) if self.unit_rows_ else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the predicted label of every row."""
        positive = self.decision_function(X) > 0.0
        predicted: NDArray[Any] = self.classes_[positive.astype(np.intp)]
        return predicted

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        # At these budgets the noise drowns a toy table of a few dozen records, as it must.
        tags.classifier_tags.poor_score = True
        tags.input_tags.sparse = True
        return tags


Model = TypeVar("Model", bound=_DPLinearClassifier)

_REFERENCE = """

    Parameters
    ----------
    epsilon, delta : float
        The promise: the model is (epsilon, delta)-differentially private when one record is added or
        removed. delta should be well below 1 / number of records.
    rho : float, optional
        The budget in zero-concentrated differential privacy instead of epsilon; delta then only serves
        to state the result as (epsilon, delta).
    solver : str or Solver
        The algorithm, by name or as an object with its settings.
    alpha : float
        Strength of the regulariser alpha/2 ||w||^2, like SGDClassifier's; the intercept is a weight like
        any other, as in the paper.
    fit_intercept : bool
        Whether to add a constant feature.
    classes : pair of labels, optional
        The two labels, the negative one first. Needs declaring unless they are 0 and 1, -1 and 1, or
        booleans, because the set of labels may not be taken from sensitive data.
    n_records : int, optional
        The number of records if it is public. Otherwise what needs it buys a noisy count.
    feature_bounds : pair, optional
        Public (low, high) for all columns or for each; features are clipped to them.
    ledger : Ledger, optional
        An account to draw on, shared with other fits. Each fit may spend up to its own epsilon from it.
    random_state : None, int or numpy.random.Generator
        None draws secure noise from the operating system. A seed makes the noise reproducible, for
        research only.
    verbose : int
        1 shows the budget being spent.

    Attributes
    ----------
    coef_, intercept_, classes_, n_features_in_, feature_names_in_
        As in scikit-learn's linear classifiers.
    feature_bounds_ : pair of arrays or None
        Lowest and highest value of every column that the model knows, declared or bought; predictions clip
        the features to them, as the fit did.
    unit_rows_ : bool
        Whether the solver scales rows to norm 1, the intercept's column included; predictions then do too.
    n_iter_ : int
        Number of steps taken.
    privacy_ : PrivacyStatement
        What was promised: epsilon, delta, rho, relation, assumptions, and a paragraph of plain words.
    ledger_ : Ledger
        The account of this fit (None for solvers without privacy).
    trace_ : tuple of Step
        What each iteration released and cost.

    Examples
    --------
    >>> from privfit import DPModel
    >>> from privfit.datasets import load_adult
    >>> adult = load_adult(split="train")
    >>> model = DPModel(epsilon=1.0, delta=1e-6, classes=("<=50K", ">50K"))
    >>> model.fit(adult.data, adult.target).score(adult.data, adult.target) > 0.7
    True
    """


def _documented(model: type[Model]) -> type[Model]:
    """Append the reference that all estimators share to a model's docstring."""
    model.__doc__ = f"{model.__doc__}{_REFERENCE.replace('DPModel', model.__name__)}"
    return model


@_documented
class DPLogisticRegression(_DPLinearClassifier):
    """Logistic regression with differential privacy."""

    _loss = "logistic"

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of each class for every row, in the order of classes_."""
        positive = expit(self.decision_function(X))
        return np.column_stack([1.0 - positive, positive])


@_documented
class DPLinearSVC(_DPLinearClassifier):
    """Linear support vector machine (hinge loss) with differential privacy."""

    _loss = "hinge"
