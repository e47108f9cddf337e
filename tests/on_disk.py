"""Matrices that lie in mapped files."""

from __future__ import annotations

import mmap
import tempfile
from typing import Any

import numpy as np
import scipy.sparse as sp


def on_disk(X: Any) -> Any:
    """Return an array, or a CSR matrix, with the same numbers in mapped files without a name."""
    if sp.issparse(X):
        X = sp.csr_matrix(X)
        return type(X)((on_disk(X.data), on_disk(X.indices), X.indptr), shape=X.shape)
    with tempfile.TemporaryFile() as file:
        file.write(np.ascontiguousarray(X).tobytes() or b"\0")  # nothing cannot be mapped
        file.flush()
        return np.frombuffer(mmap.mmap(file.fileno(), 0), X.dtype, X.size).reshape(X.shape)
