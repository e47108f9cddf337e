"""Private scorers for scikit-learn's searches: scorer(estimator, X, y), greater is better."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from sklearn.utils.metadata_routing import MetadataRequest

from privfit.estimators.validation import shown
from privfit.metrics.examination import Examination

# for each name of a scorer in scikit-learn: privfit's name of the score, and its sign
_SCORERS = {
    "accuracy": ("accuracy", 1.0),
    "balanced_accuracy": ("balanced_accuracy", 1.0),
    "roc_auc": ("roc_auc", 1.0),
    "neg_brier_score": ("brier_score", -1.0),
    "neg_log_loss": ("log_loss", -1.0),
    "r2": ("r2", 1.0),
    "neg_mean_absolute_error": ("mean_absolute_error", -1.0),
    "neg_root_mean_squared_error": ("root_mean_squared_error", -1.0),
    "neg_mean_pinball_loss": ("mean_pinball_loss", -1.0),
    "neg_mean_poisson_deviance": ("mean_poisson_deviance", -1.0),
    "d2_poisson": ("d2_poisson", 1.0),
}


@dataclass(frozen=True)
class PrivateScorer:
    """The scorer that `make_scorer` returns.

    Parameters
    ----------
    names : tuple of str
        The names of the scores.
    single : bool
        Whether a call returns a number instead of a dictionary.
    examination : Examination
        The settings of the scores, such as the price.
    requests : mapping
        Which of sample_weight and groups a search passes on; see `set_score_request`.
    """

    names: tuple[str, ...]
    single: bool
    examination: Examination
    requests: Mapping[str, bool | str | None] = field(
        default_factory=lambda: {"sample_weight": None, "groups": None}
    )

    def set_score_request(self, **requests: bool | str | None) -> PrivateScorer:
        """Return a scorer that requests weights or groups, if scikit-learn's metadata routing is enabled.

        Parameters
        ----------
        **requests : bool or str
            ``sample_weight=True`` and ``groups=True``, or the name under which a search gets them.

        Returns
        -------
        scorer : PrivateScorer
            A scorer with the same settings.
        """
        unknown = set(requests) - set(self.requests)
        if unknown:
            raise TypeError(f"A private scorer takes sample_weight and groups, not {min(unknown)}.")
        return replace(self, requests={**self.requests, **requests})

    def get_metadata_routing(self) -> MetadataRequest:
        """Return the requests in the form that scikit-learn's searches need.

        Returns
        -------
        routing : MetadataRequest
            The requests of the method score.
        """
        routing = MetadataRequest(owner=type(self).__name__)
        for name, alias in self.requests.items():
            routing.score.add_request(param=name, alias=alias)
        return routing

    def __call__(
        self, estimator: Any, X: Any, y: Any = None, sample_weight: Any = None, groups: Any = None
    ) -> float | dict[str, float]:
        """Return the score, or several by name."""
        evaluation = self.examination.of(estimator, X, y, sample_weight, groups)
        values = {}
        for name in self.names:
            score, sign = _SCORERS[name]
            values[name] = sign * float(getattr(evaluation, score))
        return values[self.names[0]] if self.single else values


def make_scorer(metrics: str | Iterable[str], **settings: Any) -> PrivateScorer:
    """Return a scorer for scikit-learn's searches that pays for every number it returns.

    The ledger of the scored estimator pays, or `ledger=` if it is given. Without a ledger the scores count in
    the estimator's family of fits. Each call is one release, for any number of metrics.

    Parameters
    ----------
    metrics : str or iterable of str
        Scikit-learn's names. For classifiers: accuracy, balanced_accuracy, roc_auc (two classes),
        neg_brier_score, neg_log_loss. For regressors: r2, neg_mean_absolute_error,
        neg_root_mean_squared_error, neg_mean_poisson_deviance, and also neg_mean_pinball_loss and d2_poisson,
        for which scikit-learn has no names. With several metrics, a search gets a dictionary; ``refit=`` of
        the search names the metric that chooses.
    **settings : dict
        Settings of `evaluate` except `curves`, such as rho=0.01.

    Returns
    -------
    scorer : callable
        A value for ``scoring=`` of a search; scorer(estimator, X, y) returns a number, or a dictionary.

    Examples
    --------
    >>> scorer = make_scorer("accuracy", rho=0.01)
    >>> scorer.names
    ('accuracy',)
    """
    single = isinstance(metrics, str)
    names = (metrics,) if isinstance(metrics, str) else tuple(metrics)
    unknown = [name for name in names if name not in _SCORERS]
    if unknown or not names:
        got = shown(unknown[0]) if unknown else "none"
        raise ValueError(f"metrics are {', '.join(_SCORERS)}; got {got}.")
    wanted = tuple(_SCORERS[name][0] for name in names)
    return PrivateScorer(names, single, Examination(wanted=wanted, **settings))
