"""An engine whose every answer about the records is noticed, whatever the engine is and learns to answer."""

from __future__ import annotations

from typing import Any

import numpy as np

# What engines, points and lines say that does not depend on the records. All else they say is a look.
PUBLIC = {
    "base",
    "gradient_bound",
    "intercept",
    "loss",
    "most",
    "n_columns",
    "n_weights",
    "person_gradient_bound",
    "raw_weights",
    "view",
    "w",
    "weighted",
}


class Watched:
    """Stands before an engine, a point or a line, and adds "look" to the events when it tells of the records.

    Other engines, points and lines tell nothing; they are watched in their turn.
    """

    def __init__(self, inner: Any, events: list[str]) -> None:
        self._inner, self._events = inner, events

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._inner, name)
        if name in PUBLIC:
            return value
        if not callable(value):
            return self._noticed(value)
        return lambda *arguments, **settings: self._noticed(value(*arguments, **settings))

    def _noticed(self, answer: Any) -> Any:
        if isinstance(answer, int | float | tuple | np.ndarray | np.generic):
            self._events.append("look")
            return answer
        return None if answer is None else Watched(answer, self._events)
