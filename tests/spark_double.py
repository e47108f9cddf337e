"""A stand-in for DataFrames of Spark, so that the protocol is tested where there is no Spark and no Java.

It has the few methods that fits use, and runs what `mapInArrow` is given in this process. Each of its workers
has its own memory, and idle workers are taken in turns, as Spark takes them. tests/spark/ uses Spark itself.
"""

from __future__ import annotations

import itertools
import pickle
import sys
from collections import deque
from types import ModuleType, SimpleNamespace

import pyarrow as pa

from privfit.engine.parallel import spark_worker


class Cluster:
    """Some workers, and what they keep; a job fails if somebody says so."""

    def __init__(self, places=2, workers=2):
        self.places = places
        self.idle = deque({"_FITS": {}, "_WORKER": bytes([k])} for k in range(workers))
        self.jobs, self.context = 0, None

    def install(self, monkeypatch):
        """Stand for pyspark, as far as workers and types of columns ask for it."""
        spark, types = ModuleType("pyspark"), ModuleType("pyspark.sql.pandas.types")
        spark.TaskContext = SimpleNamespace(get=lambda: SimpleNamespace(partitionId=lambda: self.context))
        spark.cloudpickle = pickle
        types.to_arrow_type = lambda dtype, timezone: dtype
        for name in ("pyspark.sql", "pyspark.sql.pandas"):
            monkeypatch.setitem(sys.modules, name, ModuleType(name))
        monkeypatch.setitem(sys.modules, "pyspark", spark)
        monkeypatch.setitem(sys.modules, "pyspark.sql.pandas.types", types)
        return self

    def kill(self):
        """Let all workers die, and new ones take their places."""
        count = 100 + self.jobs
        self.idle = deque({"_FITS": {}, "_WORKER": bytes([count + k])} for k in range(len(self.idle)))

    def run(self, function, number, batches):
        """Run a task in the worker whose turn it is."""
        memory = self.idle.popleft()
        before = {name: getattr(spark_worker, name) for name in memory}
        self.context = number
        try:
            for name, value in memory.items():
                setattr(spark_worker, name, value)
            return list(pickle.loads(pickle.dumps(function))(iter(batches)))
        finally:
            for name, value in before.items():
                setattr(spark_worker, name, value)
            self.idle.append(memory)

    def frame(self, table, partitions=1):
        """Return a DataFrame of a table, cut into partitions."""
        height = -(-table.num_rows // partitions)
        cut = [table.slice(k * height, height) for k in range(partitions)]
        return Frame(self, table.schema, lambda: cut)

    def range(self, count):
        """Return numbers, of which each place for a task has some."""
        return self.frame(pa.table({"id": range(count)}), self.places)


class Frame:
    """A DataFrame, which is computed whenever it is asked for, unless it is persisted."""

    isStreaming = False

    def __init__(self, cluster, schema, partitions):
        self.sparkSession, self.columns, self._types = cluster, schema.names, schema
        self.schema = SimpleNamespace(fields=[SimpleNamespace(dataType=field.type) for field in schema])
        self._compute, self._kept, self._persisted = partitions, None, False

    def tables(self):
        """Return the partitions."""
        if not self._persisted:
            return self._compute()
        if self._kept is None:
            self._kept = self._compute()
        return self._kept

    def _each(self, change):
        schema = change(self._types.empty_table()).schema
        return Frame(self.sparkSession, schema, lambda: [change(table) for table in self.tables()])

    def toDF(self, *names):
        return self._each(lambda table: table.rename_columns(list(names)))

    def select(self, *names):
        return self._each(lambda table: table.select(list(names)))

    def selectExpr(self, expression):
        assert expression.startswith("spark_partition_id() AS ")
        name = expression.rpartition(" ")[-1]
        return Frame(
            self.sparkSession,
            pa.schema([(name, pa.int32())]),
            lambda: [pa.table({name: [k] * len(table)}) for k, table in enumerate(self.tables())],
        )

    def where(self, condition):
        numbers = [int(word) for word in condition.removeprefix("part IN (").removesuffix(")").split(",")]

        def kept(table):
            return table.filter(pa.array([part in numbers for part in table["part"].to_pylist()], pa.bool_()))

        return self._each(kept)

    def distinct(self):
        def rows():
            everything = pa.concat_tables(self.tables())
            return [everything.group_by(everything.column_names).aggregate([])]

        return Frame(self.sparkSession, self._types, rows)

    def coalesce(self, count):
        def joined():
            tables = self.tables()
            ends = [k * len(tables) // min(count, len(tables)) for k in range(min(count, len(tables)) + 1)]
            return [pa.concat_tables(tables[a:b]) for a, b in itertools.pairwise(ends)]

        return Frame(self.sparkSession, self._types, joined)

    def mapInArrow(self, function, schema):
        types = {"int": pa.int32(), "binary": pa.binary()}
        fields = pa.schema([(name, types[kind]) for name, kind in map(str.split, schema.split(", "))])

        def mapped():
            found = [
                self.sparkSession.run(function, number, table.to_batches(max_chunksize=100))
                for number, table in enumerate(self.tables())
            ]
            return [pa.Table.from_batches(batches, fields) for batches in found]

        return Frame(self.sparkSession, fields, mapped)

    def persist(self):
        self._persisted = True
        return self

    def unpersist(self):
        self._persisted, self._kept = False, None

    @property
    def storageLevel(self):
        return SimpleNamespace(useMemory=self._persisted, useDisk=False)

    def collect(self):
        self.sparkSession.jobs += 1
        return [tuple(row.values()) for table in self.tables() for row in table.to_pylist()]

    def count(self):
        return len(self.collect())
