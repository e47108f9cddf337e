"""Which records belong to which person, and which of a person's records are used.

Records belong to one person if their ids are equal (`privfit.schema.ids`). Records without an id are left
out. At most a limited number of records of each person are used. The choice depends on that person's records
alone, so adding or removing a person does not change the records of others (Q25 in docs/privacy.md).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from privfit.schema.ids import as_comparable, key_of, listed

NOBODY = -1  # the person number of records without an id
RECORDS_AT_ONCE = 4096  # the number of records whose contents are in memory as bytes at a time
_KEY = b"which records of a person are used"  # public, and the same for every table


@dataclass(frozen=True, eq=False)
class People:
    """Which person each record belongs to.

    Parameters
    ----------
    numbers : array of int64
        A person number for each record, which is `NOBODY` for records without an id. The numbers are only
        labels: the number of a person may depend on who else is in the table.
    ids : sequence
        The id of each person, by number.
    """

    numbers: NDArray[np.int64]
    ids: Sequence[Any]

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, rows: Any) -> People:
        """Return the people of these records."""
        return People(self.numbers[rows], self.ids)


def people_in(column: Any, name: str) -> People:
    """Read a column of ids.

    Parameters
    ----------
    column : array, or column of a frame or of an Arrow table
        An id for each record.
    name : str
        The name of the column in error messages.

    Returns
    -------
    people : People
        The person of each record.

    Raises
    ------
    ValueError
        If the column is stored as floats and holds whole numbers that floats do not tell apart.
    """
    cells = as_comparable(column)
    if cells is None:
        return _one_by_one(listed(column))
    from pyarrow import types

    if not (types.is_integer(cells.type) or types.is_floating(cells.type)):
        encoded = cells.dictionary_encode()
        read = _one_by_one(encoded.dictionary.to_pylist())
        places = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        return People(np.append(read.numbers, NOBODY)[places], read.ids)
    present = np.asarray(cells.is_valid())
    values = cells.fill_null(0).to_numpy(zero_copy_only=False)
    if values.dtype.kind == "f":
        present &= ~np.isnan(values)
        bits = np.finfo(values.dtype).nmant + 1  # from two to this power on, floats round whole numbers
        if (np.abs(values[present]) >= 2.0**bits).any():
            raise ValueError(
                f"{name} holds whole numbers from 2^{bits} on as floats, which round them, so two people may "
                "have got one id; give the ids as text or as integers."
            )
    ids, numbers = np.unique(values, return_inverse=True)
    return People(np.where(present, numbers.astype(np.int64), NOBODY), [key_of(v) for v in ids.tolist()])


def _one_by_one(cells: Sequence[Any]) -> People:
    numbers: dict[Any, int] = {}
    found = np.full(len(cells), NOBODY, dtype=np.int64)
    for row, cell in enumerate(cells):
        key = key_of(cell)
        if key is not None:
            found[row] = numbers.setdefault(key, len(numbers))
    return People(found, list(numbers))


def records_used(people: People, most: int, X: Any, *columns: NDArray[Any]) -> NDArray[np.intp]:
    """Return which records are used: at most `most` of each person, and none without an id.

    A person's records are ranked by a keyed hash of the id and of the record's contents, and the first ones
    are used. The key is a public constant. Records with equal contents are interchangeable. So the choice
    depends neither on other people nor on the order of the rows.

    Parameters
    ----------
    people : People
        The person of each record.
    most : int
        The largest number of records of a person to use.
    X : array or CSR matrix
        The features, as numbers.
    *columns : arrays
        Other contents of a record: its target and its weight.

    Returns
    -------
    rows : array of int
        Indices of records, those of a person one after the other, in the order of their ranks.
    """
    numbers = people.numbers
    rows = np.flatnonzero(numbers != NOBODY)
    counts = np.bincount(numbers[rows], minlength=1)
    ranks = np.zeros((len(numbers), 2), dtype=np.uint64)
    several = rows[counts[numbers[rows]] > 1]
    for start in range(0, len(several), RECORDS_AT_ONCE):
        block = several[start : start + RECORDS_AT_ONCE]
        whose = zip(numbers[block].tolist(), _contents(X, columns, block), strict=True)
        digests = b"".join(_digest(people.ids[number], content) for number, content in whose)
        ranks[block] = np.frombuffer(digests, dtype=">u8").reshape(-1, 2)
    ordered = rows[np.lexsort((ranks[rows, 1], ranks[rows, 0], numbers[rows]))]
    firsts = np.cumsum(counts) - counts
    places = np.arange(len(ordered)) - firsts[numbers[ordered]]
    return ordered[places < most]


def _digest(person: Any, content: bytes) -> bytes:
    said = repr(person).encode("utf-8", errors="backslashreplace")
    return hashlib.blake2b(b"%d:%b%b" % (len(said), said, content), digest_size=16, key=_KEY).digest()


def _contents(X: Any, columns: Sequence[NDArray[Any]], rows: NDArray[np.intp]) -> list[bytes]:
    """Return the contents of these records as bytes, which do not depend on how the table is stored."""
    beside = np.column_stack([np.zeros((len(rows), 0)), *(column[rows] for column in columns)])
    beside = np.ascontiguousarray(beside, dtype=np.float64) + 0.0  # not -0.0
    if not sparse.issparse(X):
        X = np.ascontiguousarray(X[rows], dtype=np.float64) + 0.0
        return [x.tobytes() + other.tobytes() for x, other in zip(X, beside, strict=True)]
    X = sparse.csr_array(X[rows], dtype=np.float64, copy=True)
    X.sum_duplicates()
    X.eliminate_zeros()
    places, values = X.indices.astype(np.int64), X.data
    cuts = zip(X.indptr[:-1], X.indptr[1:], beside, strict=True)
    return [places[a:b].tobytes() + values[a:b].tobytes() + other.tobytes() for a, b, other in cuts]
