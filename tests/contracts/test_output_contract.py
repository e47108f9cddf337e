"""What an engine promises of losses of several outputs, for every layout, against plain Python."""

import math

import numpy as np
import pytest
from engine_cases import LAYOUTS, records, tier
from pairwise import pairwise
from scipy import sparse
from several_outputs import LOSSES

from privfit.engine.exact.bounds import loss_slack, rise_bound, rise_slack
from privfit.engine.exact.grids import grid
from privfit.engine.problem import Problem

CASES = pairwise([[*LAYOUTS], [*LOSSES], ["intercept", "no_intercept"]])


class Case:
    """A layout of the features, a loss, and whether there is an intercept."""

    def __init__(self, layout, loss, intercept):
        self.layout, self.loss, self.intercept = LAYOUTS[layout], LOSSES[loss], intercept == "intercept"

    def make(self, X, numbers):
        data = self.layout(X)
        y = (numbers % self.loss.outputs).astype(float)
        problem = Problem.of(data, y, self.loss, intercept=self.intercept)
        plain = np.asarray(data.todense() if sparse.issparse(data) else data, dtype=np.float64)
        return problem, np.column_stack([plain, np.ones(len(plain))]) if self.intercept else plain

    def weights(self, problem, seed=0):
        return np.random.default_rng(seed).standard_normal((problem.n_weights, self.loss.outputs))

    def gradient_sum(self, Z, y, w, clip):
        """Return the sum with every record's gradient written out."""
        total = np.zeros_like(w)
        for z, target in zip(Z, y, strict=True):
            slopes = np.empty(self.loss.outputs)
            self.loss.derivative(z @ w, target, slopes)
            gradient = np.outer(z, slopes)
            total += gradient * min(1.0, clip / max(np.linalg.norm(gradient), 1e-300))
        return total

    def loss_sum(self, Z, y, w, clip):
        return sum(min(self.loss.value(z @ w, t), clip) for z, t in zip(Z, y, strict=True))


@pytest.fixture(params=[pytest.param(case, id="-".join(case), marks=tier(*case[:2])) for case in CASES])
def output_case(request):
    return Case(*request.param)


def data(n=203):
    X, _ = records(n)
    return X, np.random.default_rng(n).integers(0, 12, n)


@pytest.mark.parametrize("clip", [math.inf, 1.0, 0.05])
def test_gradients_match_plain_python_in_one_visit_and_in_several(output_case, clip):
    problem, Z = output_case.make(*data())
    w = output_case.weights(problem)
    rounding = 0.0 if clip == math.inf else problem.n_records * grid(clip)
    expected = output_case.gradient_sum(Z, problem.targets, w, clip)
    for found in (problem.gradient_at(w, clip), problem.at(w).gradient_sum(clip)):
        np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-11 + rounding)


@pytest.mark.parametrize("clip", [math.inf, 2.0])
def test_losses_match_plain_python(output_case, clip):
    problem, Z = output_case.make(*data())
    w, direction = output_case.weights(problem), output_case.weights(problem, 1)
    rounding = 0.0 if clip == math.inf else problem.n_records * grid(clip)
    sums = problem.at(w).along(direction).loss_sums(0.07, 3, clip)
    expected = [output_case.loss_sum(Z, problem.targets, w - 0.07 * k * direction, clip) for k in range(4)]
    np.testing.assert_allclose(sums, expected, rtol=1e-11, atol=rounding)


def test_sums_do_not_depend_on_the_order_of_records(output_case):
    X, numbers = data(300)
    order = np.random.default_rng(4).permutation(300)
    problem, _ = output_case.make(X, numbers)
    turned, _ = output_case.make(X[order], numbers[order])
    w = output_case.weights(problem)
    np.testing.assert_array_equal(problem.gradient_at(w, 0.5), turned.gradient_at(w, 0.5))


@pytest.mark.parametrize("size", [0.0, 1e-30, 1.0, 1e4, 1e30])
def test_one_record_more_moves_sums_by_their_bounds_at_most(output_case, size):
    X, numbers = data(40)
    problem, _ = output_case.make(X, numbers)
    w, direction = output_case.weights(problem), output_case.weights(problem, 1)
    line = problem.at(w).along(direction)
    rise = rise_bound(output_case.loss.lipschitz, 0.1, 5, 0.7)
    for label in range(output_case.loss.outputs):
        row = size * np.linspace(-1.0, 1.0, X.shape[1])
        more, _ = output_case.make(np.vstack([X, row]), np.append(numbers, label))
        there = more.at(w).along(direction)
        gradient = more.gradient_at(w, 0.5) - problem.gradient_at(w, 0.5)
        assert np.linalg.norm(gradient) <= problem.gradient_bound(0.5)
        losses = there.loss_sums(0.1, 5, 0.7) - line.loss_sums(0.1, 5, 0.7)
        assert np.all((losses >= -loss_slack(0.7)) & (losses <= 0.7 + loss_slack(0.7)))
        rises = there.rise_sums(0.1, 5, 0.7) - line.rise_sums(0.1, 5, 0.7)
        assert np.all((rises >= -rise_slack(rise)) & (rises <= rise + rise_slack(rise)))


def test_the_joint_clip_is_one_factor_for_all_outputs_of_a_record(output_case):
    """The clipped gradient of a record alone points where the whole one does."""
    X, numbers = data(5)
    for i in range(5):
        problem, _ = output_case.make(X[i : i + 1], numbers[i : i + 1])
        w = output_case.weights(problem)
        whole, clipped = problem.gradient_at(w, math.inf), problem.gradient_at(w, 1e-2)
        length = float(np.linalg.norm(whole))
        if length > 1e-2:
            np.testing.assert_allclose(clipped, whole * (1e-2 / length), atol=2.0 * grid(1e-2))
