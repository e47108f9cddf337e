"""How large a prediction may be."""

from privfit.engine.kernels.compiling import compiled

LARGEST = 1e300  # predictions stay within this, so that no later sum or difference of them is NaN


@compiled()
def within_limits(prediction: float) -> float:
    """Return a prediction within +-LARGEST, and zero for one in which infinities of both signs met."""
    return 0.0 if prediction != prediction else min(max(prediction, -LARGEST), LARGEST)
