"""The registry of functions that write, show and convert published models.

Methods of estimators need functions of packages that import the estimators, such as `privfit.report`, so
estimators cannot import them. They find these functions here by name; `privfit.converters` registers them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

CONVERTERS: dict[str, Callable[..., Any]] = {}


def register_converter(convert: Callable[..., Any]) -> Callable[..., Any]:
    """Register a function of a `Published` model under its own name.

    Parameters
    ----------
    convert : callable
        It takes the published model, and options by name.

    Returns
    -------
    convert : callable
        The same.
    """
    CONVERTERS[convert.__name__] = convert
    return convert
