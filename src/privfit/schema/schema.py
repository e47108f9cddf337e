"""Schemas: the public facts about a data set, which are known without reading it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

from privfit.printable import brief
from privfit.schema import document
from privfit.schema.column import Column, Feature, Identifier, first_repeated
from privfit.schema.curved import Curved
from privfit.schema.label import AnyLabel
from privfit.schema.weight import Weight

if TYPE_CHECKING:
    from privfit.schema.check import Purpose
    from privfit.schema.findings import Findings


@dataclass(frozen=True)
class Schema:
    """The public facts of a data set.

    Parameters
    ----------
    columns : sequence of Numeric, Integer, Boolean, Categorical, Ordinal, Date, Identifier, Weight or Ignored
        The columns, in order.
    label : Label, NumberLabel or CountLabel
        The column to predict: classes, a number or a count.
    records : int, optional
        The number of records, if it is public.
    taken_from_data : bool
        Whether bounds and categories were taken from the records, as by ``draft(leak=True)``. Fits then warn
        that their guarantee does not cover this, and strict mode refuses them.

    Examples
    --------
    >>> from privfit.schema import Label, Numeric
    >>> schema = Schema([Numeric("age", 0, 120, unit="years")], Label("ill", [False, True]))
    >>> print(schema.to_toml())
    [[columns]]
    name = "age"
    type = "numeric"
    low = 0.0
    high = 120.0
    unit = "years"
    <BLANKLINE>
    [label]
    name = "ill"
    classes = [false, true]
    <BLANKLINE>
    >>> Schema.from_toml(schema.to_toml()) == schema
    True
    """

    columns: Sequence[Column]
    label: AnyLabel
    records: int | None = None
    taken_from_data: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", tuple(self.columns))
        if not self.features:
            raise ValueError("A schema needs at least one column that is a feature.")
        repeated = first_repeated([column.name for column in self.columns])
        if repeated is not None:
            raise ValueError(f"The schema names column {repeated!r} more than once.")
        if self.label.name in {column.name for column in self.columns}:
            raise ValueError(f"Column {self.label.name!r} is the label; take it out of the columns.")
        repeated = first_repeated(self.feature_names)
        if repeated is not None:
            raise ValueError(f"Two columns of the schema would both become the feature {repeated!r}.")
        if sum(isinstance(column, Identifier) for column in self.columns) > 1:
            raise ValueError("A schema has at most one id; declare the other columns as ignored.")
        if sum(isinstance(column, Weight) for column in self.columns) > 1:
            raise ValueError("A schema has at most one weight; declare the other columns as ignored.")
        counted = isinstance(self.records, int) and not isinstance(self.records, bool)
        if self.records is not None and (not counted or self.records < 1):
            raise ValueError(f"records must be a positive whole number, not {self.records!r}.")
        if not isinstance(self.taken_from_data, bool):
            raise ValueError(f"taken_from_data must be true or false, not {self.taken_from_data!r}.")

    @property
    def features(self) -> tuple[Feature, ...]:
        """The columns that are features, in order."""
        return tuple(column for column in self.columns if isinstance(column, Feature))

    @property
    def identifier(self) -> Identifier | None:
        """The column that tells people apart, if one is declared."""
        return next((column for column in self.columns if isinstance(column, Identifier)), None)

    @property
    def weight(self) -> Weight | None:
        """The column that says how much each record counts, if one is declared."""
        return next((column for column in self.columns if isinstance(column, Weight)), None)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The encoded features, in the order of the columns."""
        return tuple(name for column in self.features for name in column.feature_names)

    @property
    def names(self) -> list[str]:
        """The columns that a fit reads: the features and the label."""
        return [fact.name for fact in (*self.features, self.label)]

    @property
    def names_in_fit(self) -> list[str]:
        """The columns that a fit reads, with ids and weights, which tables for predictions may lack."""
        others = (column.name for column in (self.identifier, self.weight) if column is not None)
        return [*self.names, *others]

    # -- curves ----------------------------------------------------------------------------------------

    @property
    def has_curves(self) -> bool:
        """Whether a column has a curve."""
        return any(column.curve for column in self.columns if isinstance(column, Curved))

    @property
    def has_undecided_curves(self) -> bool:
        """Whether a column has a curve whose number of edges a fit has to decide."""
        return any(column.is_undecided for column in self.columns if isinstance(column, Curved))

    def without_curves(self) -> Schema:
        """Return the same schema without curves.

        Returns
        -------
        schema : Schema
            A schema without curves.
        """
        return self._with_columns(lambda column: column.without_curve())

    def with_edges(self, count: int) -> Schema:
        """Return the same schema with the edges of its curves written out.

        Parameters
        ----------
        count : int
            The number of edges of curves for which the schema does not declare it; 0 for no curve.

        Returns
        -------
        schema : Schema
            A schema whose encoding is completely specified.
        """
        return self._with_columns(lambda column: column.with_edges(count))

    def with_curves(self, curves: bool | int | None) -> Schema:
        """Return the same schema with curves for the columns of numbers and dates that declare none.

        Parameters
        ----------
        curves : bool, int or None
            True: the privacy budget of a fit decides the number of edges. A number: this many edges. None:
            the schema does not change. False: no curves.

        Returns
        -------
        schema : Schema
            Columns that declare `curve`, even if it is false, keep what they declare, unless `curves` is
            False.
        """
        if curves is None:
            return self
        if curves is False:
            return self.without_curves()
        return self._with_columns(
            lambda column: replace(column, curve=curves) if column.curve is None else column
        )

    def _with_columns(self, changed: Callable[[Curved], Curved]) -> Schema:
        columns = [changed(column) if isinstance(column, Curved) else column for column in self.columns]
        return replace(self, columns=columns)

    # -- reading and writing ---------------------------------------------------------------------------

    @classmethod
    def of(cls, source: Schema | str | PathLike[str]) -> Schema:
        """Return a schema that is given as an object or as a TOML file.

        Parameters
        ----------
        source : Schema, str or path
            The schema, or an argument of `from_toml`.

        Returns
        -------
        schema : Schema
            The schema.
        """
        if isinstance(source, Schema):
            return source
        if not isinstance(source, str | PathLike):
            raise TypeError(
                f"schema must be a privfit.Schema or the path of a TOML file, not {type(source).__name__}."
            )
        return cls.from_toml(source)

    @classmethod
    def from_toml(cls, source: str | PathLike[str]) -> Schema:
        """Read a schema from a TOML file, or from TOML text.

        Parameters
        ----------
        source : str or path
            A string with more than one line is read as TOML text, because no schema fits into one line. Any
            other string is the name of a file.

        Returns
        -------
        schema : Schema
            The schema in the file or text.

        Raises
        ------
        ValueError
            If it is not TOML or not a schema, or if it is a draft with blanks; the message names the column.
        """
        if isinstance(source, str) and "\n" in source:
            return cls._from(document.parsed(source, "The schema"), "The schema")
        try:
            text = Path(source).read_text(encoding="utf-8-sig")  # some editors put a mark in front
        except UnicodeDecodeError:
            raise ValueError(f"{fspath(source)} is not UTF-8 text.") from None
        return cls._from(document.parsed(text, fspath(source)), fspath(source))

    @classmethod
    def from_dict(cls, facts: Mapping[str, Any]) -> Schema:
        """Make a schema from the dictionary that `to_dict` returned.

        Parameters
        ----------
        facts : dict
            The keys and values of the TOML file; dates may be text in ISO format.

        Returns
        -------
        schema : Schema
            An equal schema.
        """
        if not isinstance(facts, Mapping):
            raise ValueError(f"A schema is made of a dict, not of {type(facts).__name__}.")
        return cls._from(facts, "The schema")

    @classmethod
    def _from(cls, facts: Mapping[str, Any], source: str) -> Schema:
        known = document.facts(facts, source)
        try:
            return cls(**known)
        except ValueError as error:
            raise ValueError(brief(f"{source}: {error}")) from None

    def to_toml(self) -> str:
        """Write the schema as TOML text. `from_toml` makes an equal schema from it.

        Returns
        -------
        text : str
            A table for each column, and one for the label.
        """
        return document.toml(self._document())

    def to_dict(self) -> dict[str, Any]:
        """Return the schema in a form that JSON can hold. `from_dict` makes an equal schema from it.

        Returns
        -------
        facts : dict
            The keys and values of the TOML file, with dates as text in ISO format.
        """
        plain: dict[str, Any] = document.plain(self._document())
        return plain

    def _document(self) -> dict[str, Any]:
        return document.document(self.columns, self.label, self.records, self.taken_from_data)

    # -- the custodian's tools --------------------------------------------------------------------------

    @staticmethod
    def draft(
        table: Any,
        *,
        label: str | None = None,
        label_type: str = "classes",
        leak: bool = False,
        curves: bool = False,
    ) -> str:
        """Write a template of a schema, from the names and dtypes of a table's columns alone.

        Parameters
        ----------
        table : data frame, pyarrow table, path or list of paths
            A path is that of a CSV or Parquet file, or of a directory of Parquet files. CSV files have no
            dtypes, so only their first line is read.
        label : str, optional
            The column to predict.
        label_type : {"classes", "number", "count"}
            What it holds.
        leak : bool
            Whether to read the records and fill in types, bounds, categories and classes. This reveals values
            of single people, which no fit pays for. It causes a `PrivacyLeakWarning`, strict mode refuses it,
            and the schema states it by ``taken_from_data = true``.
        curves : bool
            Whether columns of numbers and dates, and columns of unknown type, get ``curve = true``.

        Returns
        -------
        text : str
            TOML with comments. `from_toml` refuses it until all blanks are filled in.
        """
        from privfit.schema.draft import drafted

        return drafted(table, label=label, label_type=label_type, leak=leak, curves=curves)

    def check(self, table: Any, purpose: Purpose = "train") -> Findings:
        """List for each column what does not fit the schema, without quoting a value.

        Fits and predictions in Python do not call it, because they must not reveal anything about the
        records: cells that do not fit count as missing, and values beyond a bound count as the bound. Call it
        before you fit. The commands `train`, `evaluate` and `predict` call it, and refuse a table with a
        finding that is a refusal.

        Parameters
        ----------
        table : data frame, dict of columns, pyarrow table, path or list of paths
            The records. A path is that of a CSV or Parquet file, or of a directory of Parquet files.
        purpose : {"train", "evaluate", "predict"}
            The use of the table. Only training compares the declared number of records, and predictions need
            neither label nor id.

        Returns
        -------
        findings : Findings
            The findings, to be printed, each with a verdict: the schema provides for it, it is worth a
            warning, or it is a reason to refuse the table. A column is refused if it cannot be read, or if
            more than a tenth of its values and at least ten (`MOST_LOST` and `FEWEST_LOST` of
            `privfit.schema.check`) do not fit or lie beyond its bounds. With an indicator or a declared fill,
            the schema provides for values that do not fit, unless none fits or most are only written in
            another notation.

            The findings count records, so they are for the custodian of the data only.
        """
        from privfit.schema.check import checked

        return checked(table, self, purpose)
