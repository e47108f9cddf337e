"""Several files are read as one file would be that holds all their records."""

import gzip

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from privfit import DPLogisticRegression
from privfit.schema import Categorical, Integer, Label, Numeric, Schema, encode, labels_of
from privfit.schema.batches import batches_of
from privfit.schema.files import CsvText, bytes_in, sources_of

CANARY = "P000000"
SCHEMA = Schema(
    [
        Numeric("income", 0, 2000, unit="$", thousands=","),
        Categorical("town", ["Bern", "a,b", 7], missing="indicator"),
        Integer("age", 0, 100, missing="indicator"),
    ],
    Label("ill", ["no", "yes"]),
)
HEAD = "income,town,age,ill\n"
FIRST = '"$1,000",Bern,40,no\n,"a,b",,yes\n'
SECOND = "nan,7,x,yes\n500,7.0,100,no\n"
SECOND_TURNED = "ill;age;town;income\nyes;x;7;nan\nno;100;7.0;500\n"


def encoded(X):
    return encode(X, SCHEMA, sparse=False).tolist(), labels_of(X, SCHEMA).tolist()


@pytest.fixture
def whole(tmp_path):
    (tmp_path / "whole.csv").write_text(HEAD + FIRST + SECOND)
    return encoded(tmp_path / "whole.csv")


@pytest.mark.parametrize("kind", [str, lambda path: path])
def test_several_csv_files_are_read_as_one(tmp_path, whole, kind):
    (tmp_path / "a.csv").write_text(HEAD + FIRST)
    (tmp_path / "b.csv").write_text(HEAD + SECOND)
    (tmp_path / "b.tsv").write_text(SECOND_TURNED)
    (tmp_path / "b.csv.gz").write_bytes(gzip.compress((HEAD + SECOND).encode()))
    for second in ("b.csv", "b.tsv", "b.csv.gz"):
        assert encoded([kind(tmp_path / "a.csv"), kind(tmp_path / second)]) == whole
    assert encoded((kind(tmp_path / "a.csv"), CsvText((HEAD + SECOND).encode()))) == whole
    assert encoded([kind(tmp_path / "whole.csv")]) == whole
    assert encoded(CsvText((HEAD + FIRST + SECOND).encode())) == whole


PARTS = {
    "the same types": ([1, None], pa.int64(), [3, 4], pa.int64()),
    "whole numbers and doubles": ([1, 2], pa.int64(), [None, 4.5], pa.float64()),
    "integers beyond all doubles": ([2**63 - 1, 2], pa.int64(), [2.5, None], pa.float32()),
    "nothing and numbers": ([None, None], pa.null(), [3, 4], pa.int8()),
    "text and long text": (["1", "Bern"], pa.string(), ["7", None], pa.large_string()),
    "text and bytes": (["1", "Bern"], pa.string(), [b"7", None], pa.binary()),
    "text and categories": (["1", "Bern"], pa.string(), ["7", None], pa.dictionary(pa.int8(), pa.string())),
}


@pytest.mark.parametrize("parts", PARTS)
def test_a_directory_of_parquet_files_is_read_as_each_of_them_is(tmp_path, parts):
    schema = Schema(
        [Numeric("x", 0, 9, missing="indicator"), Categorical("c", ["Bern", 7, 2, 4], missing="indicator")],
        Label("y", [0, 1]),
    )
    first, one, second, other = PARTS[parts]
    folder = tmp_path / "people.parquet"
    folder.mkdir()
    (folder / "_SUCCESS").touch()
    (folder / "_metadata.parquet").write_text("no table")
    for name, cells, dtype in (("part-0.parquet", first, one), ("part-1.parquet", second, other)):
        column = pa.array(cells, pa.string() if pa.types.is_dictionary(dtype) else dtype).cast(dtype)
        pq.write_table(pa.table({"x": column, "c": column}), folder / name)
    apart = [encode(folder / name, schema, sparse=False) for name in ("part-0.parquet", "part-1.parquet")]
    np.testing.assert_array_equal(encode(folder, schema, sparse=False), np.vstack(apart))
    np.testing.assert_array_equal(encode(str(folder), schema, sparse=False), np.vstack(apart))


