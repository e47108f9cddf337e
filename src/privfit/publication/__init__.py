"""What leaves the house: a fitted model as a document, as a plain scikit-learn model, as a file of NumPy."""

from privfit.models.published import Published
from privfit.publication.document import from_json, json_schema, to_json
from privfit.publication.loading import load

__all__ = ["Published", "from_json", "json_schema", "load", "to_json"]
