import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import njit

from privfit.engine.exact.bounds import column_clips, gradient_bound, loss_slack, moment_clips, rise_slack
from privfit.engine.exact.grids import MAX_RECORDS, grid, grids, magic, magics, odd

CLIPS = st.floats(1e-100, 1e100)


@given(clip=CLIPS)
def test_the_largest_sum_is_an_exact_number_of_steps(clip: float) -> None:
    step = grid(clip)
    assert math.frexp(step)[0] == 0.5, "a power of two"
    assert 2**20 * step < clip <= 2**21 * step
    assert Fraction(step) * 2**21 * MAX_RECORDS == Fraction(step) * 2**53


@given(clip=CLIPS, share=st.floats(-1, 1))
def test_magic_rounds_to_the_nearest_step(clip: float, share: float) -> None:
    value = share * clip
    rounded = (value + magic(clip)) - magic(clip)
    assert (Fraction(rounded) / Fraction(grid(clip))).denominator == 1
    assert abs(Fraction(rounded) - Fraction(value)) <= Fraction(grid(clip)) / 2


def test_powers_of_two_are_their_own_ceiling() -> None:
    assert grid(1.0) == 2.0**-21
    assert grid(math.nextafter(1.0, 2)) == 2.0**-20


def test_no_clip_means_no_rounding_and_no_bound() -> None:
    assert magic(math.inf) == 0
    assert gradient_bound(math.inf, 5) == math.inf
    assert loss_slack(math.inf) == math.inf


@pytest.mark.parametrize("clip", [0.0, -1.0, math.nan, 1e-101, 1e101])
def test_other_clips_are_refused(clip: float) -> None:
    with pytest.raises(ValueError, match="clip must be infinite or in"):
        grid(clip)


@given(clip=CLIPS, n_weights=st.integers(1, 10**6))
def test_bounds_are_little_more_than_the_clip(clip: float, n_weights: int) -> None:
    assert clip < gradient_bound(clip, n_weights) < clip * (1 + 1e-6 * math.sqrt(n_weights))
    assert 0 < loss_slack(clip) < 1e-4 * clip
    assert 0 < rise_slack(clip) < 2e-6 * clip


@given(clips=st.lists(CLIPS, max_size=5))
def test_columns_have_the_grids_of_their_clips(clips: list[float]) -> None:
    assert grids(np.array([*clips, math.inf])).tolist() == [*map(grid, clips), 0.0]
    assert magics(np.array([*clips, math.inf])).tolist() == [*map(magic, clips), 0.0]


SIZES = st.floats(-100, 100)
POSITIVE = st.floats(1e-3, 1e3)


@given(z=SIZES, center=SIZES, scale=POSITIVE, bias=POSITIVE, clip=POSITIVE)
def test_products_of_a_clipped_record_keep_within_their_columns_clips(
    z: float, center: float, scale: float, bias: float, clip: float
) -> None:
    coefficient = clip / math.hypot(z, bias)
    column, intercept = column_clips(clip, np.array([center]), np.array([scale]), bias)
    assert abs(coefficient * (center + z / scale)) <= column * (1 + 1e-12)
    assert coefficient <= intercept * (1 + 1e-12)


@given(z=SIZES, base=SIZES, radius=POSITIVE)
def test_shrunken_moments_keep_within_their_columns_clips(z: float, base: float, radius: float) -> None:
    f = min(1.0, radius / max(1e-300, abs(z)))
    assert abs(f * (z - base)) <= moment_clips(radius, np.array([base]))[0] * (1 + 1e-12)


@njit
def compiled_odd(number: float) -> float:
    return odd(number)


COEFFICIENTS = st.floats(-1e3, 1e3)
VALUES = st.one_of(
    st.floats(-1e6, 1e6), st.floats(-1e6, 1e6, width=32), st.sampled_from([1.0, 0.5, 3.0, 2.0**20])
)


@given(COEFFICIENTS, VALUES)
def test_products_with_odd_coefficients_are_never_ties(coefficient: float, value: float) -> None:
    made = odd(coefficient)
    product = Fraction(made) * Fraction(value)
    if not 2.0**-200 <= abs(product) <= 2.0**200:
        return
    for exponent in range(0, 24):  # all grids on which the product is at most 2**21 + 1 steps, and finer ones
        step = Fraction(2) ** (math.frexp(float(abs(product)))[1] - exponent)
        assert (product / step * 2).denominator != 1 or (product / step).denominator == 1


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_odd_numbers_are_next_to_what_they_were(number: float) -> None:
    made = odd(number)
    assert compiled_odd(number) == made
    if abs(number) < 2.0**-1000:
        assert made == 0.0
    else:
        assert math.copysign(1.0, made) == math.copysign(1.0, number)
        assert abs(number) <= abs(made) <= abs(number) * (1 + 2.0**-52)
        assert np.float64(made).view(np.int64) % 2 == 1
