"""Which directions of the weights the data can tell: all levels beside an intercept are one too many.

What is here follows from public facts, and from the map of the features that a solver bought.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from privfit.curator import Vector
from privfit.penalties.regulariser import View

MOST_PAIRS = 2000  # of levels of one category: what is done with them takes the cube of their number


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
    levels : array of shape (d, number of levels)
        The weights of the view that predict each level of each category, as far as records can tell them.
    pairs : array of shape (number of pairs, 2)
        The levels, by their number, that no record has both of.
    """

    basis: Vector
    effects: Vector
    references: tuple[int, ...]
    squares: Vector
    levels: Vector
    pairs: NDArray[np.intp]

    def reduced(self, matrix: Vector, *, of_records: bool = True) -> Vector:
        """Return a noisy sum of z z' over records in the free directions, without noise that cannot be.

        A record has one level of a category, so the products of two levels add up to 0. The matrix is moved
        to the nearest one of which this is true, which takes the noise in that part away. Sums over people
        (not `of_records`) have no such zeros, because a person's records may have different levels.
        """
        if of_records and len(self.pairs):
            products = self.levels.T @ matrix @ self.levels
            first, second = self.pairs.T
            off = self._inverse_gram @ products[first, second]
            part = (self.levels[:, first] * off) @ self.levels[:, second].T
            matrix = np.asarray(matrix - 0.5 * (part + part.T))
        reduced: Vector = self.basis.T @ matrix @ self.basis
        return reduced

    @cached_property
    def _inverse_gram(self) -> Vector:
        """The inverse of the inner products of the matrices whose products with a sum over records are 0."""
        angles = self.levels.T @ self.levels
        j, k = self.pairs.T
        gram = 0.5 * (
            angles[np.ix_(j, j)] * angles[np.ix_(k, k)] + angles[np.ix_(j, k)] * angles[np.ix_(k, j)]
        )
        return np.asarray(np.linalg.pinv(gram, rcond=1e-10, hermitian=True), dtype=np.float64)


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
    columns = [column for category in categories for column in category.columns]
    levels = np.array([view.viewed_weights(np.eye(d)[column]) for column in columns]).reshape(-1, d).T
    same_everywhere = lost[:, [category.complete for category in bound]]
    if same_everywhere.size:
        null = np.linalg.qr(same_everywhere)[0]
        levels = levels - null @ (null.T @ levels)
    references = tuple(category.reference for category in bound)
    return Contrasts(basis, moved @ raw, references, squares, levels, _pairs(categories))


def _pairs(categories: tuple[Category, ...]) -> NDArray[np.intp]:
    """Return the pairs of levels of one category; none where there are too many to be worth the time."""
    sizes = [len(category.columns) for category in categories]
    if sum(size * (size - 1) // 2 for size in sizes) > MOST_PAIRS:
        return np.zeros((0, 2), dtype=np.intp)
    first, found = 0, [np.zeros((0, 2), dtype=np.intp)]
    for size in sizes:
        found.append(first + np.stack(np.triu_indices(size, 1), axis=1))
        first += size
    return np.concatenate(found)
