"""Whether a fit runs in a worker of joblib or of Dask, where one thread is enough.

There is one such worker for each core, so further threads would only wait for each other. Waiting threads
spin for a moment before they sleep, and so take time from workers that compute.
"""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext

from joblib.parallel import get_active_backend  # installed with scikit-learn


def in_worker() -> bool:
    """Return whether the caller runs in a process or thread that joblib or Dask started for its tasks."""
    backend, _ = get_active_backend()
    if getattr(backend, "nesting_level", 0):
        return True
    dask_worker = sys.modules.get("distributed.worker")  # if it is not imported, no task of Dask is running
    if dask_worker is None:
        return False
    try:
        dask_worker.get_worker()
    except ValueError:
        return False
    return True


def one_thread_in_workers() -> AbstractContextManager[None]:
    """Return a context in which a worker uses only its own thread; other processes use all their threads.

    Returns
    -------
    context : context manager
        The context in which to make passes over records.

    Examples
    --------
    >>> with one_thread_in_workers():
    ...     in_worker()
    False
    """
    if not in_worker():
        return nullcontext()
    from privfit.engine.parallel.threads import one_thread  # imported late: it needs numba

    return one_thread()
