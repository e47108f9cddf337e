"""Compiled loops on disk: one file for each signature, so processes cannot mix them up.

numba numbers the files of a function's machine code, and an index says which number belongs to which types.
If two processes compile one function for different types at the same moment, both take the first free number.
The index of one then names the machine code of the other, and a later process runs code for float64 on a
float32 table: it reads past the table's end, and no bound of a sum holds. This can happen to workers that
start with an empty cache. Here the name of a file is a digest of everything that its code depends on, so
processes share neither numbers nor an index. Two processes that compile the same code write the same file.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any, cast

from numba.core.caching import IndexDataCacheFile


class FilesBySignature(IndexDataCacheFile):
    """The files of one function's machine code, named by a digest of version, source and types."""

    def save(self, key: Any, data: Any) -> None:
        """Write the code for these types. Files are written under another name and renamed when complete."""
        write: Callable[[str, Any], None] = self._save_data
        write(self._file_of(key), data)

    def load(self, key: Any) -> Any:
        """Return the code for these types, or None if no process has compiled it yet."""
        read: Callable[[str], Any] = self._load_data
        try:
            return read(self._file_of(key))
        except FileNotFoundError:
            return None

    def _file_of(self, key: Any) -> str:
        depends_on = repr((self._version, self._source_stamp, key))
        name: str = self._data_name_pattern.replace("{number:d}", "{digest}")
        return name.format(digest=hashlib.sha256(depends_on.encode()).hexdigest()[:32])


def keep_by_signature(dispatcher: Any) -> None:
    """Let a function that was compiled with `cache=True` keep its machine code in such files.

    With NUMBA_DISABLE_JIT, numba returns the Python function, which has no machine code.
    """
    if not hasattr(dispatcher, "_cache"):
        return
    cache, files = dispatcher._cache, cast(Any, FilesBySignature)
    cache._cache_file = files(
        cache_path=cache.cache_path,
        filename_base=cache._impl.filename_base,
        source_stamp=cache._impl.locator.get_source_stamp(),
    )
