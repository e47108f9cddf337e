"""The target of a published model: one of two labels, one of several classes, a number, or a count."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class TwoLabels:
    """One of two labels; a positive score predicts the second.

    Attributes
    ----------
    classes : pair
        The labels.
    """

    classes: tuple[Any, Any]

    type = "two labels"
    links = ("sign", "logit")
    outputs = 1


@dataclass(frozen=True)
class Classes:
    """One of several classes, each of which has a score; the class with the largest score is predicted.

    Attributes
    ----------
    classes : tuple
        The labels.
    """

    classes: tuple[Any, ...]

    type = "classes"
    links = ("sign", "softmax")

    @property
    def outputs(self) -> int:
        """How many scores a record has."""
        return len(self.classes)


@dataclass(frozen=True)
class Interval:
    """A number. In the fit, targets were clipped to the bounds; predictions may lie outside.

    Attributes
    ----------
    low, high : float
        The bounds.
    """

    low: float
    high: float

    type = "interval"
    links = ("identity",)
    outputs = 1


@dataclass(frozen=True)
class Counts:
    """The mean of a whole number from 0 on.

    Attributes
    ----------
    largest : float
        The largest count; in the fit, larger counts counted as this one.
    """

    largest: float

    type = "counts"
    links = ("log",)
    outputs = 1


Target = TwoLabels | Classes | Interval | Counts
_TYPES: dict[str, type[Target]] = {target.type: target for target in (TwoLabels, Classes, Interval, Counts)}


def to_dict(target: Target) -> dict[str, Any]:
    """Write a target as plain data.

    Parameters
    ----------
    target : Target
        What is predicted.

    Returns
    -------
    written : dict
        Its type and its attributes.
    """
    return {"type": target.type, **asdict(target)}


def from_dict(written: dict[str, Any]) -> Target:
    """Read a target, and make the checks that a JSON Schema cannot express.

    Parameters
    ----------
    written : dict
        What `to_dict` returned, or a document that follows the JSON Schema.

    Returns
    -------
    target : Target
        The same target.

    Raises
    ------
    ValueError
        If it makes no sense; the message completes a sentence that begins with the file's name.
    """
    entries = {name: value for name, value in written.items() if name != "type"}
    if "classes" in entries:
        classes = entries["classes"] = tuple(entries["classes"])
        if len({type(label) for label in classes}) > 1 or len(set(classes)) < len(classes):
            count = "two " if len(classes) == 2 else ""
            raise ValueError(f"its classes are not {count}different labels of one type.")
    if "low" in entries and not entries["low"] < entries["high"]:
        raise ValueError("the lower bound of its target is not below the upper one.")
    return _TYPES[written["type"]](**entries)
