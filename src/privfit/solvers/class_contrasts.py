"""The identifiable directions of the weights of several classes: differences between classes.

The softmax does not change if one number is added to the scores of all classes. So the identifiable (free)
directions are the products of the free directions of the columns' weights and an orthonormal basis of the
vectors whose entries add up to 0 over the classes. Noise that is isotropic in the weights of all classes is
isotropic in this basis, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from privfit.curator import Vector
from privfit.solvers.contrasts import Contrasts


def basis_of_classes(outputs: int) -> Vector:
    """Return orthonormal columns whose entries add up to 0; for one output, the number 1."""
    if outputs == 1:
        return np.ones((1, 1))
    centred = np.eye(outputs) - 1.0 / outputs
    basis: Vector = np.linalg.qr(centred[:, 1:])[0]
    return basis


@dataclass(frozen=True, eq=False)
class ClassContrasts:
    """Free directions of the weights of several classes; the weights of one column are next to each other.

    Parameters
    ----------
    of_columns : Contrasts
        The free directions of the weights of one class.
    outputs : int
        The number of classes.
    """

    of_columns: Contrasts
    outputs: int

    @cached_property
    def of_classes(self) -> Vector:
        """An orthonormal basis of the differences between classes."""
        return basis_of_classes(self.outputs)

    @cached_property
    def basis(self) -> Vector:
        """Orthonormal columns in the weights of a view."""
        return _product(self.of_columns.basis, self.of_classes)

    @cached_property
    def weights(self) -> Vector:
        """The change of the raw weights along each direction; over the classes it adds up to 0."""
        return _product(self.of_columns.effects, self.of_classes)

    @cached_property
    def effects(self) -> Vector:
        """The change, along each direction, of the differences between each class's weights and the first's.

        Rows are ordered by class and then by column, the intercept last.
        """
        differences = self.of_classes[1:] - self.of_classes[0]
        return np.concatenate([_product(self.of_columns.effects, row[None]) for row in differences])

    @property
    def references(self) -> tuple[int, ...]:
        """The numbers of the effects that belong to reference levels."""
        d = len(self.of_columns.effects)
        return tuple(k * d + j for k in range(self.outputs - 1) for j in self.of_columns.references)

    @property
    def squares(self) -> Vector:
        """The least sum of squares of the raw weights of all classes, as a quadratic form."""
        return _product(self.of_columns.squares, np.eye(self.outputs - 1))

    def reduced(self, matrix: Vector, *, of_records: bool = True) -> Vector:
        """Return a noisy sum over records in the free directions, with known zeros restored.

        A record adds the Kronecker product of a matrix over classes and z z'. So the block of each pair of
        classes is symmetric, and in it the products of two levels of one category add up to 0.
        """
        d, q, free = *self.of_columns.basis.shape, self.outputs - 1
        parts = matrix.reshape(d, self.outputs, d, self.outputs)
        parts = np.einsum("iajb,ak,bl->klij", parts, self.of_classes, self.of_classes)
        found = np.empty((q, free, q, free))
        for k in range(free):
            for m in range(free):
                part = 0.5 * (parts[k, m] + parts[k, m].T)
                found[:, k, :, m] = self.of_columns.reduced(part, of_records=of_records)
        return found.reshape(q * free, q * free)


def _product(of_columns: Vector, of_classes: Vector) -> Vector:
    """Return the Kronecker product."""
    return np.asarray(np.kron(of_columns, of_classes), dtype=np.float64)
