"""The benchmark of frozen features: what it calls public looks at one record at a time."""

from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture
def probes(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    import probes

    return probes


@pytest.fixture
def coefficients():
    rows = np.random.default_rng(0).exponential(size=(6, 81, 7, 7)).astype(np.float32)
    rows[1] = 0.0
    rows[2] = 1e-20
    rows[3] = 0.0
    rows[3, :, 3, 3] = 1e6  # one number that stands out of each channel
    rows[4] = 0.0
    rows[4, ::3, 0, 0] = 1e6  # and of each group of three channels: as far from the others as can be
    return rows


def test_a_record_is_normalised_by_itself(probes, coefficients):
    together = probes.normalised(coefficients)
    for row, alone in zip(coefficients, together, strict=True):
        np.testing.assert_array_equal(probes.normalised(row[None])[0], alone)


def test_declared_bounds_hold_for_every_record_and_are_not_much_too_wide(probes, coefficients):
    features = probes.normalised(coefficients)
    bound = probes.bound(features.shape[1])
    assert np.isfinite(features).all()
    assert 0.95 * bound < np.abs(features).max() <= bound


def test_an_encoder_that_is_not_set_up_is_named(probes, monkeypatch, tmp_path):
    from rivals import encoders

    class Missing(encoders.Environment):
        def missing(self):
            return "kymatio is not set up; run `make rivals`"

    monkeypatch.setattr(encoders, "Environment", Missing)
    with pytest.raises(encoders.EncoderFailed, match=r"^kymatio is not set up; run `make rivals`$"):
        encoders.write_scattering(np.zeros((1, 28, 28), np.uint8), tmp_path / "features.npy")
    assert not list(tmp_path.iterdir())
