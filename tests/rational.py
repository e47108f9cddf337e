"""The samplers again, in rational arithmetic and nothing else: numbers are intervals that digits narrow.

It follows the statements N1 to N4 of docs/privacy.md and shares no line with the package. Reading the same
digits, the package must return the same.
"""

from fractions import Fraction
from math import ceil, floor

BASE = 2**32


class Stream:
    """Digits from a list, read one after the other."""

    def __init__(self, digits):
        self.digits, self.position = [int(digit) for digit in digits], 0

    def read(self):
        self.position += 1
        return self.digits[self.position - 1]


class Unknown:
    """A number between low and low + width, of which more can be learnt."""

    def __init__(self, stream):
        self.stream, self.low, self.width = stream, Fraction(0), Fraction(1)
        self.learn()

    def learn(self):
        self.width /= BASE
        self.low += self.stream.read() * self.width

    @property
    def high(self):
        return self.low + self.width


def is_less(u, bound):
    """Narrow the wider of the two until they are apart; a Fraction cannot be narrowed."""
    while True:
        low, high, width = (
            (bound, bound, 0) if isinstance(bound, Fraction) else (bound.low, bound.high, bound.width)
        )
        if u.high <= low:
            return True
        if u.low >= high:
            return False
        (u if u.width >= width else bound).learn()


def descents(stream, bound):
    """Return how many numbers in a row are each below the one before, the first below the bound."""
    count, u = 0, Unknown(stream)
    while is_less(u, bound):
        count, bound, u = count + 1, u, Unknown(stream)
    return count


def square_descents(stream, x):
    """Return the same, where every descent must also be confirmed with probability x / 2."""
    count, bound = 0, x
    while True:
        u = Unknown(stream)
        if not is_less(u, bound) or stream.read() % 2 == 1 or not is_less(Unknown(stream), x):
            return count
        count, bound = count + 1, u


def heads(stream, count):
    return all(descents(stream, Fraction(1, 2)) % 2 == 0 for _ in range(count))


def normal(stream):
    while True:
        k = 0
        while heads(stream, 1):
            k += 1
        if heads(stream, k * (k - 1)):
            x = Unknown(stream)
            for _ in range(k):
                if descents(stream, x) % 2 == 1:
                    break
            else:
                if square_descents(stream, x) % 2 == 0:
                    return (-1 if stream.read() % 2 else 1), k, x


def nearest(stream, centre, sigma):
    """Return the whole number nearest to centre + sigma * normal; of x at least two digits are read."""
    sign, k, x = normal(stream)
    if x.width > Fraction(1, BASE**2):
        x.learn()
    while True:
        ends = {floor(centre + sign * sigma * (k + end) + Fraction(1, 2)) for end in (x.low, x.high)}
        if len(ends) == 1:
            return ends.pop()
        x.learn()


def blurred(stream, value, sigma):
    """Return value + sigma * normal on the grid that belongs to sigma, exactly."""
    power = 0
    while Fraction(2) ** power > Fraction(sigma):
        power -= 1
    while Fraction(2) ** power <= Fraction(sigma):
        power += 1
    step = Fraction(2) ** (power - 40)
    return nearest(stream, Fraction(value) / step, Fraction(sigma) / step) * step


def chosen(stream, scores, scale, halves):
    """Return the accepted candidate; each tosses its `halves` for 1/2, or more until at most 1 is left."""
    scores = [Fraction(score) for score in scores]
    while True:
        digit = stream.read()
        while digit // len(scores) == BASE // len(scores):
            digit = stream.read()
        i = digit % len(scores)
        gamma = (max(scores) - scores[i]) / Fraction(scale)
        coins = max(int(halves[i]), ceil(2 * (gamma - 1)))
        if heads(stream, coins) and descents(stream, gamma - Fraction(coins, 2)) % 2 == 0:
            return i
