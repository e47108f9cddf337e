"""Public lists of words, and the lookup of a cell's position in such a list by its value."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from privfit.schema.cells import reading
from privfit.schema.column import Numbers, first_repeated

LARGEST_EXACT = 2**53  # larger integers are not exact as float64


class Places:
    """The lookup of a cell's position in a public list, by value: 1, 1.0, "01" and True are the same."""

    def __init__(self, words: Sequence[Any], places: Iterable[int] | None = None) -> None:
        places = range(len(words)) if places is None else places
        self._places = {reading(word): float(place) for word, place in zip(words, places, strict=True)}

    def of(self, cell: Any) -> float:
        """Return the position, or NaN if the cell's value is not in the list."""
        return self._places.get(reading(cell), math.nan)

    def of_numbers(self, numbers: Numbers) -> Numbers:
        """Look up numbers among the words that are numbers and exact as floats."""
        listed = sorted(
            (float(said), place)
            for said, place in self._places.items()
            if said is not None and not isinstance(said, str)
        )
        if not listed:
            return np.full(len(numbers), np.nan)
        values, places = (np.array(part) for part in zip(*listed, strict=True))
        nearest = np.minimum(np.searchsorted(values, numbers), len(values) - 1)
        return np.where(values[nearest] == numbers, places[nearest], np.nan)

    @property
    def only_as_text(self) -> bool:
        """Whether a word is an integer that columns of numbers may confuse with another one."""
        return any(isinstance(said, int) and abs(said) >= LARGEST_EXACT for said in self._places)


def words_of(values: Iterable[Any], owner: str) -> tuple[str, ...]:
    """Return a list of words as text, or refuse it in a sentence that names its owner."""
    listed = [str(value) if isinstance(value, int) else value for value in _listed(values, owner)]
    words = distinct_values(listed, owner)
    refuse_words_that_read_alike(words, owner)
    return words


def distinct_values(values: Iterable[Any], owner: str) -> tuple[Any, ...]:
    """Return integers and words as they are, or refuse them in a sentence that names their owner."""
    listed = _listed(values, owner)
    for value in listed:
        if not isinstance(value, int) and not (isinstance(value, str) and value and value == value.strip()):
            raise ValueError(
                f"Each value of {owner} must be an integer or a non-empty string without surrounding space, "
                f"not {value!r}."
            )
    repeated = first_repeated(listed)
    if repeated is not None:
        raise ValueError(f"The values of {owner} name {repeated!r} more than once.")
    return tuple(listed)


def refuse_words_that_read_alike(words: Sequence[str], owner: str) -> None:
    """Refuse words that no cell can have, and two words that a table may store as the same cell."""
    known: dict[int | float | str, str] = {}
    for word in words:
        said = reading(word)
        if said is None:
            raise ValueError(f"The values of {owner} include {word!r}, which reads as a missing value.")
        if said in known:
            raise ValueError(
                f"The values of {owner} include {known[said]!r} and {word!r}, which read as the same; "
                "keep one of them."
            )
        known[said] = word


def _listed(values: Iterable[Any], owner: str) -> list[Any]:
    if isinstance(values, str | Mapping) or not isinstance(values, Iterable):
        raise ValueError(f"The values of {owner} must be a list, not the single value {values!r}.")
    return values.tolist() if hasattr(values, "tolist") else list(values)
