"""Eight numbers side by side do what is said of them, and rows end where they end."""

import numpy as np
import pytest

from privfit.engine.kernels import dense, lanes
from privfit.engine.kernels.compiling import compiled
from privfit.engine.kernels.lanes import LANES


@compiled()
def arithmetic(a: np.ndarray, b: np.ndarray, c: np.ndarray, out: np.ndarray) -> float:
    x, y, z = lanes.read(a, 0), lanes.read(b, 0), lanes.read(c, 0)
    lanes.write(out[0], 0, lanes.add(x, y))
    lanes.write(out[1], 0, lanes.subtract(x, y))
    lanes.write(out[2], 0, lanes.multiply(x, y))
    lanes.write(out[3], 0, lanes.fma(x, y, z))
    lanes.write(out[4], 0, lanes.alike(a[3]))
    return lanes.total(x)


def test_arithmetic_is_that_of_single_numbers() -> None:
    a, b, c = np.random.default_rng(0).standard_normal((3, LANES))
    out = np.empty((5, LANES))
    total = arithmetic(a, b, c, out)
    np.testing.assert_array_equal(out[0], a + b)
    np.testing.assert_array_equal(out[1], a - b)
    np.testing.assert_array_equal(out[2], a * b)
    np.testing.assert_array_equal(out[4], np.full(LANES, a[3]))
    four = a[:4] + a[4:]
    two = four[:2] + four[2:]
    assert total == two[0] + two[1]


def test_multiplying_and_adding_rounds_once() -> None:
    tiny = 2.0**-30
    a, c = np.full(LANES, 1.0 + tiny), np.full(LANES, -1.0 - 2.0 * tiny)
    out = np.empty((5, LANES))
    arithmetic(a, a, c, out)
    np.testing.assert_array_equal(out[3], np.full(LANES, tiny**2))
    assert np.all(a * a + c == 0.0), "rounded twice, nothing would be left"


@compiled()
def row(X: np.ndarray, i: int, j: int, count: int, out: np.ndarray) -> None:
    lanes.write(out, 0, lanes.entries(X, i, j) if count == LANES else lanes.last_entries(X, i, j, count))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("count", range(1, LANES + 1))
def test_entries_are_widened_and_followed_by_zeros(dtype: type, count: int) -> None:
    X = np.random.default_rng(0).standard_normal((3, 5 + count)).astype(dtype)
    X[2] = np.nan  # the row behind is not looked at
    out = np.empty(LANES)
    row(X, 1, 5, count, out)
    np.testing.assert_array_equal(out[:count], X[1, 5:])
    np.testing.assert_array_equal(out[count:], np.zeros(LANES - count))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("p", [1, 7, 8, 9, 16, 105])
def test_rows_end_where_they_end(p: int, dtype: type) -> None:
    """Neighbouring rows of NaN change neither predictions nor sums of squares."""
    rng = np.random.default_rng(p)
    X = rng.standard_normal((9, p)).astype(dtype)
    X[1::2] = np.nan
    w, out = rng.standard_normal(p), np.empty(9)
    dense.dense_predictions(X, dense.padded(w), 0.5, out)
    np.testing.assert_allclose(out[::2], X[::2].astype(np.float64) @ w + 0.5, rtol=1e-12)
    dense.dense_squares(X, np.full(p, 0.1), np.full(p, 3.0), np.empty(0), out)
    np.testing.assert_allclose(
        out[::2], ((3 * (X[::2].astype(np.float64) - 0.1)) ** 2).sum(axis=1), rtol=1e-12
    )
