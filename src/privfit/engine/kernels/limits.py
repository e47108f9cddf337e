"""How large a prediction may be."""

from privfit.engine.kernels.compiling import inner

LARGEST_PREDICTION = 1e300  # predictions stay within this, so that no later sum or difference of them is NaN


@inner()
def within_limits(prediction: float) -> float:
    """Return a prediction within +-LARGEST_PREDICTION, and zero where infinities of both signs met."""
    return 0.0 if prediction != prediction else min(max(prediction, -LARGEST_PREDICTION), LARGEST_PREDICTION)
