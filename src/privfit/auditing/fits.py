"""Cases of whole fits and scores, with a canary whose gradient is as long as the clip, at all weights.

The other records agree with each other, and the canary contradicts them: weights that fit the others
misclassify the canary, where the slope of its loss is steepest. If a solver chooses among candidates, the
others have no features instead, so that the choice depends on the canary alone.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from privfit.accounting import Gaussian
from privfit.auditing.answers import Release, Vector
from privfit.auditing.case import DELTA, EPSILON, Case, Kind, flat
from privfit.estimators import DPLinearRegression, DPLinearSVC, DPLogisticRegression
from privfit.mechanisms.noise import NoiseSource
from privfit.solvers import (
    DPAGD,
    SGDMA,
    FrankWolfe,
    GradientDescent,
    ModernDPAGD,
    OutputPerturbation,
    PrivGene,
    SGDAdv,
    get_solver,
)

OTHERS = 40  # number of records that agree with each other
VISITS, MOST_USED = 7, 3  # records that the canary has if it is a person, and those that are used
PUBLIC: dict[str, Any] = {"epsilon": EPSILON, "delta": DELTA, "fit_intercept": False}
LABELS = PUBLIC | {"classes": (0, 1)}
RANGE: dict[str, Any] = {"feature_bounds": (-1.0, 1.0)}
BOUNDED = RANGE | {"n_records": OTHERS}
SHORT = {"max_passes": 20}  # saves time, and does not change prices


def fits() -> Iterator[Case]:
    """Yield every solver, and fits with weights, of several classes and of numbers."""
    yield _case("adaptive (the default)", "solver", DPLogisticRegression, {"fit_intercept": True})
    yield _case("adaptive, bounds declared", "solver", DPLogisticRegression, BOUNDED | SHORT)
    yield _case("adaptive, hinge", "solver", DPLinearSVC, BOUNDED | SHORT)
    yield _case("adaptive, weights", "solver", DPLinearSVC, BOUNDED | SHORT | {"max_weight": 1.0}, weight=1e9)
    classes = {"classes": (0, 1, 2)}
    yield _case("adaptive, three classes", "solver", DPLogisticRegression, BOUNDED | SHORT | classes)
    numbers = BOUNDED | {"target_bounds": (-1.0, 1.0)}
    yield _case("adaptive, numbers", "solver", DPLinearRegression, numbers | SHORT, numbers=True)
    yield _case("newton", "solver", DPLogisticRegression, BOUNDED | {"solver": "newton"})
    products = numbers | {"solver": "sufficient-statistics"}
    yield _case("sufficient-statistics", "solver", DPLinearRegression, products, numbers=True)
    descent = GradientDescent(steps=4, clip=1.0, step=0.1)
    yield _case("gradient-descent", "solver", DPLinearSVC, BOUNDED | {"solver": descent})
    modern = ModernDPAGD(iterations=4, C_grad=1.0)
    yield _case("dpagd-modern", "solver", DPLinearSVC, BOUNDED | {"solver": modern})
    chosen: dict[str, Any] = {
        "frank-wolfe": FrankWolfe(radius=0.5),  # so small that the canary always has a margin below 1
        "privgene": PrivGene(population=8, parents=2),
    }
    for name, solver in chosen.items():
        yield _case(name, "solver", DPLinearSVC, BOUNDED | {"solver": solver}, blank=True)
    # its bounds are looser: Laplace noise at the price of any pure mechanism, and the classic conversion
    loose = BOUNDED | {"solver": DPAGD(splits=4, C_grad=1.0, C_obj=1.0)}
    yield _case("dpagd", "solver", DPLinearSVC, loose, blank=True, control=0.05)
    opened: dict[str, Any] = {
        "sgd-ma": SGDMA(clip=1.0, step=0.02, batch_size=OTHERS),
        "sgd-adv": SGDAdv(clip=1.0, step=0.05, batch_size=OTHERS, steps=2),
        "output-perturbation": OutputPerturbation(T=1, radius=1.0),  # the norm of the canary
        "objective-perturbation": "objective-perturbation",
        "approximate-minima-perturbation": "approximate-minima-perturbation",
    }
    for name, solver in opened.items():
        settings = {"n_records": OTHERS, "alpha": 0.1, "solver": solver}
        yield _case(name, "solver", DPLinearSVC, settings, blank=True, sees="result")


def intervals() -> Iterator[Case]:
    """Yield fits with standard errors, for records and for people."""
    inferred = SHORT | {"inference": True}
    yield _case("intervals, logistic", "interval", DPLogisticRegression, BOUNDED | inferred)
    numbers = BOUNDED | {"target_bounds": (-1.0, 1.0)}
    yield _case("intervals, numbers", "interval", DPLinearRegression, numbers | inferred, numbers=True)
    yield _case("intervals, people", "interval", DPLogisticRegression, RANGE | inferred, people=True)


def people() -> Iterator[Case]:
    """Yield fits whose neighbouring tables differ in all records of one person."""
    yield _case("adaptive, people", "people", DPLogisticRegression, RANGE | SHORT, people=True)
    descent = GradientDescent(steps=4, clip=1.0, step=0.1)
    yield _case("gradient-descent, people", "people", DPLinearSVC, RANGE | {"solver": descent}, people=True)


def scores() -> Iterator[Case]:
    """Yield private scores of labels and of numbers, for records and for people."""
    promise = Gaussian.of(epsilon=EPSILON, delta=DELTA)
    to_people = replace(promise, person_id="groups")
    yield Case("scores of labels", "score", promise, _scored(numbers=False, people=False))
    yield Case("scores of numbers", "score", promise, _scored(numbers=True, people=False))
    yield Case("scores of labels, people", "score", to_people, _scored(numbers=False, people=True))


def _case(
    name: str,
    kind: Kind,
    model: Callable[..., Any],
    settings: dict[str, Any] | None = None,
    *,
    numbers: bool = False,
    people: bool = False,
    weight: float | None = None,
    blank: bool = False,
    control: float = 0.25,
    **how: Any,
) -> Case:
    settings = (PUBLIC if numbers else LABELS) | (settings or {})
    if people:
        settings = settings | {"rows_per_person": MOST_USED}
    promise = get_solver(settings.get("solver", "adaptive")).promise(epsilon=EPSILON, delta=DELTA)
    assert promise is not None
    promise = replace(promise, person_id="groups" if people else None)
    tables = partial(table, numbers=numbers, people=people, blank=blank)
    return Case(name, kind, promise, _fitted(model, settings, tables, weight), control=control, **how)


def table(present: bool, *, numbers: bool, people: bool, blank: bool) -> tuple[Vector, Any, Any]:
    """Return features, targets and ids of the other records and, if `present`, of the canary."""
    more = (VISITS if people else 1) * present
    signs = np.where(np.arange(OTHERS) % 2 == 0, 1.0, -1.0)
    X = np.append(0.0 * signs if blank else signs, np.ones(more))[:, None]
    targets = np.append(signs, np.full(more, -1.0))
    groups = np.minimum(np.arange(OTHERS + more), OTHERS) if people else None
    return X, targets if numbers else (targets > 0.0).astype(int), groups


def _fitted(
    model: Callable[..., Any],
    settings: dict[str, Any],
    tables: Callable[[bool], tuple[Vector, Any, Any]],
    weight: float | None,
) -> Release:
    def release(present: bool, noise: NoiseSource) -> Vector:
        X, y, groups = tables(present)
        weights = None if weight is None else np.append(np.full(OTHERS, 0.5), np.full(int(present), weight))
        fit = model(**settings)
        fit._noise_source = lambda: noise
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # warnings of weak promises, which are weak on purpose
            fit.fit(X, y, weights, groups=groups)
        return flat(fit.coef_, fit.intercept_)

    return release


def _scored(*, numbers: bool, people: bool) -> Release:
    from sklearn.linear_model import LinearRegression, LogisticRegression

    from privfit.metrics.examination import Examination

    public = LinearRegression() if numbers else LogisticRegression()
    public.coef_, public.intercept_, public.n_features_in_ = np.ones((1, 1)), np.zeros(1), 1
    if numbers:
        public.coef_, public.intercept_ = np.ones(1), 0.0
    else:
        public.classes_ = np.array([0, 1])
    bounds = (-1.0, 1.0) if numbers else None
    most = MOST_USED if people else None

    def release(present: bool, noise: NoiseSource) -> Vector:
        X, y, groups = table(present, numbers=numbers, people=people, blank=False)
        examination = Examination(EPSILON, DELTA, rows_per_person=most, target_bounds=bounds)
        examination._noise_source = lambda: noise  # type: ignore[method-assign]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = examination.of(public, X, y, None, groups)
        return flat([score.value for score in found.scores().values()])

    return release
