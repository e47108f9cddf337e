"""Which directions of the weights the data can tell: all levels beside an intercept are one too many.

What is here follows from public facts, and from the map of the features that a solver bought.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privfit.curator import Vector
from privfit.penalties.regulariser import View


@dataclass(frozen=True)
class Category:
    """The columns of one category's levels, exactly one of which is 1 in every record, the others being 0.

    Parameters
    ----------
    columns : range
        The columns, one for each level.
    reference : int
        The column of the level with which the others are compared.
    complete : bool
        Whether every record has a level. If not, records without one count as the reference level.
    """

    columns: range
    reference: int
    complete: bool = True


@dataclass(frozen=True, eq=False)
class Contrasts:
    """Free directions of the weights, and what they mean for differences from the reference levels.

    Parameters
    ----------
    basis : array of shape (d, q)
        Orthonormal columns in the weights of a view. Noise that is isotropic there is so here.
    effects : array of shape (d, q)
        What each direction adds to the raw weights if those of the reference levels are moved to 0.
    references : tuple of int
        The columns of the reference levels.
    squares : array of shape (q, q)
        The least sum of squares of all raw weights that say the same, as a quadratic form.
    """

    basis: Vector
    effects: Vector
    references: tuple[int, ...]
    squares: Vector


def with_references_at_zero(w: Vector, categories: tuple[Category, ...]) -> Vector:
    """Return raw weights, the intercept's last, that predict the same of every record that has all levels.

    The weights of all levels of a category drift together. If their projection on the free directions
    were taken instead, the intercept would lack what the references had, and the first step would be long.
    """
    moved = w.copy()
    for category in categories:
        moved[category.columns] -= w[category.reference]
        moved[-1] += w[category.reference]
    return moved


def contrasts_of(view: View, d: int, intercept: bool, categories: tuple[Category, ...]) -> Contrasts:
    """Return the free directions of a model's d weights, the intercept's last, if there is one.

    Without an intercept there is one category, the first, whose weights say what an intercept would: they
    stay as they are, and so do those of categories that some records have no level of.
    """
    complete = [category for category in categories if category.complete]
    constant = range(d - 1, d) if intercept else complete[0].columns if complete else range(0)
    bound = list(categories) if intercept else complete[1:]
    to_raw = np.stack([view.raw_weights(unit) for unit in np.eye(d)], axis=1)
    lost, moved, same = np.zeros((d, len(bound))), np.eye(d), list[Vector]()
    for k, category in enumerate(bound):
        if category.complete:  # a constant that all levels share may as well be the intercept's
            common = np.zeros(d)
            common[category.columns] += 1.0
            common[constant] -= 1.0
            lost[:, k] = view.viewed_weights(common)
            moved -= np.outer(common, np.eye(d)[category.reference])
            same.append(common)
        else:  # weights orthogonal to this leave the reference at 0
            lost[:, k] = to_raw[category.reference]
    basis = np.linalg.qr(lost / np.linalg.norm(lost, axis=0), mode="complete")[0][:, len(bound) :]
    raw = to_raw @ basis
    squares = raw.T @ raw
    if same:
        directions = np.linalg.qr(np.stack(same, axis=1))[0]
        squares -= (directions.T @ raw).T @ (directions.T @ raw)
    return Contrasts(basis, moved @ raw, tuple(category.reference for category in bound), squares)
