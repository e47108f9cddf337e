"""Convert a fitted estimator into published facts, and back."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from privfit.accounting import promise as promises
from privfit.accounting.composition import FamilyTotal
from privfit.estimators.evidence import evidence_of, receipt_from_dict
from privfit.estimators.preparation import Preparation
from privfit.estimators.statement import PrivacyStatement
from privfit.models.origin import Origin
from privfit.models.published import Published, versions
from privfit.printable import printable
from privfit.schema import Schema
from privfit.solvers import Step


def published(model: Any) -> Published:
    """Return the facts of a fitted model that may be published: released and public facts only."""
    names = getattr(model, "feature_names_in_", None)
    preparation: Preparation = model.preparation_
    schema: Schema | None = model.schema_
    facts = Published(
        kind=model._kind,
        link=model._link_of_fit,
        target=model._target,
        weights=np.atleast_2d(model.coef_).astype(np.float64),
        intercepts=np.atleast_1d(model.intercept_).astype(np.float64),
        has_intercept=preparation.intercept,
        feature_names=None if names is None else tuple(map(str, names)),
        columns=None if schema is None else schema.feature_names,
        bounds=preparation.bounds,
        unit_rows=preparation.unit_rows,
        schema=None if schema is None else schema.to_dict(),
        steps=tuple(asdict(step) for step in model.trace_),
        privacy=statement_to_dict(model.privacy_),
        versions=versions(),
        settings=model.loss_settings_,
        weighting=model.weighting_,
        inference=getattr(model, "inference_", None),
        evidence=evidence_of(model.privacy_),
    )
    misfit = facts.misfit()
    if misfit is not None:
        raise ValueError(f"The model cannot be published: {misfit}.")
    return facts


def restored(model: Any, facts: Published, statement: PrivacyStatement) -> Any:
    """Set the attributes of an unfitted estimator from a published model; it then predicts the same."""
    model._keep_target(facts.target)
    model.loss_settings_ = {name: float(getattr(model, name)) for name in model._loss_settings}
    model._keep_weights(facts.weights.copy(), facts.intercepts.copy())
    model.weighting_ = facts.weighting
    model.inference_ = facts.inference
    model.n_iter_, model.trace_ = len(facts.steps), tuple(Step(**step) for step in facts.steps)
    model.preparation_ = Preparation(facts.bounds, facts.has_intercept, facts.unit_rows)
    model.schema_ = Schema.of(model.schema) if model.schema is not None else None
    model.n_features_in_ = facts.n_columns if model.schema_ is None else len(model.schema_.features)
    if facts.feature_names is not None:
        model.feature_names_in_ = np.array(facts.feature_names, dtype=object)
    model.ledger_ = None  # a published model has no ledger
    model.privacy_ = statement
    return model


def statement_to_dict(statement: PrivacyStatement) -> dict[str, Any]:
    """Write a statement as plain numbers and strings."""
    origin, most = statement.origin.to_dict(), statement.records_per_person
    return {
        "promise": None if statement.promise is None else promises.to_dict(statement.promise),
        "account": None if statement.ledger is None else promises.to_dict(statement.ledger),
        "relation": statement.relation,
        **({} if most is None else {"records_per_person": most}),
        "assumptions": list(statement.assumptions),
        "spending": dict(statement.spending),
        "notes": list(statement.notes),
        # without privacy the total is infinite, which the text states and JSON cannot hold
        "family": asdict(statement.family) if statement.promise and statement.family else None,
        **({"origin": origin} if origin else {}),
        "text": statement.text,
    }


def statement_from_dict(written: dict[str, Any], evidence: dict[str, Any] | None = None) -> PrivacyStatement:
    """Read a statement. Its texts are computed from its numbers; the file's texts are ignored.

    From the evidence, only the facts that the statement lacks are read. `privfit verify` compares the two.
    """
    family = written["family"]
    family = None if family is None else family | {"unknown": printable(family["unknown"])}
    try:
        promise, ledger = (
            None if written[name] is None else promises.from_dict(written[name])
            for name in ("promise", "account")
        )
        records_per_person = written.get("records_per_person")
        if promise is not None and (promise.person_id is None) != (records_per_person is None):
            raise ValueError("a promise to people says how many of their records were used")
        return PrivacyStatement(
            promise,
            tuple(map(printable, written["assumptions"])),
            {printable(what): rho for what, rho in written["spending"].items()},
            tuple(map(printable, written["notes"])),
            ledger=ledger,
            family=None if family is None else FamilyTotal(**family),
            relation=printable(written["relation"]),
            records_per_person=records_per_person,
            origin=Origin(**written.get("origin", {})),
            receipt=None if evidence is None else receipt_from_dict(evidence),
        )
    except (TypeError, ValueError, ArithmeticError):
        raise ValueError("the promise in it makes no sense.") from None
