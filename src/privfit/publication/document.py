"""Model files: JSON documents with a published JSON Schema. Reading them trusts nothing in the file."""

from __future__ import annotations

import json
import math
from importlib.resources import files
from typing import Any

import numpy as np

from privfit.models import targets
from privfit.models.inference import Inference
from privfit.models.links import LINKS
from privfit.models.published import Published
from privfit.printable import printable

FORMAT, VERSION = "privfit-model", 2
_SCHEMAS = {1: "model.version1.schema.json", 2: "model.schema.json"}  # by version
LONE_SURROGATE = "is not valid Unicode: it holds half of a surrogate pair"
_LINKS_OF_VERSION_1 = {"logistic": "logit", "svm": "sign"}  # by kind
MOST_LEVELS = 100  # of lists and objects within others; what reads more of them may exceed Python's stack
LARGEST_FILE = 200_000_000  # bytes: a million columns with their bounds and names


def json_schema(version: int = VERSION) -> dict[str, Any]:
    """Return the JSON Schema of model files.

    Parameters
    ----------
    version : {1, 2}
        The version of the format. This privfit writes version 2 and reads both.

    Returns
    -------
    schema : dict
        It follows draft 2020-12.
    """
    text = files("privfit.publication").joinpath(_SCHEMAS[version]).read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


def to_json(model: Published) -> str:
    """Return the document of a model.

    Parameters
    ----------
    model : Published
        What is to be written.

    Returns
    -------
    text : str
        A JSON document. Numbers that are read from it are equal bit for bit.

    Raises
    ------
    ValueError
        If a name or label is not valid Unicode, because a file could not hold it.
    """
    bounds = None if model.bounds is None else [side.tolist() for side in model.bounds]
    written = {
        "format": FORMAT,
        "version": VERSION,
        "kind": model.kind,
        "link": model.link.name,
        "target": targets.to_dict(model.target),
        "feature_names": None if model.feature_names is None else list(model.feature_names),
        "columns": None if model.columns is None else list(model.columns),
        "weights": model.weights.tolist(),
        "intercepts": model.intercepts.tolist(),
        **({} if model.covariance is None else {"covariance": model.covariance.tolist()}),
        **({"settings": model.settings} if model.settings else {}),
        **({"weighting": model.weighting} if model.weighting else {}),
        **({} if model.inference is None else {"inference": model.inference.to_dict()}),
        "preprocessing": {
            "schema": model.schema,
            "clip": None if bounds is None else {"low": bounds[0], "high": bounds[1]},
            "has_intercept": model.has_intercept,
            "unit_rows": model.unit_rows,
        },
        "privacy": model.privacy,
        "steps": list(model.steps),
        "versions": model.versions,
        **({} if model.evidence is None else {"evidence": model.evidence}),
    }
    text = json.dumps(written, allow_nan=False, indent=1, ensure_ascii=False) + "\n"
    if not _is_unicode(text):
        raise ValueError(f"A name or label of the model {LONE_SURROGATE}; rename it before the fit.")
    return text


def from_json(text: str) -> Published:
    """Read a document, trusting nothing in it.

    Parameters
    ----------
    text : str
        What the file holds.

    Returns
    -------
    model : Published
        The same model.

    Raises
    ------
    ValueError
        If it is not a model file; the message completes a sentence that begins with the file's name.
    """
    written = parsed(text)
    if not isinstance(written, dict) or written.get("format") != FORMAT:
        raise ValueError("it holds no privfit model.")
    version = written.get("version")
    if type(version) is not int or version not in _SCHEMAS:
        raise ValueError("its format is not version 1 or 2, which this privfit reads; update privfit.")
    check_against(json_schema(version), written)
    return _checked(written if version == VERSION else _as_version_2(written))


def parsed(text: str) -> Any:
    """Read JSON, and refuse JSON that other programs may read differently.

    Parameters
    ----------
    text : str
        What a file holds.

    Returns
    -------
    written : object
        The value. It has no NaN, infinities, repeated keys or halves of surrogate pairs.

    Raises
    ------
    ValueError
        If the text is not such JSON; the message completes a sentence that begins with the file's name.
    """
    try:
        written = json.loads(
            text,
            parse_constant=_refuse_constant,
            parse_float=_finite,
            parse_int=_whole,
            object_pairs_hook=_with_distinct_keys,
        )
    except _Ambiguous as error:
        raise ValueError(str(error)) from None
    except (ValueError, RecursionError):
        raise ValueError("it is not whole JSON; was it cut off, or edited by hand?") from None
    if _is_deep(written):
        raise ValueError(f"it has lists or objects in more than {MOST_LEVELS} others.")
    if not _is_unicode(json.dumps(written, ensure_ascii=False)):
        raise ValueError(f"a text in it {LONE_SURROGATE}.")
    return written


