"""What a raw column may hold where nothing of ours reads it, and what its cells become."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privfit.publication.published import Published, Vector
from privfit.schema import Boolean, Categorical, Date, Integer, Numeric, Ordinal, Schema, encode
from privfit.schema.cells import reading
from privfit.schema.column import Feature, Scale


@dataclass(frozen=True)
class Cells:
    """A column whose cells are stored as what they are: numbers as numbers, words as the schema writes them.

    Attributes
    ----------
    fact : Feature
        What the schema says.
    words : tuple of str or of float, optional
        What its cells may be, if they are listed; numbers if all words read as numbers.
    features : array of shape (number of words, number of features), optional
        What each of the words becomes.
    missing : array, optional
        The features of a cell that is missing or does not fit; None: there may be none.
    """

    fact: Feature
    words: tuple[str, ...] | tuple[float, ...] | None
    features: NDArray[np.float64] | None
    missing: Vector | None

    @property
    def name(self) -> str:
        """Of the column."""
        return self.fact.name

    @property
    def is_text(self) -> bool:
        """Whether the column holds text."""
        return self.words is not None and isinstance(self.words[0], str)

    @property
    def ends(self) -> tuple[float, float] | None:
        """The numbers that become 0 and 1; None for categories."""
        return self.fact.ends if isinstance(self.fact, Scale) else None

    @property
    def is_whole(self) -> bool:
        """Whether numbers that are not whole do not fit."""
        return isinstance(self.fact, Integer)


def cells_of(model: Published) -> list[Cells]:
    """Return the columns of a model with a schema, or refuse one that only our own code can read.

    Parameters
    ----------
    model : Published
        A model with a schema.

    Returns
    -------
    columns : list of Cells
        In the order of the schema.
    """
    schema = Schema.from_dict(model.schema or {})
    return [_cells(fact, schema) for fact in schema.features]


def _cells(fact: Feature, schema: Schema) -> Cells:
    def encoded(cells: Sequence[Any]) -> NDArray[np.float64]:
        alone = Schema([fact], schema.label)
        rows: NDArray[np.float64] = encode({fact.name: cells}, alone, sparse=False, dtype=np.float64)
        return rows

    words = _words(fact)
    features = None if words is None else encoded(words)
    return Cells(fact, words, features, None if fact.missing == "refuse" else encoded([None])[0])


def _words(fact: Feature) -> tuple[str, ...] | tuple[float, ...] | None:
    match fact:
        case Numeric():
            return None
        case Categorical(categories=listed) | Ordinal(order=listed) | Boolean(words=listed):
            said = [reading(word) for word in listed]
        case _:
            what = "date" if isinstance(fact, Date) else "type"
            raise ValueError(
                f"Column {fact.name!r} has a {what} that only privfit reads; convert the model for encoded "
                "columns, with encoded=True."
            )
    numbers = tuple(float(value) for value in said if isinstance(value, int | float))
    is_numbers = len(numbers) == len(listed) and not fact.places.only_as_text
    return numbers if is_numbers else tuple(listed)
