"""Digits are fresh for every call, keys for every array, and neither outlives its use."""

import subprocess
import sys

import numpy as np
import pytest

from privfit import DPLogisticRegression, Ledger
from privfit.mechanisms.exact import digits as module
from privfit.mechanisms.exact import gaussian
from privfit.mechanisms.exact.digits import MOST_DIGITS, Digits, keystream
from privfit.mechanisms.noise import SecureNoise


@pytest.fixture
def keys(monkeypatch):
    """Collect the key objects that the cipher is given, with their content at that time."""
    seen = []
    cipher = module.ChaCha20

    def recorded(key, nonce):
        seen.append((key, bytes(key), bytes(nonce)))
        return cipher(key, nonce)

    monkeypatch.setattr(module, "ChaCha20", recorded)
    return seen


def counted(size):
    """Return Digits 0, 1, 2, ... in arrays of this size."""
    start = 0

    def fill(array):
        nonlocal start
        array[:] = np.arange(start, start + array.size)
        start += array.size

    return Digits(size, fill)


def test_digits_are_read_in_order_and_once():
    digits = counted(8)
    assert [digits.next() for _ in range(3)] == [0, 1, 2]
    assert digits.take(13).tolist() == list(range(3, 16))
    assert digits.left == 0
    assert digits.next() == 16
    assert digits.take(0).size == 0


def test_digits_left_are_dropped_when_asked_for_more():
    digits = counted(8)
    digits.next()
    digits.refill()
    assert digits.next() == 8


@pytest.mark.parametrize(("expected", "size"), [(0, 1), (1, 1), (2, 2), (1000, 1024), (10**9, MOST_DIGITS)])
def test_the_array_is_a_power_of_two_that_holds_what_is_expected(expected, size):
    assert counted(expected).array.size == size


def test_every_array_has_a_key_of_its_own_from_the_operating_system(keys, monkeypatch):
    drawn = []
    urandom = module.os.urandom
    monkeypatch.setattr(module.os, "urandom", lambda n: drawn.append(urandom(n)) or drawn[-1])
    SecureNoise().gaussian(np.zeros(20_000), 1.0)
    SecureNoise().gaussian(np.zeros(1), 1.0)
    assert len(keys) >= 7, "20,000 numbers take 1.4 MB of digits"
    assert len({key for _, key, _ in keys}) == len({nonce for _, _, nonce in keys}) == len(keys)
    assert [key + nonce[8:] for _, key, nonce in keys] == drawn
    # tests/repeatable_noise.py stands for it in this process, and nowhere else
    program = "import os; from privfit.mechanisms.exact import digits; assert digits.os.urandom is os.urandom"
    subprocess.run([sys.executable, "-c", program], check=True)


def test_keys_are_overwritten_after_use(keys):
    keystream(np.zeros(64, dtype=np.uint32))
    ((key, content, _),) = keys
    assert key == bytes(32) != content


def test_digits_are_overwritten_after_the_call(monkeypatch):
    made = []
    make = gaussian.Digits
    monkeypatch.setattr(gaussian, "Digits", lambda expected: made.append(make(expected)) or made[-1])
    SecureNoise().gaussian(np.zeros(3), 1.0)
    assert not made[0].array.any()


def test_the_whole_array_is_filled():
    for size in (1, 2, 1024, MOST_DIGITS):
        array = np.zeros(size, dtype=np.uint32)
        keystream(array)
        assert np.count_nonzero(array) > size - 3


def test_samplers_are_loaded_with_the_source_and_opendp_when_it_is_needed():
    program = (
        "import sys; from privfit.mechanisms.noise import SecureNoise, np; "
        "assert not {'opendp', 'cryptography', 'privfit.mechanisms.exact'} & set(sys.modules); "
        "noise = SecureNoise(); "
        "loaded = set(sys.modules); "
        "assert 'privfit.mechanisms.exact.kernels' in loaded; "
        "noise.gaussian(np.zeros(2), 1.0); noise.noisy_argmax(np.zeros(2), 1.0, 'gumbel'); "
        "noise.poisson_rows(3, 0.5); noise.radial(2, 1.0); "
        "assert 'opendp' not in sys.modules; "
        "assert not [name for name in set(sys.modules) - loaded if name.startswith('privfit')]"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_without_the_cipher_nothing_is_charged(monkeypatch):
    def refuse(*_):
        raise module.UnsupportedAlgorithm("chacha20")

    monkeypatch.setattr(module, "keystream", refuse)
    ledger = Ledger(rho=1.0)
    with pytest.raises(RuntimeError, match="no secure noise on this machine"):
        DPLogisticRegression(rho=0.1, ledger=ledger).fit(np.eye(4), [0, 1, 0, 1])
    assert ledger.spent == 0.0


def test_no_generator_of_numpy_is_behind_secure_noise(monkeypatch):
    def refuse(*_):
        raise AssertionError("NumPy's generators are not cryptographic")

    SecureNoise().laplace(np.zeros(1), 1.0)  # OpenDP loads SciPy, which uses one to write documentation
    for name in ("default_rng", "Generator", "PCG64", "RandomState", "SeedSequence"):
        monkeypatch.setattr(np.random, name, refuse)
    noise = SecureNoise()
    noise.gaussian(np.zeros(3), 1.0)
    noise.laplace(np.zeros(3), 1.0)
    noise.radial(3, 1.0)
    noise.poisson_rows(10, 0.5)
    for shape in ("gumbel", "exponential", "laplace"):
        noise.noisy_argmax(np.zeros(3), 1.0, shape)
    assert all(child.secure for child in noise.spawn(2))
