"""Pickles hold the version of privfit, and only the same version reads them.

A pickle holds privfit's internal objects, whose attributes change between versions. Later versions can read
model files.
"""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator

from privfit.version import __version__

_KEY = "_privfit_version"
_VERSION = __version__


class PickledForOneVersion(BaseEstimator):  # type: ignore[misc]  # scikit-learn is untyped
    """An estimator whose pickles only the same version of privfit can read."""

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        # check the version before the attributes are unpickled, because their classes may have moved
        return _new, (_VERSION, type(self)), self.__getstate__()

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), _KEY: _VERSION}

    def __setstate__(self, state: dict[str, Any]) -> None:
        # pickles of versions that did not store their version come here without a call of `_new`
        _check(state.get(_KEY), type(self))
        super().__setstate__({name: value for name, value in state.items() if name != _KEY})


def _new(made_by: str, kind: type[PickledForOneVersion]) -> PickledForOneVersion:
    _check(made_by, kind)
    return kind.__new__(kind)


def _check(made_by: str | None, kind: type[Any]) -> None:
    if made_by != _VERSION:
        maker = "an earlier version of privfit" if made_by is None else f"privfit {made_by}"
        raise ValueError(
            f"This pickle of {kind.__name__} was made by {maker}, and privfit {_VERSION} reads only its "
            "own pickles; write a fitted model with save, and read it with privfit.load, which reads the "
            "model files of earlier versions, too."
        )
