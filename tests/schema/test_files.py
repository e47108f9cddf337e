"""CSV and Parquet files: read as they are, and refused without a word of what is in them."""

import gzip
import traceback

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from privfit.preprocessing import SchemaEncoder
from privfit.schema import Categorical, Date, Label, Numeric, Schema, encode, labels_of

CANARY = "P000000"
SCHEMA = Schema(
    [
        Numeric("income", 0, 2000, unit="$", thousands=","),
        Categorical("town", ["Köln", "a,b", 'say "hi"', "two\nlines", "01"]),
        Date("born", "2000-01-01", "2000-01-11"),
    ],
    Label("ill", ["no", "yes"]),
)
TEXT = (
    "who,income,town,born,ill\n"
    'Ann,"$1,000",Köln,2000-01-06,no\n'
    'Bob,,"a,b",,yes\n'
    'Cid,500,"say ""hi""",2000-01-01,no\n'
    'Dee,nan,"two\nlines",x,yes\n'
    "Eve,1e3,1.0,2000-01-11,no\n"
)
EXPECTED = np.array(
    [
        [0.5, 1, 0, 0, 0, 0, 0.5],
        [0.5, 0, 1, 0, 0, 0, 0.5],
        [0.25, 0, 0, 1, 0, 0, 0],
        [0.5, 0, 0, 0, 1, 0, 0.5],
        [0.5, 0, 0, 0, 0, 1, 1],
    ]
)


def write(path, text, encoding="utf-8"):
    path.write_bytes(text.encode(encoding))
    return path


FILES = {
    "comma": ("x.csv", TEXT.encode()),
    "upper case": ("X.CSV", TEXT.encode()),
    "byte order mark": ("x.csv", TEXT.encode("utf-8-sig")),
    "windows": ("x.csv", TEXT.replace("\n", "\r\n").replace("two\r\n", "two\n").encode()),
    "blank lines": ("x.csv", TEXT.replace("Bob", "\nBob").encode() + b"\n\n"),
    "packed": ("x.csv.gz", gzip.compress(TEXT.encode())),
    "semicolons": (
        "x.csv",
        TEXT.replace(",", ";").replace('"$1;000"', '"$1,000"').replace('"a;b"', '"a,b"').encode(),
    ),
    "tabs": (
        "x.tsv",
        TEXT.replace(",", "\t").replace('"$1\t000"', '"$1,000"').replace('"a\tb"', '"a,b"').encode(),
    ),
}


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("as_path", [str, lambda path: path])
def test_csv_files_are_read_as_they_are(tmp_path, file, as_path):
    name, content = FILES[file]
    path = tmp_path / name
    path.write_bytes(content)
    np.testing.assert_allclose(encode(as_path(path), SCHEMA, sparse=False), EXPECTED)
    assert labels_of(as_path(path), SCHEMA).tolist() == ["no", "yes", "no", "yes", "no"]
    encoder = SchemaEncoder(SCHEMA, sparse_output=False)
    np.testing.assert_allclose(encoder.fit_transform(as_path(path)), EXPECTED)


def test_a_parquet_file_is_read_by_its_types(tmp_path):
    frame = pl.DataFrame(
        {
            "born": pl.Series(["2000-01-06", None, "2000-01-01", None, "2000-01-11"]).str.to_date(),
            "income": [1000.0, None, 500.0, float("nan"), 1000.0],
            "town": pl.Series(["Köln", "a,b", 'say "hi"', "two\nlines", "01"]).cast(pl.Categorical),
            "ill": ["no", "yes", "no", "yes", "no"],
            "who": list("ABCDE"),
        }
    )
    frame.write_parquet(tmp_path / "x.parquet")
    frame.to_pandas().to_parquet(tmp_path / "x.pq")
    for path in (tmp_path / "x.parquet", tmp_path / "x.pq"):
        np.testing.assert_allclose(encode(path, SCHEMA, sparse=False), EXPECTED)
        assert labels_of(path, SCHEMA).tolist() == ["no", "yes", "no", "yes", "no"]


def test_bytes_that_are_no_text_are_cells_that_do_not_fit(tmp_path):
    path = tmp_path / "x.csv"
    path.write_bytes(TEXT.encode() + b"\xff\xfe,\xff,\xff,\xff,no\n")
    encoded = encode(path, SCHEMA, sparse=False)
    np.testing.assert_allclose(encoded[:-1], EXPECTED)
    assert encoded[-1].tolist() == [0.5, 0, 0, 0, 0, 0, 0.5]


