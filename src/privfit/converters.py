"""Functions that convert models, registered so that methods of estimators find them by name.

Estimators may not import the modules that these functions call (see docs/architecture.md). `import privfit`
runs this file, so the functions import those modules when they are called, and `privfit --help` stays fast.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from privfit.models.converters import register_converter

if TYPE_CHECKING:
    from privfit.models.published import Published


@register_converter
def model_file(model: Published) -> str:
    """Return the text of a model file."""
    from privfit.publication.document import to_json

    return to_json(model)


@register_converter
def plain_sklearn(model: Published, *, encoded: bool) -> Any:
    """Return an estimator or pipeline of scikit-learn that predicts the same."""
    from privfit.publication.plain import to_sklearn

    return to_sklearn(model, encoded=encoded)


@register_converter
def page(model: Published, *, scores: Any, title: str | None, card: Mapping[str, str] | None) -> str:
    """Return a page about the model; `scores` is an `Evaluation`, or None."""
    from privfit.report import render

    return render(model, scores=None if scores is None else scores.to_dict(), title=title, card=card)
