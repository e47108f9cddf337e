"""Every guarantee of an engine, for subnormal, tiny, huge and overflowing values and many columns.

Norms are checked in extended precision, whose exponents have no such limits.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import example, given, settings
from hypothesis import strategies as st

from privfit.engine.exact.bounds import loss_slack, norms, rise_bound, rise_slack
from privfit.engine.problem import Problem
from privfit.estimators.preparation import row_norms
from privfit.losses import Loss
from privfit.losses.arithmetic import compilable
from privfit.losses.hinge import HINGE
from privfit.losses.logistic import LOGISTIC
from privfit.questions import CurveNorms, HessianAt, Histograms, Magnitudes, Moments, Norms, SecondMoments

LAYOUTS: dict[str, Callable[[np.ndarray], Any]] = {
    "dense_f64": np.ascontiguousarray,
    "dense_by_column": np.asfortranarray,
    "dense_f32": lambda X: in_single(X),
    "csr_f64": sp.csr_array,
    "csr_f32": lambda X: sp.csr_array(in_single(X)),
}


def in_single(X: np.ndarray) -> np.ndarray:
    """Return the values in float32, the largest of them in place of what it cannot hold."""
    largest = np.finfo(np.float32).max
    return np.clip(X, -largest, largest).astype(np.float32)


layouts = pytest.mark.parametrize(
    "arrange",
    [
        pytest.param(arrange, id=name, marks=() if name.endswith("f64") else pytest.mark.slow)
        for name, arrange in LAYOUTS.items()
    ],
)

# Where float64 and float32 begin and end, and where their squares do.
SIZES = st.one_of(
    st.sampled_from([5e-324, 1e-310, 1.1e-162, 1.57e-162, 2.7e-162, 1e-160, 1e-154, 1e-150, 1e-100]),
    st.sampled_from([1.4e-45, 1e-38, 1e-23, 1e-19, 1.0, 1e19, 3.4e38, 1e100, 1.3e154, 1e160, 1.7e308]),
    st.floats(-330, 308).map(lambda exponent: 10.0**exponent),
)
AUDIT = [1.55e-162, 2.7e-162]  # squares of the one vanish, of the other they do not


@st.composite
def records(draw: st.DrawFn, p: int) -> np.ndarray:
    """Draw a row of p values of a few sizes."""
    sizes = draw(st.lists(SIZES, min_size=1, max_size=3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    row = rng.choice(sizes, p) * rng.choice([-1.0, 1.0], p) * rng.choice([1.0, 0.9, 0.5], p)
    row[rng.random(p) < draw(st.sampled_from([0.0, 0.5, 0.99]))] = 0.0
    return row


def long_norms(X: Any) -> np.ndarray:
    """Return the norms of the rows in extended precision."""
    X = np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.longdouble)
    return np.asarray(np.sqrt((X * X).sum(axis=1)))


def audited(p: int) -> np.ndarray:
    row = np.full(p, AUDIT[0])
    row[0] = AUDIT[1]
    return row


COLUMNS = st.sampled_from([1, 3, 9, 123, 1003])


@settings(max_examples=50, deadline=None)
@given(
    rows=COLUMNS.flatmap(lambda p: st.lists(records(p), min_size=1, max_size=4)),
    intercept=st.booleans(),
    shrink_only=st.booleans(),
    radius=st.sampled_from([1.0, 3.0, 1e-20, 1e20, 2.0**-100, 2.0**100]),
)
@example(rows=[audited(123)], intercept=False, shrink_only=False, radius=1.0)
@example(rows=[audited(1003)], intercept=False, shrink_only=False, radius=1.0)
@layouts
def test_no_scaled_row_is_longer_than_the_radius(
    arrange: Any, rows: list[np.ndarray], intercept: bool, shrink_only: bool, radius: float
) -> None:
    X = arrange(np.array(rows))
    engine = Problem.of(X, np.ones(len(rows)), HINGE, intercept=intercept)
    scaled = engine.with_rows_of(radius, shrink_only=shrink_only).table.layout.take(slice(None))
    lengths = long_norms(scaled)
    assert np.all(lengths <= radius * (1 + 2.0**-20))
    before = np.hypot(long_norms(X), float(intercept))
    ordinary = (before > 1e-150) & (before < 1e150)
    expected = np.minimum(before, radius) if shrink_only else radius
    np.testing.assert_allclose(
        lengths[ordinary].astype(float),
        np.broadcast_to(expected, before.shape)[ordinary].astype(float),
        rtol=1e-6,
    )
    assert np.all(lengths[long_norms(X) > 1.4e154] == 0), "too long to be squared"


@pytest.mark.parametrize("radius", [0.0, -1.0, 2.0**-101, 2.0**101, math.inf, math.nan])
def test_rows_of_an_extreme_radius_are_refused(radius: float) -> None:
    with pytest.raises(ValueError, match="radius must be in"):
        Problem.of(np.eye(2), [1, -1], HINGE).with_rows_of(radius)


@settings(max_examples=50, deadline=None)
@given(row=COLUMNS.flatmap(records), intercept=st.booleans())
@example(row=audited(123), intercept=False)
@layouts
def test_norms_are_never_too_small_and_those_of_predictions_are_the_same(
    arrange: Any, row: np.ndarray, intercept: bool
) -> None:
    X = arrange(row[None, :])
    p = len(row)
    engine = Problem.of(X, [1], HINGE, intercept=intercept)
    exact = np.hypot(long_norms(X)[0], float(intercept))
    (computed,), (predicted,) = engine.table.norms, row_norms(X, intercept)
    for norm in (computed, predicted):
        assert norm >= exact * (1 - 2.0**-40)
        assert norm == math.inf or norm <= exact * (1 + 2.0**-40) + 3e-162 * math.sqrt(p)
    if math.isfinite(computed):
        assert abs(computed - predicted) <= 2.0**-40 * exact + 3e-162 * math.sqrt(p)


@compilable
def steep_value(prediction: float, target: float) -> float:
    """Fall by 1e250 per unit of margin."""
    return 1e250 * max(1.0 - target * prediction, 0.0)


@compilable
def steep_derivative(prediction: float, target: float) -> float:
    """Return the slope, which no clip of a typical size lets through."""
    return -1e250 * target if target * prediction < 1.0 else 0.0


STEEP = Loss("steep", steep_value, steep_derivative, lipschitz=1e250, smoothness=math.inf)


def sums(X: Any, y: np.ndarray, loss: Loss, intercept: bool, clip: float, seed: int) -> dict[str, Any]:
    """Return everything that an engine sums, as is and through a view."""
    n_columns = X.shape[1]
    rng = np.random.default_rng(seed)
    raw = Problem.of(X, y, loss, intercept=intercept)
    center = rng.standard_normal(n_columns) * intercept
    views = [raw, raw.transformed(center, 10.0 ** rng.integers(-5, 5, n_columns), 0.4)]
    edges, folds = np.geomspace(1e3, 1e-3, 7), np.arange(n_columns) % 2.0
    found: dict[str, Any] = {
        "histograms": Histograms(np.tile([-1.0, 0.0, 1e-300, 1.0], (n_columns, 1))).counts(raw.table)
    }
    found["magnitudes"] = Magnitudes().sums(raw.table), Magnitudes().bound(raw.table)
    for name, engine in zip(("raw", "view"), views, strict=True):
        point = engine.at(rng.standard_normal(engine.n_weights))
        line = point.along(rng.standard_normal(engine.n_weights))
        moved = line.move(0.3)
        one_pass = engine.gradient_at(point.w, clip)
        np.testing.assert_array_equal(one_pass, point.gradient_sum(clip))
        bound = engine.gradient_bound(clip)
        found |= {
            f"{name} gradient": (one_pass, bound),
            f"{name} gradient there": (moved.gradient_sum(clip), bound),
            f"{name} losses": line.loss_sums(0.1, 4, clip),
            f"{name} loss": point.loss_sum(clip),
            f"{name} rises": line.rise_sums(0.1, 4, clip) if loss.lipschitz < 1e100 else None,
            f"{name} norms": Norms(edges).counts(engine.table),
            f"{name} curve norms": CurveNorms(edges, folds).counts(engine.table),
        }
        for question in (SecondMoments(clip), HessianAt(point.w, clip)):
            products = question.bounded(engine)
            found[f"{name} {question.what}"] = products.look(), products.sensitivity
        moments, bounds = (
            Moments(clip, 0.4 * clip, folds).sums(engine.table),
            Moments(clip, 0.4 * clip, folds).bounds(engine.table),
        )
        found |= {f"{name} moments {k}": (moments[k], bounds[k]) for k in (0, 1)}
    return found


@settings(max_examples=25, deadline=None)
@given(
    rows=st.sampled_from([1, 9, 123, 1003]).flatmap(lambda p: st.lists(records(p), min_size=1, max_size=4)),
    intercept=st.booleans(),
    loss=st.sampled_from([LOGISTIC, HINGE, STEEP]),
    clip=st.sampled_from([1e-90, 1e-3, 1.0, 1e5]),
    seed=st.integers(0, 2**32),
)
@example(rows=[audited(123)], intercept=False, loss=STEEP, clip=1e-3, seed=0)
@example(rows=[audited(1003)], intercept=False, loss=STEEP, clip=1.0, seed=0)
@layouts
def test_one_record_moves_every_sum_within_its_bound(
    arrange: Any, rows: list[np.ndarray], intercept: bool, loss: Loss, clip: float, seed: int
) -> None:
    X, y = arrange(np.array(rows)), np.where(np.arange(len(rows)) % 2, 1.0, -1.0)
    more, fewer = (sums(X[:n], y[:n], loss, intercept, clip, seed) for n in (len(rows), len(rows) - 1))
    for name, after in more.items():
        before = fewer[name]
        if isinstance(after, tuple):
            assert np.linalg.norm((after[0] - before[0]).ravel()) <= after[1], name
        elif "norms" in name:
            assert sorted(after - before)[-2:] == [0, 1], name
            assert np.all(after >= before), name
        elif name == "histograms":
            assert np.all(np.sort(after - before, axis=1) == [0, 0, 0, 0, 1])
        elif "loss" in name:
            tau = loss_slack(clip)
            assert np.all((after - before >= -tau) & (after - before <= clip + tau)), name
        elif after is not None:
            bound = rise_bound(loss.lipschitz, 0.1, 4, clip)
            tau = rise_slack(bound)
            assert np.all((after - before >= -tau) & (after - before <= bound + tau)), name


def test_without_what_underflow_takes_norms_would_be_too_small() -> None:
    """The tests above are about something."""
    row = audited(123)
    squares = np.array([np.sum(row * row)])
    exact = long_norms(row[None, :])[0]
    assert exact > 5 * np.sqrt(squares[0])
    assert norms(squares, 123)[0] >= exact
