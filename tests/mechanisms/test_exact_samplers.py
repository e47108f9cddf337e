"""The exact samplers return, digit by digit, what a transcription in rational arithmetic returns.

Digits are seeded, so nothing here depends on chance. Alphabets of few digits make equal digits frequent,
which decide nothing and which true digits show once in 2^32 comparisons. The same comparisons are then made
with programs that are wrong in one place each, and notice every one of them.
"""

import math
from fractions import Fraction

import numpy as np
import pytest
import rational
from mutants import mutant
from numba import njit

from privfit.mechanisms.exact import definition, gaussian, kernels, selection
from privfit.mechanisms.exact.digits import BASE, MOST_DIGITS, Digits
from privfit.mechanisms.exact.gaussian import add_gaussian
from privfit.mechanisms.exact.selection import _bounds, exponential_mechanism
from privfit.mechanisms.exact.uniform import poisson_rows

HALF = BASE // 2
ALPHABETS = {
    "all": None,
    "few": np.arange(16) * (BASE // 16) + 5,
    "ends": [0, 1, HALF - 1, HALF, BASE - 2, BASE - 1],
}
# a standard normal number that is rejected, so that the next one is tried: k = 0, x nearly 1, one descent
REJECTED = [1, 2, BASE - 1, 5, 0, 3, 6]


def drawn(seed, alphabet="all", size=MOST_DIGITS):
    rng, letters = np.random.default_rng(seed), ALPHABETS[alphabet]
    digits = rng.integers(BASE, size=size)
    if letters is not None:  # half of them, because some numbers need a digit that is not among few
        digits = np.where(rng.random(size) < 0.5, digits, rng.choice(letters, size=size))
    return digits.astype(np.uint32)


def reading(*arrays):
    """Return Digits that hold these arrays, one after the other, and no more."""
    arrays = list(arrays)

    def fill(array):
        array[:] = arrays.pop(0)

    return Digits(arrays[0].size, fill)


def values_of_all_sizes(rng, size, sigma):
    """Return values from far below the grid of sigma to far above sigma, some of them on the grid."""
    values = sigma * rng.normal(size=size) * 10.0 ** rng.integers(-25, 25, size=size)
    values[::7] = sigma * rng.integers(-50, 50, size=values[::7].size)
    values[::11] = rng.choice([0.0, -0.0, 5e-324, -5e-324, 1e300, -1e300], size=values[::11].size)
    return values


def blurs_as_the_transcription(blur, digits, values, sigma):
    stream = rational.Stream(digits)
    expected = [rational.blurred(stream, value, sigma) for value in values]
    got = blur(values, sigma, reading(digits))
    return got.tolist() == [number.numerator / number.denominator for number in expected]


# -- Gaussian noise ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("sigma", [1.0, math.pi, 1e-9, 0.75e12, 2.0**-880 / 3.0, 1e270])
@pytest.mark.parametrize("alphabet", ALPHABETS)
def test_blurred_values_are_those_of_the_transcription(alphabet, sigma):
    values = values_of_all_sizes(np.random.default_rng(1), 200, sigma)
    assert blurs_as_the_transcription(add_gaussian, drawn(2, alphabet), values, sigma)


@pytest.mark.parametrize("sigma", [5e-324, 3e-310, 2.0**-1000, 1e300, 1.7e308])
def test_scales_at_the_ends_of_float64_are_served_as_well(sigma):
    rng = np.random.default_rng(3)
    values = np.minimum(sigma, 1e290) * rng.normal(size=60)
    values[:3] = 0.0, 5e-324, -1e-308
    stream, limit = rational.Stream(drawn(4)), Fraction(np.finfo(float).max)
    expected = [rational.blurred(stream, value, sigma) for value in values]
    got = add_gaussian(values, sigma, reading(drawn(4)))
    assert np.isfinite(got).all()
    assert got.tolist() == [float(max(-limit, min(limit, number))) for number in expected]
    assert len(set(got)) > 5


def test_compiled_loops_leave_little_to_the_definition(monkeypatch):
    left = []
    exact = gaussian.rounded_normal
    monkeypatch.setattr(gaussian, "rounded_normal", lambda *args: left.append(args) or exact(*args))
    rng = np.random.default_rng(5)
    arrays = [drawn(seed) for seed in range(60)]
    add_gaussian(rng.normal(size=200_000), 1.7, reading(*arrays))
    assert 1 <= len(left) <= 40, "3 in 65,536 are expected: 9 of 200,000"


def close_call(third):
    """Return digits for k = 1 and x = 2^-8 + 2^-40 - 2^-64 + ..., just below half a grid step of 2^-39."""
    accepted = [HALF, 1, 2, 1 << 24, BASE - 1, BASE - 1, 0]
    return np.array([*accepted, (1 << 24) - 1, third, *[3] * 1015], dtype=np.uint32)


def test_the_digit_that_decides_the_rounding_is_read():
    # the value 2^-89 lifts 1 + x over the half if the third digit is among the last 2^7
    for third, beyond in ((0, 0), (BASE - 130, 0), (BASE - 128, 1), (BASE - 1, 1)):
        (got,) = add_gaussian(np.array([2.0**-89]), 1.0, reading(close_call(third)))
        assert got == 1.0 + 2.0**-8 + beyond * 2.0**-39


def test_a_number_that_runs_past_the_digits_is_continued_with_the_next():
    for seed in range(100):
        first, second = drawn([6, seed], size=1024), drawn([7, seed], size=1024)
        first[1024 - 320 :] = np.resize(REJECTED, 320)
        stream = rational.Stream(np.concatenate([first, second]))
        expected, begun = [], []
        while stream.position < 1024:
            begun.append(stream.position)
            expected.append(float(rational.blurred(stream, 0.0, 1.0)))
        if 1024 - 320 - 100 < begun[-1] <= 1024 - 256:
            break  # the last number starts in time and ends late
    assert 1024 - 320 - 100 < begun[-1] <= 1024 - 256
    assert add_gaussian(np.zeros(len(expected)), 1.0, reading(first, second)).tolist() == expected


def test_a_number_is_not_begun_with_few_digits_left():
    first, second = drawn(8, size=512), drawn(9, size=512)
    stream, expected = rational.Stream(first), []
    while stream.position <= 256:
        expected.append(float(rational.blurred(stream, 0.0, 1.0)))
    stream = rational.Stream(second)
    expected += [float(rational.blurred(stream, 0.0, 1.0)) for _ in range(5)]
    assert add_gaussian(np.zeros(len(expected)), 1.0, reading(first, second)).tolist() == expected


def test_parts_of_a_value_are_its_whole_steps_and_sixteen_bits():
    rng, parts = np.random.default_rng(10), njit(kernels.parts)
    for grid in (-1074, -900, -39, 0, 5, 800):
        values = np.ldexp(rng.normal(size=300), np.clip(grid + rng.integers(-90, 70, size=300), -1080, 1000))
        for value in (*values, 0.0, -0.0, 5e-324, -5e-324):
            exact, whole, fraction = parts(int(np.float64(value).view(np.int64)), grid)
            units = Fraction(value) / Fraction(2) ** grid
            if exact:
                assert units.denominator == 1
            else:
                assert whole * 2**16 + fraction == math.floor(units * 2**16)
                assert 0 <= fraction < 2**16


def test_the_size_of_the_noise_is_known_within_two_units():
    rng, steps = np.random.default_rng(11), njit(kernels.steps)
    largest = (2**53 - 1, kernels.MOST_WHOLE, BASE - 1, BASE - 1)
    drawn_at_random = zip(
        rng.integers(2**52, 2**53, 500),
        rng.integers(15, size=500),
        *rng.integers(BASE, size=(2, 500)),
        strict=True,
    )
    for mantissa, k, x, x_next in (largest, (2**52, 0, 0, 0), *drawn_at_random):
        low = Fraction(int(x) * BASE + int(x_next), BASE**2)
        unit = Fraction(int(mantissa), 2**13) * 2**16
        size = steps(int(mantissa), int(k), int(x), int(x_next))
        assert size <= unit * (int(k) + low)
        assert unit * (int(k) + low + Fraction(1, BASE**2)) < size + 2


# -- selection ---------------------------------------------------------------------------------------------


def chooses_as_the_transcription(choose, digits, scores, scale, times):
    stream, source = rational.Stream(digits), reading(digits)
    halves = _bounds(scores, scores.max(), scale)[0]
    got = [choose(scores, scale, source) for _ in range(times)]
    return got == [rational.chosen(stream, scores, scale, halves) for _ in range(times)]


@pytest.mark.parametrize("scale", [1.0, 0.3, 7e4, 1e-3])
@pytest.mark.parametrize("alphabet", ALPHABETS)
def test_chosen_candidates_are_those_of_the_transcription(monkeypatch, alphabet, scale):
    monkeypatch.setattr(Digits, "__exit__", lambda *_: None)  # the next call reads on
    rng = np.random.default_rng(12)
    for scores in (rng.normal(size=21), np.arange(7.0) / 2.0, np.zeros(3), np.array([0.0, -1e308, 1e-320])):
        assert chooses_as_the_transcription(exponential_mechanism, drawn(13, alphabet), scores, scale, 60)


def test_bounds_enclose_what_is_left_of_every_exponent():
    rng = np.random.default_rng(14)
    for scale in (1.0, 1e-300, 1e300, 5e-324, 0.1, 3e-12):
        scores = np.concatenate(
            [
                rng.normal(size=200) * 10.0 ** rng.integers(-320, 307, size=200),
                scale * rng.normal(size=200) * 10.0 ** rng.integers(-12, 3, size=200),
                scale * np.arange(40) / 4.0,
            ]
        )
        halves, low, high = _bounds(scores, scores.max(), scale)
        for score, coins, least, most in np.stack([scores, halves, low, high], axis=1).tolist():
            gamma = (Fraction(scores.max()) - Fraction(score)) / Fraction(scale)
            rest = (gamma - Fraction(int(coins), 2)) * BASE  # in units of a digit
            assert rest >= 0
            if coins < 2**20:
                assert least <= rest <= min(most, BASE)
                assert most - least <= 3
            else:
                assert (least, most) == (0, BASE + 1), "nothing is decided"


def test_candidates_beyond_the_compiled_loop_are_those_of_the_transcription(monkeypatch):
    monkeypatch.setattr(Digits, "__exit__", lambda *_: None)
    monkeypatch.setattr(selection, "_MOST_HALVES", 2.0)
    scores = np.array([0.0, -1.1, -2.6, -3.0])
    assert _bounds(scores, 0.0, 1.0)[0].tolist() == [0, 2, 2, 2]
    assert chooses_as_the_transcription(exponential_mechanism, drawn(16), scores, 1.0, 1_000)


# -- Poisson coins -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("probability", [0.0, 5e-324, 1e-12, 0.1, 0.5, 0.5 + 2.0**-40, 1.0 - 2.0**-53, 1.0])
@pytest.mark.parametrize("alphabet", ALPHABETS)
def test_coins_are_compared_with_the_probability_to_its_last_digit(alphabet, probability):
    digits = drawn(15, alphabet, size=4096)
    whole = math.floor(Fraction(probability) * BASE)
    digits[:2000:5] = min(whole, BASE - 1)  # the first digit of the probability, which decides nothing
    stream = rational.Stream(digits)
    coins, bound = [stream.read() for _ in range(2000)], Fraction(probability)
    expected = []
    for row, coin in enumerate(coins):
        u = Fraction(coin, BASE)
        width = Fraction(1, BASE)
        while u < bound < u + width:
            width /= BASE
            u += stream.read() * width
        expected += [row] if u < bound else []
    assert poisson_rows(2000, probability, reading(digits)).tolist() == expected


# -- programs that are wrong in one place ------------------------------------------------------------------

MUTANTS = {
    "kernels": {
        "descents that are counted upwards": (
            "if u >= low:\n            return (verdict if u >= high else TIE)",
            "if u < low:\n            return verdict",
        ),
        "nothing decided": ("if u >= low:", "if u <= low:"),
        "ties taken for descents": ("(verdict if u >= high else TIE), at", "verdict, at"),
        "an odd number of descents accepted": ("HEADS - verdict", "verdict"),
        "k off by one": ("k = 0\n        verdict", "k = 1\n        verdict"),
        "k accepted too often": ("k * (k - 1)", "k * (k - 1) // 2"),
        "k coins for x too few": ("for _ in range(k):", "for _ in range(k - 1):"),
        "x^2 instead of x^2 / 2": ("if read(array, at) & 1:", "if False:"),
        "the digit of a descent read again": ("v = read(array, at + 1)", "v = u"),
        "a digit of one number read for the next": ("done + 1, end\n", "done + 1, end - 1\n"),
        "the sign taken from x": ("negative = read(array, end) & 1", "negative = x & 1"),
        "the sign read again as a digit of x": ("x, read(array, end + 1))", "x, read(array, end))"),
        "rounding toward zero": ("(1 << 15) + (-size", "(-size"),
        "undecided roundings decided": ("nearest != (low + 2) >> 16 or end > array.size", "end > array.size"),
        "the fraction of the value forgotten": ("low = fraction + ", "low = 0 + "),
        "values taken for points of the grid": ("shift <= 0", "shift <= 20"),
    },
    "definition": {
        "descents that are counted upwards": ("(i) < bound.digit", "(i) > bound.digit"),
        "ties decided at once": ("while self.digit(i) == bound.digit(i):", "while False:"),
        "a bound's further digits ignored": ("or rest == 0:", "or True:"),
        "an odd number of descents accepted": ("return even\n", "return not even\n"),
        "k off by one": ("k += 1", "k += 2"),
        "k accepted too often": ("range(k * (k - 1))", "range(k)"),
        "x^2 instead of x^2 / 2": ("digits.next() % 2 == 0 and ", ""),
        "rounding toward zero": (" + HALF) for end", ") for end"),
        "the sign always positive": ("1 - 2 * (digits.next() % 2)", "1"),
        "further digits not read": ("if low == high:", "if True:"),
    },
}


class Finite:
    """An array of digits that a loop cannot read for ever."""

    def __init__(self, digits):
        self.digits, self.size, self.reads = digits, digits.size, 0

    def __getitem__(self, i):
        self.reads += 1
        if self.reads > 20 * self.size:
            raise IndexError
        return self.digits[i]


def loops_blur_as_the_transcription(names, seed):
    """Compare what loops alone draw: they stop where they leave a number to the definition."""
    alphabet = ["all", "few"][seed % 2]
    digits, sigma = drawn(seed, alphabet, size=1 << 13), math.pi
    values = np.concatenate([[1e9, -1e9, 1e-9, -1e-9], np.random.default_rng(seed).normal(size=296)])
    stream, out = rational.Stream(digits), np.empty(300)
    mantissa, grid = int(sigma * 2.0**51), 2 - 40
    done, at, array, stops = 0, 0, Finite(digits), 0
    while done < 300:
        stopped, at = names["add_normals"](array, at, values, out, done, mantissa, grid, 2.0**grid)
        expected = [float(rational.blurred(stream, value, sigma)) for value in values[done:stopped]]
        if out[done:stopped].tolist() != expected or stream.position != at:
            return False
        if stopped < 300:
            rational.blurred(stream, values[stopped], sigma)
            stops += 1
        done, at = stopped + 1, stream.position
    decided, _ = names["add_normals"](close_call(0), 0, np.zeros(1), out, 0, 2**52, 1 - 40, 2.0**-39)
    return decided == 0 and (alphabet != "all" or stops <= 1)


def definition_draws_as_the_transcription(names, seed):
    """Compare numbers that need three digits, and a coin whose probability has two."""
    digits = drawn(seed, "few", size=1 << 14)
    stream, source = rational.Stream(digits), reading(digits)
    centre, sigma = Fraction(1, 3), Fraction(7, 2) * 2**60
    gamma = Fraction(2 * int(ALPHABETS["few"][7]) + 1, 2 * BASE)
    for _ in range(100):
        coin = names["accepts"](source, gamma, 0)
        if coin != (rational.descents(stream, gamma) % 2 == 0):
            return False
        if names["rounded_normal"](source, centre, sigma) != rational.nearest(stream, centre, sigma):
            return False
    return source.position == stream.position


COMPARISONS = {
    "kernels": (kernels, loops_blur_as_the_transcription),
    "definition": (definition, definition_draws_as_the_transcription),
}


@pytest.mark.parametrize("module", COMPARISONS)
def test_the_right_program_passes_the_comparison(module):
    program, same = COMPARISONS[module]
    assert all(same(mutant(program, "HALF", "HALF"), seed) for seed in range(6))


@pytest.mark.parametrize(
    ("module", "fault"), [(module, fault) for module, faults in MUTANTS.items() for fault in faults]
)
def test_a_wrong_program_fails_the_comparison(module, fault):
    program, same = COMPARISONS[module]
    names = mutant(program, *MUTANTS[module][fault])
    try:
        passed = all(same(names, seed) for seed in range(6))
    except IndexError:  # it reads on and on
        passed = False
    assert not passed
