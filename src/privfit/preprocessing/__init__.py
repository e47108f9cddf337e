"""Public facts about the data, the encoding that follows from them alone, and bounds that are bought."""

from privfit.preprocessing.bounds import PrivateBounds
from privfit.preprocessing.encoder import SchemaEncoder
from privfit.preprocessing.schema import Categorical, Label, Numeric, Schema

__all__ = ["Categorical", "Label", "Numeric", "PrivateBounds", "Schema", "SchemaEncoder"]
