from fractions import Fraction
from math import log

import numpy as np

from privfit.engine.kernels.ladder import LOG_ROOM, ROWS_SIDE_BY_SIDE, add_logarithms, softplus_sums


def test_logarithms_are_added_without_losing_their_low_bits() -> None:
    out = np.array([[2.0**60, 0.0], [0.0, 0.0]])
    exact = Fraction(2**60)
    for number in range(1, 2000):
        products = np.ones((2, ROWS_SIDE_BY_SIDE))
        products[:, 3] = 1 + 1 / number
        add_logarithms(products, out)
        exact += Fraction(log(1 + 1 / number))
        assert np.all(products == 1)
    assert abs(Fraction(out[0, 0]) + Fraction(out[1, 0]) - exact) < 1e-12
    assert out[0, 1] + out[1, 1] == np.float64(exact - 2**60)


def test_full_products_do_not_overflow() -> None:
    for clip in (2.0**-5, 1.0, 64.0, LOG_ROOM):
        n = ROWS_SIDE_BY_SIDE * (int(LOG_ROOM / clip) + 3)
        out = np.zeros((2, 1))
        softplus_sums(np.full(n, -1e3), np.zeros(n), np.ones(n), 0.0, clip, out)
        np.testing.assert_allclose(out.sum(), n * clip, rtol=1e-14)
