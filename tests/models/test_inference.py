"""Standard errors, intervals and refusals, computed from released numbers."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import t

from privfit.models.inference import HIDDEN, REFERENCE, Inference

H = np.array([[900.0, 100.0], [100.0, 400.0]])
V = np.array([[850.0, 90.0], [90.0, 500.0]])
# two levels beside an intercept: the first level is the reference
DIRECTIONS = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
KNOWN = Inference(
    names=("sex=f", "sex=m", "intercept"),
    estimate=np.array([0.0, 0.5, -1.0]),
    is_reference=np.array([True, False, False]),
    directions=DIRECTIONS,
    curvature=H,
    spread=V,
    sigma_curvature=4.0,
    sigma_spread=10.0,
    sigma_gradient=7.0,
    step=np.array([0.02, -0.01]),
    mass=2000.0,
)


def test_the_standard_error_is_the_sandwich_with_the_noise_of_the_last_step():
    u = KNOWN.step
    noise = 49.0 * np.eye(2) + 8.0 * (u @ u * np.eye(2) + np.outer(u, u))
    inverse = np.linalg.inv(H)
    sampling, privacy = inverse @ V @ inverse, inverse @ noise @ inverse
    left = 0.15 * (u @ H @ u) * np.sqrt(np.diag(inverse) / KNOWN.mass)
    for j in (1, 2):
        effect = KNOWN.effect(j)
        assert effect.sampling == pytest.approx(math.sqrt(sampling[j - 1, j - 1]))
        assert effect.privacy == pytest.approx(math.hypot(math.sqrt(privacy[j - 1, j - 1]), left[j - 1]))
        assert effect.std_err**2 == pytest.approx(effect.sampling**2 + effect.privacy**2)
        assert KNOWN.effect(KNOWN.names[j]) == effect
    np.testing.assert_allclose(KNOWN.covariance[1:, 1:], sampling + privacy + np.diag(left**2))
    assert not KNOWN.covariance[0].any()


def test_intervals_and_p_values_are_those_of_a_t_distribution():
    effect = KNOWN.effect("sex=m")
    for level in (0.9, 0.95):
        expected = t.interval(level, effect.freedom, effect.estimate, effect.std_err)
        assert effect.interval(level) == pytest.approx(expected)
    assert effect.z == pytest.approx(0.5 / effect.std_err)
    assert effect.pvalue == pytest.approx(2.0 * t.sf(effect.z, effect.freedom))
    with pytest.raises(ValueError, match="level must be between 0 and 1"):
        effect.interval(95)


def test_degrees_of_freedom_follow_from_the_noise_of_the_variance():
    """The variance is computed again from matrices with fresh noise; its spread is what was said.

    Of 20,000 repetitions the standard deviation of the variance is known to 1%, and it may be off by a
    tenth because the formula is that of small noise. The false-alarm rate is below 1e-6.
    """
    rng = np.random.default_rng(0)

    def noisy(matrix, sigma):
        noise = rng.normal(size=(2, 2)) * sigma / math.sqrt(2.0)
        return matrix + (noise + noise.T) / math.sqrt(2.0)

    variances = []
    for _ in range(20_000):
        v = np.linalg.solve(noisy(H, 4.0), [1.0, 0.0])
        variances.append(v @ noisy(V, 10.0) @ v)
    effect = KNOWN.effect("sex=m")
    relative = np.std(variances) / effect.std_err**2
    assert effect.freedom == pytest.approx(2.0 / relative**2, rel=0.2)


def test_a_contrast_is_judged_by_itself():
    both = KNOWN.effect([0.0, 1.0, 1.0])
    assert both.estimate == -0.5
    assert both.std_err == pytest.approx(math.sqrt(KNOWN.covariance[1:, 1:].sum()))
    with pytest.raises(ValueError, match="a number for each of 3 weights"):
        KNOWN.effect([1.0, 1.0])
    with pytest.raises(KeyError, match="no effect 'age'"):
        KNOWN.effect("age")


def test_the_reference_level_is_zero_and_is_not_refused():
    assert KNOWN.effect(0) == REFERENCE
    assert KNOWN.effect(0).interval() == (0.0, 0.0)
    assert math.isnan(KNOWN.effect(0).pvalue)


@pytest.mark.parametrize(
    "noisier",
    [
        {"sigma_curvature": 500.0},
        {"sigma_spread": 700.0},
        {"curvature": -H},
        {"step": np.array([3.0, 3.0]), "sigma_curvature": 0.1},
    ],
    ids=["curvature", "spread", "no curvature", "long step"],
)
def test_what_cannot_be_right_is_refused_in_a_sentence(noisier):
    inference = replace(KNOWN, **noisier)
    effect = inference.effect("sex=m")
    assert effect.refused.startswith("The budget is too small to say how exact")
    assert all(math.isnan(x) for x in (*effect.interval(), effect.std_err, effect.z, effect.pvalue))
    assert effect.estimate == 0.5
    assert np.isnan(inference.covariance[1]).all()
    assert inference.covariance[0, 0] == 0.0


@pytest.mark.parametrize("noise", [-3.0, 0.0, 2.5 * KNOWN.sigma_curvature])
def test_a_level_that_nobody_has_is_refused_and_the_others_are_not(noise):
    """The curvature along its direction is noise alone, of either sign; what is known of others remains."""
    beside = {name: np.zeros((3, 3)) for name in ("curvature", "spread")}
    for name, matrix in beside.items():
        matrix[:2, :2] = getattr(KNOWN, name)
        matrix[2, 2] = noise
    with_level = replace(
        KNOWN,
        names=(*KNOWN.names, "country=SE"),
        estimate=np.append(KNOWN.estimate, 6.0),
        is_reference=np.append(KNOWN.is_reference, False),
        directions=np.block([[DIRECTIONS, np.zeros((3, 1))], [np.zeros((1, 2)), np.ones((1, 1))]]),
        step=np.append(KNOWN.step, 0.0),
        **beside,
    )
    assert with_level.effect("country=SE").refused == HIDDEN
    for name in ("sex=m", "intercept"):
        assert with_level.effect(name).refused is None
        assert with_level.effect(name).std_err == pytest.approx(KNOWN.effect(name).std_err)


def test_the_shift_of_an_inverted_noisy_matrix_is_judged_by_all_its_directions():
    """Each direction alone is known; their number makes the inverse too large."""
    q = 400
    many = Inference(
        names=tuple(map(str, range(q))),
        estimate=np.zeros(q),
        is_reference=np.zeros(q, dtype=bool),
        directions=np.eye(q),
        curvature=100.0 * np.eye(q),
        spread=100.0 * np.eye(q),
        sigma_curvature=4.0,
        sigma_spread=1.0,
        sigma_gradient=1.0,
        step=np.zeros(q),
        mass=1000.0,
    )
    assert many.effect(0).refused is not None
    few = {name: getattr(many, name)[:9, :9] for name in ("directions", "curvature", "spread")}
    few |= {name: getattr(many, name)[:9] for name in ("names", "estimate", "is_reference", "step")}
    assert replace(many, **few).effect(0).refused is None


def test_only_effects_of_interest_are_judged():
    chosen = replace(KNOWN, chosen=("sex=m",))
    assert [effect.refused is None for effect in chosen.effects] == [True, True, False]
    assert np.isnan(chosen.covariance[2]).all()


def test_a_model_file_keeps_all_of_it():
    again = Inference.from_dict(json.loads(json.dumps(KNOWN.to_dict())))
    assert again.names == KNOWN.names
    assert again.chosen is None
    assert again.effects == KNOWN.effects
    assert Inference.from_dict(replace(KNOWN, chosen=("sex=m",)).to_dict()).chosen == ("sex=m",)


def test_contrasts_are_estimated_with_the_corrected_weights_unless_they_are_refused():
    corrected = np.array([0.0, 0.7, -1.5])
    both = replace(KNOWN, corrected=corrected)
    assert both.effect([0.0, 1.0, 1.0]).estimate == pytest.approx(-0.8)
    assert replace(both, sigma_curvature=500.0).effect([0.0, 1.0, 1.0]).estimate == -0.5
    assert Inference.from_dict(both.to_dict()).effects == both.effects


def test_shapes_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match=r"step must have shape \(2,\)"):
        replace(KNOWN, step=np.zeros(3))
    with pytest.raises(ValueError, match="names must be 3"):
        replace(KNOWN, names=("a",))
