"""scikit-learn transformers: encoding by a schema, and private bounds of columns."""

from privfit.preprocessing.bounds import PrivateBounds
from privfit.preprocessing.encoder import SchemaEncoder
from privfit.schema import Categorical, Label, Numeric, Schema

__all__ = ["Categorical", "Label", "Numeric", "PrivateBounds", "Schema", "SchemaEncoder"]
