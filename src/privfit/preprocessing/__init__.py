"""Public facts about the data, and the encoding that follows from them alone."""

from privfit.preprocessing.encoder import SchemaEncoder
from privfit.preprocessing.schema import Categorical, Label, Numeric, Schema

__all__ = ["Categorical", "Label", "Numeric", "Schema", "SchemaEncoder"]
