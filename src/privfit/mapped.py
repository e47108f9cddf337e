"""Matrices that are written block by block to files without a name, and mapped into memory.

A table that is larger than memory is encoded once, before anything is charged, and every pass over it reads
the encoded numbers. They are stored in temporary files that are unlinked as soon as they are open. So no
other program can open them by name, and they disappear when the process ends, however it ends. The pages of a
mapped file belong to the page cache, so the system can free them when it needs memory.
"""

from __future__ import annotations

import mmap
import os
import tempfile
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

MOST_IN_MEMORY = 2**25  # bytes of an array; a larger one is written to a file
BLOCK_BYTES = 2**24  # of the rows that are copied at a time
DIRECTORY_VARIABLE = "PRIVFIT_CACHE_DIRECTORY"

Matrix = Any  # a 2-d array or a CSR matrix: NumPy has no common type for the two


def cache_directory() -> str:
    """Return the directory for temporary files: PRIVFIT_CACHE_DIRECTORY, or else that of the system."""
    directory = os.environ.get(DIRECTORY_VARIABLE) or tempfile.gettempdir()
    if not os.path.isdir(directory):
        raise FileNotFoundError(
            f"There is no directory {directory} for the encoded table; name another one by "
            f"{DIRECTORY_VARIABLE}."
        )
    return directory


class _Growing:
    """An array to which values are appended. It is in memory while it is small, and then in a file."""

    def __init__(self, dtype: Any) -> None:
        self.dtype, self.size = np.dtype(dtype), 0
        self._file = tempfile.SpooledTemporaryFile(  # noqa: SIM115  # `array` closes it
            max_size=MOST_IN_MEMORY, dir=cache_directory()
        )

    def append(self, values: NDArray[Any]) -> None:
        content = np.ascontiguousarray(values, dtype=self.dtype).reshape(-1).view(np.uint8)
        try:
            self._file.write(content.data)
            self._file.flush()
        except OSError as error:
            raise OSError(
                f"The encoded table could not be written to {cache_directory()} ({error.strerror}); name a "
                f"directory with more room by {DIRECTORY_VARIABLE}."
            ) from None
        self.size += content.size

    def array(self) -> NDArray[Any]:
        """Return all values that were appended; no more can be."""
        with self._file:  # a mapping stays when the file is closed
            if self.size <= MOST_IN_MEMORY:
                self._file.seek(0)
                return np.frombuffer(bytearray(self._file.read()), dtype=self.dtype)
            # shared, because a private mapping would have to fit into memory and swap; nobody writes to it
            return np.frombuffer(mmap.mmap(self._file.fileno(), self.size), dtype=self.dtype)


class Cache:
    """A matrix that is written block by block, dense or CSR as its blocks are.

    Parameters
    ----------
    n_columns : int
        The width of all blocks.

    Examples
    --------
    >>> import numpy as np
    >>> cache = Cache(2)
    >>> cache.append(np.eye(2))
    >>> cache.append(np.ones((1, 2)))
    >>> cache.matrix()
    array([[1., 0.],
           [0., 1.],
           [1., 1.]])
    """

    def __init__(self, n_columns: int) -> None:
        self.n_columns, self.n_rows = n_columns, 0
        cache_directory()  # which raises before a block is read if there is none
        self._parts: list[_Growing] = []  # the numbers; of CSR blocks also their columns and lengths of rows

    def append(self, block: Matrix) -> None:
        """Write further rows."""
        is_sparse = sparse.issparse(block)
        arrays = [block.data, block.indices, np.diff(block.indptr)] if is_sparse else [block]
        if not self._parts:  # the first block decides the precision
            self._parts = [_Growing(dtype) for dtype in (block.dtype, np.int32, np.int32)[: len(arrays)]]
        self.n_rows += block.shape[0]
        for part, values in zip(self._parts, arrays, strict=True):
            part.append(values)

    def matrix(self) -> Matrix:
        """Return all rows as an array or a CSR matrix, once; its numbers are mapped unless they are few."""
        shape = (self.n_rows, self.n_columns)
        if not self._parts:
            return np.empty(shape, np.float32)
        numbers, *places = (part.array() for part in self._parts)
        if not places:
            return numbers.reshape(shape)
        columns, lengths = places
        starts = np.zeros(self.n_rows + 1, np.int64)
        np.cumsum(lengths, out=starts[1:])
        return sparse.csr_matrix((numbers, columns, starts), shape=shape)


def is_mapped(array: Any) -> bool:
    """Return whether the numbers of an array lie in a mapped file."""
    while isinstance(array, np.ndarray):
        array = array.base
    if isinstance(array, memoryview):
        array = array.obj
    return isinstance(array, mmap.mmap)


def taken_once(X: Matrix) -> Matrix:
    """Return X, or a copy if X is mapped from a file, so that nobody else can change it (Q37).

    If the copy is large, it is mapped from a file without a name.
    """
    in_file = is_mapped(X.data if sparse.issparse(X) else X)
    return _copied(X, np.arange(X.shape[0])) if in_file else X


def rows_of(X: Matrix, rows: NDArray[Any]) -> Matrix:
    """Return these rows (indices or a mask), in memory or in a file like X."""
    if not is_mapped(X.data if sparse.issparse(X) else X):
        return X[rows]
    return _copied(X, np.flatnonzero(rows) if rows.dtype == np.bool_ else rows)


def _copied(X: Matrix, rows: NDArray[np.integer]) -> Matrix:
    cache = Cache(X.shape[1])
    height = max(1, BLOCK_BYTES // max(1, X.shape[1] * X.dtype.itemsize))
    for start in range(0, max(1, len(rows)), height):  # at least one block, which decides kind and precision
        cache.append(X[rows[start : start + height]])
    return cache.matrix()
