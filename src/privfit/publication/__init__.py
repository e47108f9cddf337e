"""What leaves the house: a fitted model as a document, as a plain scikit-learn model, as a file of NumPy."""

from privfit.publication.document import from_json, json_schema, to_json
from privfit.publication.published import Published

__all__ = ["Published", "from_json", "json_schema", "to_json"]
