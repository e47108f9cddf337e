"""Private bounds of columns, for columns without public bounds."""

from __future__ import annotations

import warnings
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from privfit.accounting import Gaussian, Ledger
from privfit.curator import Curator, Vector
from privfit.estimators.people import relation_of
from privfit.estimators.preparation import clip_features
from privfit.estimators.private import PrivateFit
from privfit.estimators.records import Records
from privfit.estimators.tables import check_table
from privfit.estimators.validation import check_finite, shown
from privfit.questions import Histograms
from privfit.solvers.base import BudgetWarning
from privfit.surroundings import look_around, one_thread_in_workers

# The first grid: [-2^40, -2^39), ..., [-2^-30, -2^-31), zero and what is smaller, (2^-31, 2^-30], ...
_POWERS = np.exp2(np.arange(-31.0, 41.0))
_BOTTOMS = np.concatenate([-_POWERS[:0:-1], [0.0], _POWERS[:-1]])
_TOPS = np.concatenate([-_POWERS[-2::-1], [0.0], _POWERS[1:]])
_EDGES = np.concatenate([np.nextafter(-_POWERS[-2::-1], -np.inf), _POWERS[:-1]])

_VISIBLE_DEVIATIONS = 5.0  # standard deviations; one of 3.5 million bins of pure noise exceeds it
_VISIBLE_DEVIATIONS_INSIDE = 2.0  # the same inside the right power of two, where errors do little harm
_PARTS = 16  # parts of the linear grid in a power of two; with more parts, each holds fewer records


