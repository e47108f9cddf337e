"""Load a model file as an estimator with the same predictions."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from privfit.estimators.publishing import restored, statement_from_dict
from privfit.models.published import ONE_RECORD_EACH, Published
from privfit.models.registry import MODELS
from privfit.publication.document import LARGEST_FILE, from_json
from privfit.schema import Label, Schema

LONGEST_REASON = 500  # characters of a refusal


def load(path: str | Path) -> Any:
    """Read a model that `save` wrote. No code in the file is run, and everything in it is checked.

    Parameters
    ----------
    path : str or Path
        The model file.

    Returns
    -------
    model : DPLogisticRegression, DPLinearSVC or another estimator
        An estimator with the same predictions and the same privacy statement as the saved one.
    """
    path = Path(path)
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise ValueError("it is too large for one.")
        facts = from_json(path.read_text(encoding="utf-8-sig"))  # some editors put a mark in front
        statement = statement_from_dict(facts.privacy, facts.evidence)
        if facts.kind not in MODELS:
            known = ", ".join(sorted(MODELS))
            raise ValueError(f"its kind of model must be one of those that this privfit has: {known}.")
        estimator = MODELS[facts.kind].estimator
        if facts.link is not MODELS[facts.kind].link.for_scores(facts.target.outputs):
            raise ValueError(f"models of the kind {facts.kind!r} do not have the link {facts.link.name!r}.")
        schema = None if facts.schema is None else _schema(facts)
        if schema is not None and schema.identifier is not None:
            # earlier versions made this assumption for every table
            others = tuple(a for a in statement.assumptions if a != ONE_RECORD_EACH)
            statement = replace(statement, assumptions=others)
        declaring = estimator._declaring(facts.target)
        declaring = declaring if schema is None else {"schema": schema}
        settings = {name: facts.settings[name] for name in estimator._loss_settings if name in facts.settings}
        model = estimator(**declaring, **settings)
        if settings:
            model._loss_of_fit()  # raises ValueError for invalid settings
        if statement.promise is not None:
            model.set_params(epsilon=statement.epsilon, delta=statement.delta)
        return restored(model, facts, statement)
    except UnicodeDecodeError:
        raise ValueError(f"{path} is no model file: it is not text.") from None
    except ValueError as error:
        reason = str(error)  # it may quote a name that is as long as the file
        short = reason if len(reason) <= LONGEST_REASON else f"{reason[:LONGEST_REASON]}..."
        raise ValueError(f"{path} is no model file: {short}") from None


def _schema(facts: Published) -> Schema:
    """Read the schema of a published model, and check that its weights are those of that schema."""
    schema = Schema.from_dict(facts.schema or {})
    names = tuple(fact.name for fact in schema.features)
    if schema.feature_names != facts.columns or names != facts.feature_names:
        raise ValueError("its schema does not name its weights.")
    classes = schema.label.classes if isinstance(schema.label, Label) else ()
    if sorted(map(str, classes)) != sorted(map(str, facts.classes)):
        raise ValueError("its classes are not those of its schema.")
    return schema