def table(**columns):
    return pa.table(columns)


REFUSED = {
    "a column too few": ({"x": [1], "y": [1]}, {"x": [1]}, "must have the same columns; 'y' is not once in"),
    "a column too many": ({"x": [1]}, {"x": [1], "y": [1]}, "must have the same columns; 'y' is not once in"),
    "numbers and text": (
        {"x": [1]},
        {"x": [CANARY]},
        "stores column 'x' in another type than the",
    ),
    "numbers and truth": (
        {"x": [1]},
        {"x": [True]},
        "stores column 'x' in another type than the",
    ),
}


@pytest.mark.parametrize("parts", REFUSED)
def test_files_that_do_not_go_together_are_refused_by_names_and_types_alone(tmp_path, parts):
    *tables, message = REFUSED[parts]
    paths = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    for path, columns in zip(paths, tables, strict=True):
        pq.write_table(pa.table(columns), path)
    with pytest.raises(ValueError, match=message) as refusal:
        batches_of(paths).read_all()
    assert CANARY not in str(refusal.value)


def test_a_directory_that_is_no_table_is_refused(tmp_path):
    (tmp_path / "people.csv").write_text(HEAD + FIRST)
    with pytest.raises(ValueError, match="has no Parquet files; name CSV files one by one"):
        encode(tmp_path, SCHEMA)
    (tmp_path / "year=2026").mkdir()
    pq.write_table(table(x=[1]), tmp_path / "year=2026" / "part.parquet")
    with pytest.raises(ValueError, match="has Parquet files in further directories"):
        encode(tmp_path, SCHEMA)


def test_what_is_a_table_already_names_no_files():
    for X in ([[1, 2]], [], np.array(["a.csv"]), {"x": ["a.csv"]}, [("a.csv",)]):
        assert sources_of(X) is None


def test_a_draft_of_several_csv_files_reads_their_first_lines_alone(tmp_path):
    (tmp_path / "a.csv").write_text(HEAD + CANARY)
    (tmp_path / "b.csv").write_text(HEAD + FIRST)
    one, several = Schema.draft(tmp_path / "a.csv"), Schema.draft([tmp_path / "a.csv", tmp_path / "b.csv"])
    assert one == several == Schema.draft(CsvText(HEAD.encode()))
    (tmp_path / "c.csv").write_text("income\n1\n")
    with pytest.raises(ValueError, match=r"a\.csv and .*c\.csv must have the same columns"):
        Schema.draft([tmp_path / "a.csv", tmp_path / "c.csv"])


def test_all_bytes_are_told_as_they_are_read(tmp_path):
    text = (HEAD + FIRST * 100_000).encode()
    (tmp_path / "a.csv").write_bytes(text)
    (tmp_path / "b.csv.gz").write_bytes(gzip.compress(text))
    pq.write_table(table(ill=["no"]), tmp_path / "c.parquet")
    for path in sorted(tmp_path.iterdir()):
        sizes = []
        batches_of(path).read_all(["ill"], sizes.append)
        assert sum(sizes) == path.stat().st_size == bytes_in([path])
    assert bytes_in([CsvText(text), tmp_path / "a.csv"]) == 2 * len(text)


def test_a_bad_line_late_in_a_large_file_is_refused(tmp_path):
    (tmp_path / "a.csv").write_bytes((HEAD + FIRST * 100_000 + f"{CANARY}\n" + FIRST * 50_000).encode())
    with pytest.raises(ValueError, match="has a line that does not have as many values") as refusal:
        encode(tmp_path / "a.csv", SCHEMA)
    assert CANARY not in str(refusal.value)


@pytest.mark.parametrize("takes", [Schema.check, Schema.draft, DPLogisticRegression.fit])
def test_who_takes_several_files_says_so(takes):
    said = " ".join(takes.__doc__.split())
    assert "list of paths" in said
    assert "a directory of Parquet" in said
