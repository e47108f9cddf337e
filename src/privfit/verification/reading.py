"""Read files with evidence: a model, scores, or the evidence alone. Nothing in them is trusted."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from privfit.printable import brief
from privfit.publication.document import (
    FORMAT,
    LARGEST_FILE,
    VERSION,
    check_against,
    from_json,
    json_schema,
    parsed,
)

EVIDENCE_FORMAT, EVIDENCE_VERSION = "privfit-evidence", 1


@dataclass(frozen=True)
class Document:
    """The statements of a file about a promise.

    Attributes
    ----------
    kind : {"model", "scores", "evidence"}
        What the file holds.
    evidence : dict or None
        The evidence; None if an earlier version wrote the file, or a later one wrote the evidence.
    privacy : dict or None
        The statement of a model or of scores; None in a file of evidence alone.
    steps : tuple of dict
        The price of each iteration of a fit.
    is_of_later_version : bool
        Whether there is evidence that this privfit cannot read.
    """

    kind: Literal["model", "scores", "evidence"]
    evidence: dict[str, Any] | None
    privacy: dict[str, Any] | None
    steps: tuple[dict[str, Any], ...] = ()
    is_of_later_version: bool = False


def read_document(path: str | Path) -> Document:
    """Read a model file, a file of scores, or a file of evidence.

    Parameters
    ----------
    path : str or Path
        Of the file.

    Returns
    -------
    document : Document
        Its statements, which follow the JSON Schema.

    Raises
    ------
    ValueError
        If it is none of the three.
    """
    path = Path(path)
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise ValueError("it is too large.")
        return _document(path.read_text(encoding="utf-8-sig"))
    except UnicodeDecodeError:
        raise ValueError(f"{path} holds no evidence: it is not text.") from None
    except ValueError as error:
        raise ValueError(f"{path} holds no evidence: {brief(str(error))}") from None


def _document(text: str) -> Document:
    written = parsed(text)
    if not isinstance(written, dict):
        raise ValueError("it is neither a model file nor a file of scores or evidence.")
    if written.get("format") == FORMAT:
        model = from_json(text)
        evidence, is_later = _readable(model.evidence)
        return Document("model", evidence, model.privacy, model.steps, is_later)
    if written.get("format") == EVIDENCE_FORMAT:
        evidence, is_later = _readable(written)
        return Document("evidence", evidence, None, (), is_later)
    if not isinstance(written.get("privacy"), dict):
        raise ValueError("it is neither a model file nor a file of scores or evidence.")
    evidence, is_later = _readable(written.get("evidence"))
    amounts = ("rho", "epsilon", "delta")  # only scores have these beside the promise
    privacy = {name: value for name, value in written["privacy"].items() if name not in amounts}
    schema = json_schema(VERSION)
    check_against(schema["properties"]["privacy"] | {"$defs": schema["$defs"]}, privacy)
    return Document("scores", evidence, privacy, (), is_later)


def _readable(evidence: Any) -> tuple[dict[str, Any] | None, bool]:
    """Return evidence of the version that this privfit reads, and whether it is of a later one."""
    if evidence is None:
        return None, False
    if not isinstance(evidence, dict) or evidence.get("format") != EVIDENCE_FORMAT:
        raise ValueError("its evidence is not in the format privfit-evidence.")
    version = evidence.get("version")
    if type(version) is not int or version < 1:
        raise ValueError("its evidence has no version.")
    if version > EVIDENCE_VERSION:
        return None, True
    schema = json_schema(VERSION)
    check_against({"$ref": "#/$defs/evidence", "$defs": schema["$defs"]}, evidence)
    return evidence, False