class PrivateBounds(OneToOneFeatureMixin, TransformerMixin, PrivateFit):  # type: ignore[misc]  # untyped
    """Learn bounds of numeric columns with differential privacy, and rescale the columns by them.

    The transformer computes two noisy histograms of every column, each for half of the privacy budget: one
    over powers of two, and one over a linear grid inside the two powers that hold the quantiles. The bounds
    are taken from these histograms.

    Parameters
    ----------
    epsilon, delta : float
        The promise: the bounds of all columns together are (epsilon, delta)-differentially private when one
        record is added or removed. By default epsilon is 0.1.
    rho : float, optional
        The privacy budget in zero-concentrated differential privacy instead of epsilon; delta then only
        serves to state the guarantee as (epsilon, delta)-DP.
    quantiles : pair of float
        The quantiles of each column that become its low and its high bound. Values beyond the bounds are
        clipped.
    rows_per_person : int, optional
        The largest number of records of each person to use; ``groups`` of `fit` tells people apart. The
        guarantee then covers all records of a person.
    ledger : Ledger, optional
        The ledger that pays, shared with the fits that use the bounds.
    noise : {"secure", "seeded"}
        "secure" draws noise from the operating system's entropy; "seeded" makes it reproducible, for research
        only.
    random_state : None, int or numpy.random.Generator
        The seed of seeded noise.

    Attributes
    ----------
    bounds_ : pair of arrays
        The low and the high bound of every column, for ``feature_bounds=`` of an estimator. Those of a sparse
        matrix include 0.
    privacy_ : PrivacyStatement
        The privacy statement.
    ledger_ : Ledger
        The ledger of this fit.

    Notes
    -----
    A bin whose count cannot be told from noise counts as empty. So with a small privacy budget, the quantiles
    are those of the values in clearly visible bins. A column without a visible bin, or with only zeros in
    visible bins, gets the bounds -1 and 1, and a `BudgetWarning` names it. The noise of a histogram grows
    with the square root of the number of columns, so leave out columns whose bounds are known.

    Examples
    --------
    >>> import numpy as np
    >>> ages = np.random.default_rng(0).uniform(20, 60, size=(10_000, 1))
    >>> low, high = PrivateBounds(epsilon=0.5, noise="seeded", random_state=0).fit(ages).bounds_
    >>> bool(abs(low[0] - 20) < 3 and abs(high[0] - 60) < 3)
    True
    """

    default_epsilon: ClassVar[float] = 0.1

    def __init__(
        self,
        epsilon: float | None = None,
        delta: float = 1e-6,
        *,
        rho: float | None = None,
        quantiles: tuple[float, float] = (0.01, 0.99),
        rows_per_person: int | None = None,
        ledger: Ledger | None = None,
        noise: str = "secure",
        random_state: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.rho = rho
        self.quantiles = quantiles
        self.rows_per_person = rows_per_person
        self.ledger = ledger
        self.noise = noise
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, *, groups: Any = None) -> Self:
        """Buy the bounds of the columns of X, a numeric array, data frame or sparse matrix.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_records, n_features)
            One row per person, or several with `groups`.
        y : ignored
            Not used; present because pipelines pass it.
        groups : array of shape (n_records,), optional
            For each row, the id of its person, if `rows_per_person` is set. Rows without an id are left out.
            If the ids have a name, a shared ledger compares it.

        Returns
        -------
        self : object
            The fitted transformer.
        """
        with self._as_strictly_as_made(), one_thread_in_workers():
            return self._fit(Records.given(X, None, None, groups))

    @property
    def _noun(self) -> str:
        return "private bounds"

    def _fit(self, records: Records) -> Self:
        from privfit.engine.table import Table  # imported late: it needs numba, which is slow to import

        relation = relation_of(self.rows_per_person, None, records.groups_name)
        terms = self._terms(Gaussian.of, relation=relation)
        self._check_quantiles()
        surroundings = look_around(self)
        # from here on, errors can only come from the records themselves
        records = records.with_features(self._validated(records.X, reset=True))
        records, _ = records.of_people(relation)
        X = records.X
        ledger = self._open_ledger(terms)
        curator = Curator(
            Table(X, intercept=False),
            ledger,
            terms.noise,
            epsilon=terms.epsilon,
            delta=self.delta,
            relation=relation,
        )
        family = self._join_family(terms.kept, unknown=surroundings.unknown)

        low, high, unresolved = self._buy(curator, ledger.rho)
        self._settle(ledger)
        if sparse.issparse(X):
            low, high = np.minimum(low, 0.0), np.maximum(high, 0.0)
        self.bounds_ = low, high
        self.ledger_ = ledger
        assumptions = list(surroundings.assumptions)
        self.privacy_ = self._state(
            terms, ledger, family, assumptions, subject="set of bounds", schema=surroundings.schema
        )
        if unresolved.any():
            names = [str(name) for name in self.get_feature_names_out()[unresolved]]
            warnings.warn(
                f"The privacy budget could not resolve the bounds of {', '.join(names[:5])}"
                f"{f' and {len(names) - 5} more columns' if len(names) > 5 else ''}, which are -1 and 1 now; "
                "raise epsilon or declare them.",
                BudgetWarning,
                stacklevel=2,
            )
        return self

    def _buy(self, curator: Curator, budget: float) -> tuple[Vector, Vector, NDArray[np.bool_]]:
        """Return low and high bounds, and which columns have no visible bin."""
        p = curator.n_features
        coarse = curator.measure(Histograms(np.tile(_EDGES, (p, 1))), budget / 2)
        bins = coarse.value.reshape(p, -1)
        bins = np.where(bins > _VISIBLE_DEVIATIONS * coarse.sigma, bins, 0.0)
        first, last = self._ends(bins, np.zeros(bins.shape[1]))
        unresolved = (bins.sum(axis=1) == 0.0) | (_BOTTOMS[first] == _TOPS[last])

        ends = [np.linspace(_BOTTOMS[k], _TOPS[k], _PARTS + 1, axis=1) for k in (first, last)]
        whole = np.linspace(_BOTTOMS[first], _TOPS[last], 2 * _PARTS + 2, axis=1)
        grid = np.where((first == last)[:, None], whole, np.hstack(ends))
        fine = curator.measure(Histograms(grid[:, 1:-1]), budget / 2)
        bins = fine.value.reshape(p, -1)
        noise = fine.sigma * np.sqrt(np.arange(1, bins.shape[1] + 1))  # the noise of sums of bins
        begin, end = self._ends(bins, _VISIBLE_DEVIATIONS_INSIDE * noise)
        columns = np.arange(p)
        low, high = grid[columns, begin], grid[columns, end + 1]
        low, high = np.where(low < high, (low, high), (_BOTTOMS[first], _TOPS[last]))
        return np.where(unresolved, -1.0, low), np.where(unresolved, 1.0, high), unresolved

    def _ends(self, bins: Vector, doubt: Vector) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return the bins of each row that hold the two quantiles.

        Each is the first bin, counted from its end, at which the sum of counts exceeds both the share beyond
        the quantile and `doubt`.
        """
        total = bins.sum(axis=1, keepdims=True)
        shares = (self.quantiles[0], 1.0 - self.quantiles[1])
        first, last = (
            np.argmax(np.cumsum(side, axis=1) > np.maximum(share * total, doubt), axis=1)
            for side, share in zip((bins, bins[:, ::-1]), shares, strict=True)
        )
        return first, np.maximum(bins.shape[1] - 1 - last, first)

    def _check_quantiles(self) -> None:
        pair = self.quantiles
        numbers = isinstance(pair, tuple | list) and len(pair) == 2 and all(isinstance(q, Real) for q in pair)
        if not numbers or not 0.0 <= pair[0] < pair[1] <= 1.0:
            raise ValueError(f"quantiles must be two ascending numbers in [0, 1], got {shown(pair)}.")

    def _validated(self, X: Any, *, reset: bool) -> Any:
        X = validate_data(
            self,
            check_table(X),
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            ensure_all_finite=False,
            reset=reset,
        )
        check_finite("X", X)
        return X

    def transform(self, X: Any) -> Any:
        """Clip the columns to their bounds and rescale them to [0, 1].

        Sparse matrices are not shifted, so that zeros stay zeros; they end up in [-1, 1].

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_records, n_features)
            The same columns as in `fit`.

        Returns
        -------
        X_new : array or sparse matrix of shape (n_records, n_features)
            The rescaled columns.
        """
        check_is_fitted(self)
        X = self._validated(X, reset=False)
        low, high = (bound.astype(X.dtype) for bound in self.bounds_)
        clipped = clip_features(X, low, high)
        if sparse.issparse(clipped):
            clipped.data /= (high - low)[clipped.indices]
            return clipped
        return (clipped - low) / (high - low)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
