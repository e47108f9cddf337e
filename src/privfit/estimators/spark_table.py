"""Tables that are DataFrames of Spark, or of Spark Connect."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from privfit.accounting.relation import Relation
from privfit.estimators.declared import Declared
from privfit.estimators.distributed import DistributedTable
from privfit.estimators.part_reader import PartReader
from privfit.estimators.records import Records
from privfit.leaks import refuse_in_strict_mode
from privfit.schema.batches import OF_A_QUERY
from privfit.schema.frames import is_spark

if TYPE_CHECKING:  # imported late: the engine needs numba, which takes a third of a second to import
    from privfit.engine.parts import Parts


@dataclass(frozen=True, eq=False)
class SparkTable(DistributedTable):
    """A raw table, whose schema names the column of the targets.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
        The table. It is a query: a row may be made of several records.
    """

    noun: ClassVar[str] = "a DataFrame of Spark"

    frame: Any

    @classmethod
    def given(cls, X: Any, y: Any, sample_weight: Any, groups: Any) -> SparkTable | None:
        """Return the table that the caller of `fit` gave, or None if it is no DataFrame of Spark."""
        beside = {"y": y, "sample_weight": sample_weight, "groups": groups}
        if not is_spark(X):
            for name, values in beside.items():
                if is_spark(values):
                    raise ValueError(
                        f"{name} is a DataFrame of Spark; make it a column of X, and name it in the schema."
                    )
            return None
        for name, values in beside.items():
            if values is not None:
                raise ValueError(
                    f"X is a DataFrame of Spark, which has no order of rows, so {name} cannot belong to "
                    f"them; make {name} a column of X, and name it in the schema."
                )
        refuse_in_strict_mode(
            "DataFrames of Spark, because their rows may be made of several records",
            "write the DataFrame to Parquet files, if each row is made of one record, and give these",
        )
        if X.isStreaming:
            raise ValueError("X is a streaming DataFrame, whose rows never end; write it to a table first.")
        return cls(X)

    @property
    def names(self) -> tuple[str, ...]:
        """The table is all that was given."""
        return ("X",)

    def without_records(self) -> Records:
        """Return the same table without rows: names and types of its columns."""
        import pyarrow

        types = [pyarrow.array([], _arrow_type(field.dataType)) for field in self.frame.schema.fields]
        table = pyarrow.Table.from_arrays(types, names=self.frame.columns)
        return Records(table.replace_schema_metadata(OF_A_QUERY), is_part=True)

    def check(self, declared: Declared, relation: Relation) -> None:
        """Refuse a table without a schema, and promises about people, because a part may lack records."""
        if declared.schema is None:
            raise ValueError(
                "A DataFrame of Spark needs a schema, which says what its columns are; set schema=."
            )
        if relation.unit == "person":
            raise ValueError(
                "People with several records need all of them in one place, and a DataFrame of Spark has its "
                "rows in parts; write it to Parquet files, and give their directory."
            )
        super().check(declared, relation)

    def parts(self, reader: PartReader, key: bytes) -> Parts:
        """Return the parts of these records, which Spark encodes once."""
        from privfit.engine.parallel.spark_parts import on_workers
        from privfit.engine.parallel.spark_worker import Encode

        schema = reader.declared.schema
        assert schema is not None  # because it was checked
        columns, names = self.frame.columns, tuple(schema.names_in_fit)
        # by position, because Spark takes names that differ in case for equal, and dots for structure
        renamed = self.frame.toDF(*(f"c{k}" for k in range(len(columns))))
        empty = self.without_records().X.select(list(names))
        encode = Encode(names, empty, reader.records_of_table, reader.part_of_records, key)
        return on_workers(renamed.select(*(f"c{columns.index(name)}" for name in names)), encode)


def _arrow_type(spark_type: Any) -> Any:
    """Return the type that cells of a column have in Arrow; one that no schema takes if there is none."""
    import pyarrow
    from pyspark.sql.pandas.types import to_arrow_type

    try:
        return to_arrow_type(spark_type, timezone="UTC")
    except Exception:  # Spark raises exceptions of its own classes
        return pyarrow.struct([])