def check_against(schema: dict[str, Any], written: Any) -> None:
    """Raise ValueError unless a document follows a JSON Schema.

    Parameters
    ----------
    schema : dict
        Of draft 2020-12.
    written : object
        The document.

    Raises
    ------
    ValueError
        If it does not; the message completes a sentence that begins with the file's name.
    """
    from jsonschema import Draft202012Validator  # imported late: only reading a file needs it

    worst = next(iter(Draft202012Validator(schema).iter_errors(written)), None)
    if worst is not None:
        where = printable("/".join(map(str, worst.absolute_path)))[:200] or "the document"
        raise ValueError(f"its entry {where} breaks the rule {worst.validator!r} of the format.")


def _as_version_2(written: dict[str, Any]) -> dict[str, Any]:
    """Return a document of version 1 in the form of version 2."""
    return {
        **written,
        "link": _LINKS_OF_VERSION_1[written["kind"]],
        "target": {"type": "two labels", "classes": written["classes"]},
        "weights": [written["weights"]],
        "intercepts": [written["intercept"]],
    }


class _Ambiguous(ValueError):
    """JSON that two programs may read differently."""


def _refuse_constant(name: str) -> float:
    raise ValueError(name)


def _finite(written: str) -> float:
    number = float(written)
    if math.isinf(number):
        raise _Ambiguous("a number in it is too large.")
    return number


def _whole(written: str) -> int:
    _finite(written)
    return int(written)


def _with_distinct_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the pairs as a dictionary. Programs differ in which of two equal keys counts, so raise."""
    distinct = dict(pairs)
    if len(distinct) < len(pairs):
        raise _Ambiguous("it names a key twice in one place.")
    return distinct


def _is_deep(written: Any) -> bool:
    """Return whether there are more than `MOST_LEVELS` lists and objects within one another."""
    level = [written]
    for _ in range(MOST_LEVELS + 1):
        held = [each for each in level if isinstance(each, dict | list)]
        level = [inner for each in held for inner in (each.values() if isinstance(each, dict) else each)]
    return bool(level)


def _is_unicode(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _checked(written: dict[str, Any]) -> Published:
    """Return the model after the checks that a JSON Schema cannot express."""
    prepared = written["preprocessing"]
    weights = _matrix("weights", written["weights"])
    n_columns = weights.shape[1]
    clip = prepared["clip"]
    bounds = None if clip is None else (_numbers("low", clip["low"]), _numbers("high", clip["high"]))
    if bounds is not None and not (len(bounds[0]) == len(bounds[1]) == n_columns):
        raise ValueError("it does not have one pair of bounds for each weight.")
    if bounds is not None and (bounds[0] > bounds[1]).any():
        raise ValueError("a lower bound in it is above the upper one.")
    names, columns = (
        None if written[key] is None else tuple(written[key]) for key in ("feature_names", "columns")
    )
    named = names if columns is None else columns
    if named is not None and len(named) != n_columns:
        raise ValueError("it does not have one feature name for each weight.")
    covariance = written.get("covariance")
    model = Published(
        kind=written["kind"],
        link=LINKS[written["link"]],
        target=targets.from_dict(written["target"]),
        weights=weights,
        intercepts=_numbers("intercepts", written["intercepts"]),
        has_intercept=prepared["has_intercept"],
        feature_names=names,
        columns=columns,
        bounds=bounds,
        unit_rows=prepared["unit_rows"],
        schema=prepared["schema"],
        steps=tuple(written["steps"]),
        privacy=written["privacy"],
        versions=written["versions"],
        weighting=written.get("weighting", {}),
        covariance=None if covariance is None else _matrix("covariances", covariance),
        settings={name: float(value) for name, value in written.get("settings", {}).items()},
        inference=_inference(written.get("inference")),
        evidence=written.get("evidence"),
    )
    misfit = model.misfit()
    if misfit is not None:
        raise ValueError(f"{misfit}.")
    return model


def _inference(written: dict[str, Any] | None) -> Inference | None:
    """Return the released numbers for standard errors, if the file has them; raise if they are invalid."""
    if written is None:
        return None
    for name in ("directions", "curvature", "spread"):
        _matrix(name, written[name])
    corrected = written.get("corrected") or written["estimate"]
    for name, numbers in (
        ("estimate", written["estimate"]),
        ("step", written["step"]),
        ("corrected", corrected),
    ):
        _numbers(name, numbers)
    if len(corrected) != len(written["estimate"]):
        raise ValueError("its intervals do not fit together.")
    try:
        return Inference.from_dict(written)
    except (ValueError, ArithmeticError, np.linalg.LinAlgError):
        raise ValueError("its intervals do not fit together.") from None


def _matrix(name: str, written: list[list[float]]) -> np.ndarray[Any, np.dtype[np.float64]]:
    if len({len(row) for row in written}) > 1:
        raise ValueError(f"the rows of its {name} have different lengths.")
    return np.stack([_numbers(name, row) for row in written])


def _numbers(name: str, written: list[float]) -> np.ndarray[Any, np.dtype[np.float64]]:
    try:
        numbers = np.array(written, dtype=np.float64)
    except OverflowError:  # an integer of hundreds of digits
        numbers = np.array([np.inf])
    if not np.isfinite(numbers).all():
        raise ValueError(f"a number among its {name} is too large.")
    return numbers
