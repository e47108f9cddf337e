"""The largest size of a prediction."""

from privfit.engine.kernels.compiling import inner

LARGEST_PREDICTION = 1e300  # predictions stay within this, so that no later sum or difference of them is NaN


@inner()
def within_limits(prediction: float) -> float:
    """Return a prediction clipped to +-LARGEST_PREDICTION; NaN, from infinities of both signs, becomes 0."""
    return 0.0 if prediction != prediction else min(max(prediction, -LARGEST_PREDICTION), LARGEST_PREDICTION)
