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
        self._file = tempfile.SpooledTemporaryFile(  # noqa: SIM115  # it is closed when nobody maps it
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
        """Return all values that were appended."""
        if self.size <= MOST_IN_MEMORY:
            self._file.seek(0)
            return np.frombuffer(bytearray(self._file.read()), dtype=self.dtype)
        # a shared mapping, because a private one would have to fit into memory and swap; nobody writes to it
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
        self._numbers: _Growing | None = None  # with the precision of the first block
        self._places, self._lengths = _Growing(np.int32), _Growing(np.int32)
        self._is_sparse = False

    def append(self, block: Matrix) -> None:
        """Write further rows."""
        if self._numbers is None:
            self._is_sparse, self._numbers = sparse.issparse(block), _Growing(block.dtype)
        self.n_rows += block.shape[0]
        if self._is_sparse:
            self._places.append(block.indices)
            self._lengths.append(np.diff(block.indptr))
            self._numbers.append(block.data)
        else:
            self._numbers.append(block)

    def matrix(self) -> Matrix:
        """Return all rows as an array or a CSR matrix; its numbers are mapped unless they are few."""
        if self._numbers is None:
            return np.empty((0, self.n_columns), np.float32)
        numbers = self._numbers.array()
        if not self._is_sparse:
            return numbers.reshape(self.n_rows, self.n_columns)
        starts = np.zeros(self.n_rows + 1, np.int64)
        np.cumsum(self._lengths.array(), out=starts[1:])
        shape = (self.n_rows, self.n_columns)
        return sparse.csr_matrix((numbers, self._places.array(), starts), shape=shape)


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
