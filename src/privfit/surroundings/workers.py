"""Whether a fit runs in a worker of joblib or of Dask, where one thread is enough.

Such workers are as many as there are cores, so further threads would only wait for each other. Threads that
wait watch for a moment before they go to sleep, which takes the time of a worker that computes.
"""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext

from joblib.parallel import get_active_backend  # which scikit-learn brings


def in_worker() -> bool:
    """Return whether the caller runs in a process or thread that joblib or Dask started for its tasks."""
    backend, _ = get_active_backend()
    if getattr(backend, "nesting_level", 0):
        return True
    dask_worker = sys.modules.get("distributed.worker")  # without which no task of Dask is running
    if dask_worker is None:
        return False
    try:
        dask_worker.get_worker()
    except ValueError:
        return False
    return True


def one_thread_in_workers() -> AbstractContextManager[None]:
    """Return a context in which a worker uses its own thread alone, and others as many as they may.

    Returns
    -------
    context : context manager
        To be entered by whoever makes passes over records.

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
