"""The model as ONNX, which many runtimes and databases can score."""

from __future__ import annotations

from privfit.publication.plain import to_sklearn
from privfit.publication.published import Published

OPSET = 17  # old enough for runtimes of 2022


def to_onnx(model: Published) -> bytes:
    """Return the model as an ONNX graph from an input `X` of doubles to labels and scores.

    Parameters
    ----------
    model : Published
        What is to be converted.

    Returns
    -------
    graph : bytes
        Logistic models give probabilities, SVMs scores.
    """
    try:
        from skl2onnx import to_onnx as convert
        from skl2onnx.common.data_types import DoubleTensorType
    except ModuleNotFoundError:
        raise ValueError("ONNX needs skl2onnx; install it with: pip install 'privfit[export]'") from None
    plain = to_sklearn(model)
    inputs = [("X", DoubleTensorType([None, len(model.weights)]))]
    graph: bytes = convert(
        plain, initial_types=inputs, options={"zipmap": False}, target_opset=OPSET
    ).SerializeToString()
    return graph
