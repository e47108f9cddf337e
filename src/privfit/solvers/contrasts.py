"""The identifiable directions of the weights: with an intercept, one level of each category is redundant.

All of this follows from public facts and from the released view of the features.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from privfit.curator import Vector
from privfit.penalties.regulariser import View

MOST_PAIRS = 2000  # the largest number of pairs of levels, because the time grows with its cube


@dataclass(frozen=True)
class Category:
    """The columns of one category's levels. In every record one of them is 1 and the others are 0.

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
    """Free directions of the weights, and the changes of differences from reference levels along them.

    Parameters
    ----------
    basis : array of shape (d, q)
        Orthonormal columns in the weights of a view. Isotropic noise in the weights is isotropic in them.
    effects : array of shape (d, q)
        The change of the raw weights along each direction, if the weights of the reference levels are set to
        0.
    references : tuple of int
        The columns of the reference levels.
    squares : array of shape (q, q)
        The least sum of squares among all raw weights with the same predictions, as a quadratic form.
    levels : array of shape (d, number of levels)
        For each level of each category, the identifiable part of the view's weights that predict it.
    pairs : array of shape (number of pairs, 2)
        Pairs of levels that no record has at the same time, by their numbers.
    """

    basis: Vector
    effects: Vector
    references: tuple[int, ...]
    squares: Vector
    levels: Vector
    pairs: NDArray[np.intp]

    def reduced(self, matrix: Vector, *, of_records: bool = True) -> Vector:
        """Return a noisy sum of z z' over records in the free directions, with known zeros restored.

        A record has one level of each category, so in the exact sum the products of two levels are 0. The
        noisy matrix is projected on the nearest matrix with these zeros, which removes their noise. Sums over
        people (not `of_records`) have no such zeros, because a person's records may have different levels.
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
    """Return raw weights with the same predictions in which the weights of reference levels are 0.

    The intercept, which is last, takes over the weights of the references. A projection on the free
    directions would lose them, and the first Newton step would be long.
    """
    moved = w.copy()
    for category in categories:
        moved[category.columns] -= w[category.reference]
        moved[-1] += w[category.reference]
    return moved


def contrasts_of(view: View, d: int, intercept: bool, categories: tuple[Category, ...]) -> Contrasts:
    """Return the free directions of a model's d weights; the intercept, if there is one, is last.

    Without an intercept, the weights of the first complete category take its place, so all of them are free.
    The weights of categories that are not complete are free, too.
    """
    complete = [category for category in categories if category.complete]
    constant = range(d - 1, d) if intercept else complete[0].columns if complete else range(0)
    bound = list(categories) if intercept else complete[1:]
    to_raw = np.stack([view.raw_weights(unit) for unit in np.eye(d)], axis=1)
    lost, moved, same = np.zeros((d, len(bound))), np.eye(d), list[Vector]()
    for k, category in enumerate(bound):
        # adding a constant to all of its levels has the same effect as changing the intercept
        if category.complete:
            common = np.zeros(d)
            common[category.columns] += 1.0
            common[constant] -= 1.0
            lost[:, k] = view.viewed_weights(common)
            moved -= np.outer(common, np.eye(d)[category.reference])
            same.append(common)
        else:  # weights orthogonal to this keep the reference at 0
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
    """Return the pairs of levels of the same category, or none if there are too many."""
    sizes = [len(category.columns) for category in categories]
    if sum(size * (size - 1) // 2 for size in sizes) > MOST_PAIRS:
        return np.zeros((0, 2), dtype=np.intp)
    first, found = 0, [np.zeros((0, 2), dtype=np.intp)]
    for size in sizes:
        found.append(first + np.stack(np.triu_indices(size, 1), axis=1))
        first += size
    return np.concatenate(found)
