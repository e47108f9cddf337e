"""Growth of times with records, columns, density, classes and cores, and of memory with sparse columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from threadpoolctl import threadpool_limits

from performance import passes, tables
from performance.fits import beside_sklearn, model
from performance.measuring import Peak, best
from privfit.engine.parallel.threads import one_thread

RECORDS = (10_000, 30_000, 100_000, 300_000, 1_000_000, 5_000_000)
COLUMNS = (10, 30, 100, 300, 1_000, 2_000)
DENSITIES = (0.005, 0.01, 0.03, 0.1, 0.3)
CLASSES = (2, 3, 5, 10, 20)
CORES = (1, 2)
SPARSE_COLUMNS = (10_000, 100_000, 1_000_000)
ENTRIES = 60  # entries in a row

Case = Callable[[], dict[str, float]]


def pass_and_fit(X: Any, y: Any) -> dict[str, float]:
    """Return the times of a pass, of whole fits, and of scikit-learn's fits."""
    few = X.shape[0] * X.shape[1] > 30_000_000
    (seconds,) = best(3 if few else 6, passes.gradient_pass(X, y))
    return {"one pass, ms": 1e3 * seconds} | beside_sklearn(X, y, 2 if few else 4)


def of_classes(count: int) -> dict[str, float]:
    X, y = tables.classes(200_000, 50, count)
    private, plain = model(len(y)), LogisticRegression()
    private.fit(X, y)  # compiles
    ours, theirs = best(2, lambda: private.fit(X, y), lambda: plain.fit(X, y))
    return {"privfit, s": ours, "scikit-learn, s": theirs, "privfit, steps": private.n_iter_}


def of_cores(count: int) -> dict[str, float]:
    X, y = tables.dense(500_000, 120)
    if count > 1:
        return pass_and_fit(X, y)
    with one_thread(), threadpool_limits(1):
        return pass_and_fit(X, y)


def of_sparse_columns(count: int) -> dict[str, float]:
    """Return times, and the memory of a fit in addition to that of its table."""
    X, y = tables.sparse(100_000, count, ENTRIES / count)
    private, plain = model(len(y)), LogisticRegression()
    model(5000).fit(X[:5000], y[:5000])  # compiles
    (seconds,) = best(3, passes.gradient_pass(X, y))
    before = Peak().now()
    with Peak() as memory:
        (ours,) = best(1, lambda: private.fit(X, y))
    plain.fit(X, y)
    losses = [log_loss(y, each.predict_proba(X)) for each in (private, plain)]
    return {
        "one pass, ms": 1e3 * seconds,
        "privfit, s": ours,
        "privfit, steps": private.n_iter_,
        "memory, MB": (memory.bytes - before) / 1e6,
        "table, MB": (X.data.nbytes + X.indices.nbytes) / 1e6,
        "privfit, log loss": losses[0],
        "scikit-learn, log loss": losses[1],
    }


def _cases(values: tuple[Any, ...], measure: Callable[[Any], dict[str, float]]) -> dict[str, Case]:
    return {f"{value:,}": lambda value=value: measure(value) for value in values}


RECORD_CASES = _cases(RECORDS, lambda n: pass_and_fit(*tables.dense(n, 40)))
COLUMN_CASES = _cases(COLUMNS, lambda p: pass_and_fit(*tables.dense(100_000, p)))
DENSITY_CASES = _cases(DENSITIES, lambda share: pass_and_fit(*tables.sparse(100_000, 1_000, share)))
CLASS_CASES = _cases(CLASSES, of_classes)
CORE_CASES = _cases(CORES, of_cores)
SPARSE_COLUMN_CASES = _cases(SPARSE_COLUMNS, of_sparse_columns)
