"""Raw columns in programs without privfit: the values of their cells, and the features of each value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privfit.models.published import Published, Vector
from privfit.remedies import remedy
from privfit.schema import Boolean, Categorical, Date, Integer, Label, Ordinal, Schema, encode
from privfit.schema.cells import reading
from privfit.schema.column import Feature, Scale
from privfit.schema.curved import Curved

LARGEST_EXACT = 2.0**53  # larger integers are not exact as float64


@dataclass(frozen=True)
class RawColumn:
    """A column in which numbers are stored as numbers, and words as the schema writes them.

    Attributes
    ----------
    fact : Feature
        The column of the schema.
    words : tuple of str or of float, optional
        The values that its cells may have, if they are listed; numbers if all words are numbers.
    features : array of shape (number of words, number of features), optional
        The encoded features of each word.
    missing : array, optional
        The features of a cell that is missing or does not fit; None if such cells are refused.
    """

    fact: Feature
    words: tuple[str, ...] | tuple[float, ...] | None
    features: NDArray[np.float64] | None
    missing: Vector | None

    @property
    def name(self) -> str:
        """The name of the column."""
        return self.fact.name

    @property
    def is_text(self) -> bool:
        """Whether the column holds text."""
        return self.words is not None and isinstance(self.words[0], str)

    @property
    def ends(self) -> tuple[float, float] | None:
        """The numbers that are encoded as 0 and 1; None for categories."""
        return self.fact.ends if isinstance(self.fact, Scale) else None

    @property
    def pieces(self) -> tuple[Vector, Vector] | None:
        """The pieces of a curve, as `pieces_of` returns them."""
        return pieces_of(self.fact)

    @property
    def is_whole(self) -> bool:
        """Whether numbers that are not whole do not fit."""
        return isinstance(self.fact, Integer)


def raw_columns_of(model: Published) -> list[RawColumn]:
    """Return the columns of a model with a schema; raise if only privfit can read one of them.

    Parameters
    ----------
    model : Published
        A model with a schema.

    Returns
    -------
    columns : list of RawColumn
        In the order of the schema.
    """
    schema = Schema.from_dict(model.schema or {})
    return [_raw_column(fact) for fact in schema.features]


def for_other_programs() -> str:
    """Return advice about columns that other programs cannot read."""
    return remedy(
        "convert the model for encoded columns, with encoded=True", "write the model with --numpy instead"
    )


def _raw_column(fact: Feature) -> RawColumn:
    if isinstance(fact, Date):
        raise ValueError(
            f"Column {fact.name!r} is a date, which only privfit and its NumPy file read; "
            f"{for_other_programs()}."
        )
    words = _stored(fact)
    features = None if words is None else encoded_alone(fact, words)
    return RawColumn(
        fact, words, features, None if fact.missing == "refuse" else encoded_alone(fact, [None])[0]
    )


def encoded_alone(fact: Feature, cells: Sequence[Any]) -> NDArray[np.float64]:
    """Return the encoded features of some cells of a column.

    Parameters
    ----------
    fact : Feature
        What the schema says about the column.
    cells : sequence
        The cells.

    Returns
    -------
    rows : array of shape (number of cells, number of the column's features)
        Numbers between 0 and 1.
    """
    alone = Schema([fact], Label(f"not {fact.name}", [False, True]))
    rows: NDArray[np.float64] = encode({fact.name: cells}, alone, sparse=False, dtype=np.float64)
    return rows


def pieces_of(fact: Feature) -> tuple[Vector, Vector] | None:
    """Return the pieces of a curve.

    A number between the bounds of its column becomes one feature for each piece. It is 0 below the piece, 1
    above it, and rises linearly within it. Bounds and pieces are mapped to [0, 1].

    Parameters
    ----------
    fact : Feature
        What the schema says about the column.

    Returns
    -------
    starts, lengths : pair of arrays, or None
        The start and the length of each piece, as shares of the range; None for a column without a curve.
    """
    if not isinstance(fact, Curved) or fact.shape is None:
        return None
    low, high = fact.ends
    places = (np.array(fact.shape.knots) - low) / (high - low)
    return places[:-1], np.diff(places)


def listed(fact: Feature) -> tuple[str, ...] | None:
    """Return the words of a column that lists them.

    Parameters
    ----------
    fact : Feature
        What the schema says about the column.

    Returns
    -------
    words : tuple of str, or None
        The words as the schema writes them; None if the column does not list any.
    """
    match fact:
        case Categorical(categories=words) | Ordinal(order=words) | Boolean(words=words):
            return tuple(words)
        case _:
            return None


def _stored(fact: Feature) -> tuple[str, ...] | tuple[float, ...] | None:
    """Return the words as stored in a column: numbers if all words are numbers, otherwise text."""
    words = listed(fact)
    if words is None:
        return None
    said = [reading(word) for word in words]
    numbers = tuple(float(value) for value in said if isinstance(value, int | float))
    exact = all(abs(number) < LARGEST_EXACT for number in numbers)
    return numbers if exact and len(numbers) == len(words) else words
