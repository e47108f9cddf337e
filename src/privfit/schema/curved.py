"""The base class of columns that may have a curve instead of a straight line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, Self

from privfit.schema.column import OTHER, Scale
from privfit.schema.curve import MOST_EDGES, Curve, edges_between

EDGES_WITHOUT_BUDGET = 10  # number of edges of a curve for which neither the schema nor a fit decides it


@dataclass(frozen=True)
class Curved(Scale):
    """A column that becomes one number or, with a curve, one for each piece between public edges.

    Parameters
    ----------
    name : str
        The column's name.
    unit : str
        The unit of the column's numbers, such as "years", which is shown with the weights.
    missing : {"fill", "indicator", "refuse"}
        How to handle a cell that is missing or does not fit: it counts as `fill`, or has an indicator of
        its own, or the table is refused.
    fill : optional
        A public value for such cells. By default they count as the middle of a range.
    monotone : {"", "up", "down"}
        Whether a higher value may only raise ("up"), or only lower, the score of the positive class or the
        predicted number. A curve then only rises, or only falls.
    curve : bool, int or sequence, optional
        Whether the column has a curve, which may bend at public edges. True: the privacy budget of the fit
        decides the number of edges. A number: this many edges. A sequence: these edges, between the bounds.
        False: no curve, for any setting `curves` of the estimator. None, the default: the setting `curves`
        decides.
    """

    _: KW_ONLY
    curve: bool | int | Sequence[Any] | None = None

    def _check_curve(self) -> None:
        """Convert the declared curve into one form; raise if it is invalid. Bounds were checked before."""
        curve = self.curve
        if curve is None or isinstance(curve, bool):
            return
        if isinstance(curve, int):
            if not 0 <= curve <= MOST_EDGES:
                raise ValueError(
                    f"curve of column {self.name!r} must be true, false, a number of edges up to "
                    f"{MOST_EDGES}, or a list of edges, not {curve!r}."
                )
            object.__setattr__(self, "curve", curve or False)
            return
        if isinstance(curve, str) or not isinstance(curve, Sequence):
            raise ValueError(
                f"curve of column {self.name!r} must be true, false, a number of edges, or a list of edges, "
                f"not {curve!r}."
            )
        edges = tuple(self._edge(edge) for edge in curve)
        knots = (self.ends[0], *map(self.read, edges), self.ends[1])
        ascending = all(a < b for a, b in pairwise(knots))
        if not ascending or len(edges) > MOST_EDGES:
            raise ValueError(
                f"The edges of column {self.name!r} must be at most {MOST_EDGES} values between its bounds, "
                "in ascending order."
            )
        object.__setattr__(self, "curve", edges or False)

    def _edge(self, edge: Any) -> Any:
        """Return a declared edge in the same form as the bounds; raise if it is invalid."""
        raise NotImplementedError

    def _edges(self, readings: Sequence[float]) -> tuple[Any, ...]:
        """Return edges in the same form as the bounds."""
        raise NotImplementedError

    @property
    def _is_whole(self) -> bool:
        return False

    @property
    def is_undecided(self) -> bool:
        """Whether there is a curve and a fit has to decide its number of edges."""
        return self.curve is True

    def with_edges(self, count: int) -> Self:
        """Return the column with its edges as numbers; `count` of them if their number is undecided.

        Parameters
        ----------
        count : int
            The number of edges; 0 makes it a plain column.

        Returns
        -------
        column : Curved
            Its `curve` is a tuple of edges, or False.
        """
        if not self.curve or isinstance(self.curve, Sequence):
            return self
        wanted = count if self.curve is True else int(self.curve)
        return replace(self, curve=self._edges(edges_between(*self.ends, wanted, whole=self._is_whole)))

    def without_curve(self) -> Self:
        """Return the same column without a curve.

        Returns
        -------
        column : Curved
            It becomes one number.
        """
        return replace(self, curve=False) if self.curve else self

    @cached_property
    def shape(self) -> Curve | None:
        """The curve, or None for a plain column.

        A curve whose number of edges is undecided has `EDGES_WITHOUT_BUDGET` of them here. In a fitted model
        the number is decided.
        """
        decided = self.with_edges(EDGES_WITHOUT_BUDGET)
        if not decided.curve:
            return None
        assert isinstance(decided.curve, Sequence)
        low, high = self.ends
        return Curve((low, *map(self.read, decided.curve), high))

    def _pieces(self) -> Iterator[tuple[str, str]]:
        """Yield the ends of the pieces in words."""
        curve = self.with_edges(EDGES_WITHOUT_BUDGET).curve
        low, high = self.span
        inner = [self._in_words(edge) for edge in curve] if isinstance(curve, Sequence) else []
        yield from zip([low, *inner], [*inner, high], strict=True)

    def _in_words(self, edge: Any) -> str:
        raise NotImplementedError

    @cached_property
    def levels(self) -> tuple[str, ...]:
        """One number, or one for each piece of a curve, and an indicator for cells that have none."""
        if self.shape is None:
            return super().levels
        pieces = tuple(f"{start} to {end}" for start, end in self._pieces())
        return (*pieces, OTHER) if self.has_indicator else pieces

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The features that this column becomes: ``column[start, end]`` for a piece of a curve."""
        if self.shape is None:
            return super().feature_names
        pieces = tuple(f"{self.name}[{start}, {end}]" for start, end in self._pieces())
        return (*pieces, f"{self.name}={OTHER}") if self.has_indicator else pieces

    def step(self, level: str) -> str:
        """Return the two compared values; the indicator of missing cells compares with the lowest."""
        if self.shape is None or level == OTHER:
            return super().step(level)
        return f"from {level} {self.unit}".rstrip()
