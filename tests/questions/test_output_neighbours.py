"""Questions about losses of several outputs: no neighbour moves an answer by more than its noise hides."""

import math

import numpy as np
import pytest
from curators import curator_of
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scripted import ScriptedNoise
from several_outputs import LOSSES

from privfit.accounting import Ledger
from privfit.engine.problem import Problem
from privfit.losses.softmax import is_softmax
from privfit.questions import (
    ClassSums,
    EffectCurvature,
    EffectGradient,
    EffectSpread,
    Gradient,
    GradientAt,
    LossesAlong,
    RisesAlong,
    ScaleSlopesAt,
    SlopesAt,
    TargetSums,
)

RHO, STEPS = 0.01, np.linspace(0.0, 0.5, 4)
ROWS, COLUMNS = 5, 2
HUGE = st.sampled_from([0.0, 1e-320, 1e-160, 1e30, -1e155, 1e300, -1.7e308])
X = arrays(np.float64, (ROWS, COLUMNS), elements=st.floats(-50, 50) | HUGE)
W = arrays(np.float64, (COLUMNS + 1, 4), elements=st.floats(-5, 5) | st.sampled_from([1e3, -1e6]))

QUESTIONS = {
    "Gradient": lambda c, w, v, clip: c.measure(Gradient(clip), RHO, of=c.at(w)),
    "GradientAt": lambda c, w, v, clip: c.measure(GradientAt(w, clip), RHO),
    "LossesAlong": lambda c, w, v, clip: c.choose(LossesAlong(STEPS, clip), RHO, of=c.along(c.at(w), v)),
    "RisesAlong": lambda c, w, v, clip: c.choose(RisesAlong(STEPS, clip), RHO, of=c.along(c.at(w), v)),
    "TargetSums": lambda c, w, v, clip: c.measure(TargetSums(), RHO),
    "ClassSums": lambda c, w, v, clip: c.measure(ClassSums(), RHO),
    "SlopesAt": lambda c, w, v, clip: c.measure(SlopesAt(w, clip), RHO),
    "ScaleSlopesAt": lambda c, w, v, clip: c.projected(w).measure(ScaleSlopesAt(0.7, v[-1], clip), RHO),
    "EffectGradient": lambda c, w, v, clip: c.measure(EffectGradient(clip, 1.3), RHO, of=c.at(w)),
    "EffectCurvature": lambda c, w, v, clip: c.measure(EffectCurvature(clip, 0.5), RHO, of=c.at(w)),
    "EffectSpread": lambda c, w, v, clip: c.measure(EffectSpread(clip, 1.3), RHO, of=c.at(w)),
}


# Quick tests ask every question with half of the losses, and every loss half of the questions.
WITH_LOSSES = [
    pytest.param(name, loss, marks=pytest.mark.slow if (i + k) % 2 else ())
    for i, name in enumerate(QUESTIONS)
    for k, loss in enumerate(LOSSES)
]


@pytest.mark.parametrize(("name", "loss"), WITH_LOSSES)
@settings(max_examples=20)
@given(
    X=X,
    numbers=arrays(int, ROWS, elements=st.integers(0, 11)),
    w=W,
    direction=W,
    clip=st.floats(0.01, 20),
    weights=st.none() | arrays(np.float64, ROWS, elements=st.floats(0.0, 1.0)),
)
def test_no_neighbour_moves_a_question_beyond_its_noise(name, loss, X, numbers, w, direction, clip, weights):
    loss = LOSSES[loss]
    w, direction = (np.ascontiguousarray(part[:, : loss.outputs]) for part in (w, direction))
    if name.startswith("Effect") and not is_softmax(loss):
        problem, ledger = Problem.of(X, (numbers % loss.outputs).astype(float), loss), Ledger(rho=1.0)
        with pytest.raises(ValueError, match="softmax loss only"):
            QUESTIONS[name](
                curator_of(problem, ledger, ScriptedNoise(), epsilon=1.0, delta=1e-6), w, direction, clip
            )
        assert ledger.spent == 0.0
        return
    noises = []
    for rows in (slice(0, ROWS), slice(0, ROWS - 1)):
        kept = None if weights is None else weights[rows]
        problem = Problem.of(X[rows], (numbers % loss.outputs)[rows].astype(float), loss, weights=kept)
        noise = ScriptedNoise(size=0.0)
        curator = curator_of(problem, Ledger(rho=1.0), noise, epsilon=1.0, delta=1e-6)
        for view in (curator, curator.transformed(np.array([0.3, -5.0]), np.array([2.0, 0.1]), 0.3)):
            QUESTIONS[name](view, w, direction, clip)
        noises.append(noise)
    assert noises[0].gaussian_inputs or noises[0].argmax_inputs
    for (a, sigma), (b, _) in zip(*(n.gaussian_inputs for n in noises), strict=True):
        assert np.linalg.norm(a - b) <= sigma * math.sqrt(2 * RHO)
    for (a, scale, shape), (b, _, _) in zip(*(n.argmax_inputs for n in noises), strict=True):
        assert shape == "gumbel"
        assert np.ptp(a - b) <= scale * math.sqrt(8 * RHO)
