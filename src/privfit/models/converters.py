"""What writes, shows and converts published models: found here by name, entered from above.

The methods of an estimator end in functions that stand above the estimators: a model file is read back into
an estimator, and a page shows private scores. An estimator asks for them by name and imports none of them;
`privfit.converters` enters them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

CONVERTERS: dict[str, Callable[..., Any]] = {}


def register_converter(convert: Callable[..., Any]) -> Callable[..., Any]:
    """Enter a function of a `Published` model under its own name.

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
