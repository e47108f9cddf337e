"""Publication: a fitted model as a model file, a plain scikit-learn model, a NumPy file or an ONNX graph."""

from privfit.models.published import Published
from privfit.publication.document import from_json, json_schema, to_json
from privfit.publication.loading import load

__all__ = ["Published", "from_json", "json_schema", "load", "to_json"]