def test_a_file_of_one_column_may_have_empty_cells(tmp_path):
    schema = Schema([Numeric("x", 0, 1, missing="indicator")], Label("y", [0, 1]))
    path = write(tmp_path / "x.csv", "x\n1\n\n0\n")
    assert encode(path, schema, sparse=False).tolist() == [[1, 0], [0, 1], [0, 0]]


def test_only_what_the_schema_names_is_read(tmp_path):
    columns = {name: [0] for name in ("income", "town", "ill")} | {"born": ["2000-01-01"]}
    lists = pa.table(columns | {"notes": [[CANARY]]})
    pq.write_table(lists, tmp_path / "x.parquet")
    assert encode(tmp_path / "x.parquet", SCHEMA).shape == (1, 7)


REFUSED = {
    "long line": ("x.csv", TEXT + f"{CANARY},1,2,3,4,5\n", "a line that does not have as many values"),
    "short line": ("x.csv", TEXT + f"{CANARY},1\n", "a line that does not have as many values"),
    "open quotation": ("x.csv", TEXT + f'"{CANARY},1,2,3,no\n', "as many values .* or an open quotation"),
    "column twice": (
        "x.csv",
        f"income,income\n1,{CANARY}\n",
        "must name every column once, .*; columns 1 and 2 have the same name",
    ),
    "columns without a name": (
        "x.csv",
        f"income,,age,,\n1,2,3,4,{CANARY}\n",
        "must name every column once, .*; columns 2 and 4 have no name",
    ),
    "nothing": ("x.csv", "", "first line of .* must name every column once"),
    "no such column": ("x.csv", f"income,town,ill\n1,2,{CANARY}\n", "no column 'born', which the schema"),
    "not packed": ("x.csv.gz", f"{CANARY},b\n1,2\n", "cannot be unpacked"),
    "no parquet": ("x.parquet", CANARY, "is not a Parquet file that can be read"),
    "latin": ("x.csv", f"größe,{CANARY}\n".encode("latin-1"), "every column once, in UTF-8 text"),
    "open name": ("x.csv", f'income,"town\n1,{CANARY}\n', "first line of .* has an open quotation"),
    "endless name": ("x.csv", f"income,{CANARY * 20_000}\n", "first line of .* must name every column once"),
}


@pytest.mark.parametrize("file", REFUSED)
def test_a_file_that_cannot_be_read_is_refused_in_one_sentence_that_quotes_nothing(tmp_path, file):
    name, content, message = REFUSED[file]
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ValueError, match=f"(?s){message}") as refusal:
        encode(path, SCHEMA)
    assert CANARY not in "".join(traceback.format_exception(refusal.value)).replace(str(path), "")
    assert refusal.value.__context__ is None  # what libraries say quotes cells, and would be kept with ours


@pytest.mark.parametrize(
    ("name", "reader"), [("x.csv", "csv.open_csv"), ("x.parquet", "parquet.ParquetFile.iter_batches")]
)
def test_a_lack_of_memory_is_not_told_as_a_fault_of_the_file(name, reader, tmp_path, monkeypatch):
    def starve(*_given, **_settings):
        raise pa.ArrowMemoryError("malloc of size 4194304 failed")

    table = pd.DataFrame({"income": [1], "town": ["01"], "born": ["2000-01-06"], "ill": ["no"]})
    (table.to_csv if name.endswith("csv") else table.to_parquet)(tmp_path / name, index=False)
    monkeypatch.setattr(f"pyarrow.{reader}", starve)
    with pytest.raises(MemoryError):
        encode(tmp_path / name, SCHEMA)


def test_what_is_no_path_is_not_taken_for_one(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"There is no file .*nowhere\.csv"):
        encode(tmp_path / "nowhere.csv", SCHEMA)
    with pytest.raises(ValueError, match=r"must end in \.csv, \.csv\.gz, \.tsv or \.parquet") as refusal:
        encode(f"{CANARY},1,2\n3,4,5", SCHEMA)
    assert CANARY not in str(refusal.value)


def test_a_frame_read_by_others_is_encoded_like_the_file(tmp_path):
    path = write(tmp_path / "x.csv", TEXT)
    for frame in (pd.read_csv(path), pl.read_csv(path), pd.read_csv(path, dtype=str)):
        np.testing.assert_allclose(encode(frame, SCHEMA, sparse=False), EXPECTED)
