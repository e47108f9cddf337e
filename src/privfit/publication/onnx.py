"""The model as ONNX, which many runtimes and databases can score."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privfit.models.links import LOG
from privfit.models.published import Published, Vector
from privfit.publication.plain import without_idle_clipping
from privfit.publication.raw_columns import RawColumn, raw_columns_of

OPSETS = {"": 17, "ai.onnx.ml": 2}  # runtimes of 2022 can read these versions
IR_VERSION = 8


def to_onnx(model: Published, *, encoded: bool = False) -> bytes:
    """Return the model as an ONNX graph in double precision, from columns to labels and scores.

    Parameters
    ----------
    model : Published
        The model.
    encoded : bool
        For a model with a schema: whether the graph takes encoded columns as one input, instead of raw ones.

    Returns
    -------
    graph : bytes
        The input is `X`, doubles of shape (n, number of columns). With a schema there is an input of shape
        (n, 1) for every raw column, by its name: doubles, with NaN for missing cells, or strings, with "" for
        missing cells. The outputs are `label` and, of shape (n, number of classes), `probabilities` or, if
        the model has none, `scores`. A model that predicts numbers has the output `prediction`. If the schema
        refuses a cell, the outputs of its row are NaN, because a graph cannot raise an error.

    Raises
    ------
    ValueError
        If a raw column is a date, which ONNX cannot read, or if onnx is not installed.
    """
    graph = _Graph()
    if model.schema is None or encoded:
        features = graph.input("X", np.float64, model.n_columns)
    else:
        model = without_idle_clipping(model)
        columns = [_raw(graph, column) for column in raw_columns_of(model)]
        features = graph.node("Concat", columns, axis=1)
    _scored(graph, model, features)
    return graph.serialised()


class _Graph:
    """A graph to which nodes are added. Methods that add something return the name of its output."""

    def __init__(self) -> None:
        try:
            import onnx
        except ModuleNotFoundError:
            raise ValueError("ONNX needs onnx; install it with: pip install 'privfit[export]'") from None
        self._onnx = onnx
        self._nodes: list[Any] = []
        self._constants: list[Any] = []
        self._inputs: list[Any] = []
        self._outputs: list[Any] = []

    def input(self, name: str, dtype: Any, width: int) -> str:
        self._inputs.append(self._declared(name, dtype, ["n", width]))
        return name

    def output(self, name: str, dtype: Any, shape: Sequence[Any], value: str) -> None:
        self._nodes.append(self._onnx.helper.make_node("Identity", [value], [name]))
        self._outputs.append(self._declared(name, dtype, shape))

    def constant(self, value: Any, dtype: Any = np.float64) -> str:
        name = f"constant {len(self._constants)}"  # a column of that name has its own, because names are
        array = np.asarray(value, dtype=object if dtype is str else dtype)
        self._constants.append(self._onnx.numpy_helper.from_array(array, self._unique(name)))
        return self._unique(name)

    def node(self, operator: str, inputs: Sequence[str], *, domain: str = "", **settings: Any) -> str:
        name = self._unique(f"value {len(self._nodes)}")
        make = self._onnx.helper.make_node
        self._nodes.append(make(operator, list(inputs), [name], domain=domain, **settings))
        return name

    def serialised(self) -> bytes:
        helper = self._onnx.helper
        graph = helper.make_graph(self._nodes, "privfit", self._inputs, self._outputs, self._constants)
        opsets = [helper.make_opsetid(domain, version) for domain, version in OPSETS.items()]
        made = helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION, producer_name="privfit")
        self._onnx.checker.check_model(made)
        written: bytes = made.SerializeToString()
        return written

    def _unique(self, name: str) -> str:
        return f"privfit:{name}"

    def _declared(self, name: str, dtype: Any, shape: Sequence[Any]) -> Any:
        types = {str: "STRING", np.float64: "DOUBLE", np.int64: "INT64"}
        kind = getattr(self._onnx.TensorProto, types[dtype])
        return self._onnx.helper.make_tensor_value_info(name, kind, shape)


def _raw(graph: _Graph, column: RawColumn) -> str:
    """Return the features of a raw column."""
    cell = graph.input(column.name, str if column.is_text else np.float64, 1)
    n_levels = len(column.fact.levels)
    missing = np.full(n_levels, np.nan) if column.missing is None else column.missing
    if column.words is not None:
        return _listed(graph, cell, column, missing)
    if column.is_whole:
        is_whole = graph.node("Equal", [cell, graph.node("Floor", [cell])])
        cell = graph.node("Where", [is_whole, cell, graph.constant(np.nan)])
    assert column.ends is not None  # because it is a column of numbers
    low, high = column.ends
    from_low = graph.node("Sub", [cell, graph.constant(low)])
    scaled = graph.node("Div", [from_low, graph.constant(high - low)])
    clipped = graph.node("Clip", [scaled, graph.constant(0.0), graph.constant(1.0)])
    rows, n_numbers = clipped, 1
    if column.pieces is not None:
        starts, lengths = map(graph.constant, column.pieces)
        gone = graph.node("Div", [graph.node("Sub", [clipped, starts]), lengths])
        rows = graph.node("Clip", [gone, graph.constant(0.0), graph.constant(1.0)])
        n_numbers = len(column.pieces[0])
    rows = graph.node("Concat", [rows, *[_zeros_like(graph, clipped)] * (n_levels - n_numbers)], axis=1)
    return graph.node("Where", [graph.node("IsNaN", [cell]), graph.constant(missing), rows])


def _zeros_like(graph: _Graph, column: str) -> str:
    return graph.node("ConstantOfShape", [graph.node("Shape", [column])], value=_zero(graph))


def _zero(graph: _Graph) -> Any:
    return graph._onnx.numpy_helper.from_array(np.zeros(1))


def _listed(graph: _Graph, cell: str, column: RawColumn, missing: Vector) -> str:
    """Return the features of a column of words: the features of the word, or those of a missing cell."""
    assert column.words is not None
    values: NDArray[np.float64] = np.arange(float(len(column.words)))
    if column.is_text:
        keys = {"keys_strings": list(column.words), "values_floats": values.tolist(), "default_float": -1.0}
        place = graph.node("LabelEncoder", [cell], domain="ai.onnx.ml", **keys)
        cell = graph.node("Cast", [place], to=graph._onnx.TensorProto.DOUBLE)
    else:
        values = np.array(column.words, dtype=np.float64)
    is_word = graph.node("Equal", [cell, graph.constant(values)])
    indicators = graph.node("Cast", [is_word], to=graph._onnx.TensorProto.DOUBLE)
    features = graph.node("MatMul", [indicators, graph.constant(column.features)])
    axes = graph.constant([1], np.int64)
    n_words = graph.node("ReduceSum", [indicators, axes], keepdims=1)
    is_missing = graph.node("Less", [n_words, graph.constant(0.5)])
    return graph.node("Where", [is_missing, graph.constant(missing), features])


def _scored(graph: _Graph, model: Published, features: str) -> None:
    """Add the scores, as `Preparation.scores` computes them, and the outputs that the link derives."""
    if model.bounds is not None:
        low, high = (graph.constant(side) for side in model.bounds)
        features = graph.node("Min", [graph.node("Max", [features, low]), high])
    product = graph.node("MatMul", [features, graph.constant(model.weights.T)])
    score = graph.node("Add", [product, graph.constant(model.intercepts)])
    if model.unit_rows:
        squares = graph.node("Mul", [features, features])
        norm = graph.node("ReduceSum", [squares, graph.constant([1], np.int64)], keepdims=1)
        if model.has_intercept:
            norm = graph.node("Add", [norm, graph.constant(1.0)])
        # not 0, by which a row of zeros would be divided; its score is 0 in any case
        norm = graph.node("Max", [norm, graph.constant(np.finfo(float).tiny)])
        score = graph.node("Div", [score, graph.node("Sqrt", [norm])])
    if model.target.outputs > 1:
        _output_classes(graph, model, score)
    elif model.link.predicts_classes:
        _output_two_labels(graph, model, score)
    else:
        number = graph.node("Squeeze", [score, graph.constant([1], np.int64)])
        number = graph.node("Exp", [number]) if model.link is LOG else number
        graph.output("prediction", np.float64, ["n"], number)


def _output_two_labels(graph: _Graph, model: Published, score: str) -> None:
    flat = graph.node("Squeeze", [score, graph.constant([1], np.int64)])
    is_second = graph.node("Greater", [flat, graph.constant(0.0)])
    dtype = _dtype(model)
    first, second = (graph.constant(label, dtype) for label in model.classes)
    graph.output("label", dtype, ["n"], graph.node("Where", [is_second, second, first]))
    negative = graph.node("Neg", [score])
    both = graph.node("Concat", [negative, score], axis=1)
    if model.link.probabilities is not None:
        graph.output("probabilities", np.float64, ["n", 2], graph.node("Sigmoid", [both]))
    else:
        graph.output("scores", np.float64, ["n", 2], both)


def _output_classes(graph: _Graph, model: Published, scores: str) -> None:
    place = graph.node("ArgMax", [scores], axis=1, keepdims=0)
    dtype = _dtype(model)
    graph.output("label", dtype, ["n"], graph.node("Gather", [graph.constant(model.classes, dtype), place]))
    shape = ["n", len(model.classes)]
    if model.link.probabilities is not None:
        graph.output("probabilities", np.float64, shape, graph.node("Softmax", [scores], axis=1))
    else:
        graph.output("scores", np.float64, shape, scores)


def _dtype(model: Published) -> Any:
    return {str: str, float: np.float64}.get(type(model.classes[0]), np.int64)  # booleans become 0 and 1
