"""Parquet files that are damaged or meant to do harm: read as they are, or refused in one sentence."""

import gzip
import random
import traceback

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from privfit.schema import Categorical, Label, Numeric, Schema, encode, labels_of

CANARY = "P000000"
SCHEMA = Schema(
    [Numeric("income", 0, 10, missing="indicator"), Categorical("town", ["a", "b"])],
    Label("ill", ["no", "yes"]),
)
COLUMNS = {"income": [1.0, 5.0, 10.0], "town": ["a", "b", None], "ill": ["no", "yes", "no"]}
EXPECTED = [[0.1, 0, 1, 0], [0.5, 0, 0, 1], [1, 0, 0, 0]]


def table(**changed):
    return pa.table(COLUMNS | changed)


def not_utf8():
    """Return text cells of which one holds a canary and a byte that is no text."""
    cells = [b"a", f"{CANARY}".encode() + b"\xff", b"b"]
    return pa.Array.from_buffers(pa.string(), 3, pa.array(cells).buffers())


def repeated(name):
    whole = table()
    arrays = [*whole.columns, whole["town"], whole["town"]]
    return pa.Table.from_arrays(arrays, names=[*whole.column_names, name, name])


def nested(depth):
    cells = pa.array([1, 2, 3])
    for _ in range(depth):
        cells = pa.StructArray.from_arrays([cells], ["a"])
    return cells


READ = {
    "control characters in names": table(
        **{"\x1b[2J\n\u202e": ["x"] * 3, "": ["y"] * 3, "income.town": [1] * 3}
    ),
    "a list that nobody asked for": table(more=[[CANARY]] * 3),
    "a column twice that nobody asked for": repeated("z"),
    "megabytes of metadata": table().replace_schema_metadata({"pandas": "{" * 1_000_000}),
    "categories": table(town=pa.array(COLUMNS["town"]).dictionary_encode()),
}


@pytest.mark.parametrize("case", READ)
def test_what_the_schema_does_not_name_does_no_harm(tmp_path, case):
    path = tmp_path / "x.parquet"
    pq.write_table(READ[case], path)
    np.testing.assert_allclose(encode(path, SCHEMA, sparse=False), EXPECTED)
    assert labels_of(path, SCHEMA).tolist() == COLUMNS["ill"]


REFUSED = {
    "text that is no UTF-8": (table(town=not_utf8()), ValueError, "not a Parquet file that can be read"),
    "categories that are no UTF-8": (
        table(town=pa.DictionaryArray.from_arrays([0, 1, 2], not_utf8())),
        ValueError,
        "not a Parquet file that can be read",
    ),
    "a list": (table(town=[[CANARY]] * 3), TypeError, "'town' is declared categorical but .* dtype list,"),
    "a record": (
        table(town=[{CANARY: 1}] * 3),
        TypeError,
        "'town' is declared categorical .* dtype struct,",
    ),
    "records in records": (table(town=nested(200)), ValueError, "not a Parquet file that can be read"),
    "a column twice": (repeated("ill"), ValueError, "several columns that are named 'ill'"),
    "no columns": (pa.table({}), ValueError, "The data have no column 'ill'"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_file_is_refused_in_one_sentence_that_quotes_no_cell(tmp_path, case):
    written, kind, message = REFUSED[case]
    path = tmp_path / "x.parquet"
    pq.write_table(written, path)
    with pytest.raises(kind, match=message) as refusal:
        labels_of(path, SCHEMA), encode(path, SCHEMA)
    assert type(refusal.value) is kind
    assert CANARY not in "".join(traceback.format_exception(refusal.value))
    assert refusal.value.__context__ is None


@pytest.mark.parametrize(
    "content",
    [b"", b"PAR1", b"PAR1PAR1", b"PAR1\xff\xff\xff\x7fPAR1", b"PARE" + bytes(64) + b"PARE", bytes(100)],
    ids=["empty", "mark", "two marks", "a footer of two gigabytes", "encrypted", "zeros"],
)
def test_a_file_without_a_footer_is_refused(tmp_path, content):
    (tmp_path / "x.parquet").write_bytes(content)
    with pytest.raises(ValueError, match="not a Parquet file that can be read"):
        encode(tmp_path / "x.parquet", SCHEMA)


def outcomes_of_damage(path, seed, files):
    """Replace bytes of the footer, which says how large everything is, and of the columns; then read."""
    chance = random.Random(seed)
    town = pa.array(["a", "b", "c"] * 10).dictionary_encode()
    whole = pa.table({"income": [1.0] * 30, "town": town, "ill": ["no", "yes"] * 15})
    pq.write_table(whole, path, compression="none" if seed % 2 else "snappy")
    good = path.read_bytes()
    footer = len(good) - 8 - int.from_bytes(good[-8:-4], "little")
    outcomes = set()
    for _ in range(files):
        damaged = bytearray(good)
        for _ in range(chance.choice([1, 1, 2, 8])):
            place = chance.randrange(chance.choice([0, footer]), len(good))
            damaged[place] = chance.choice([0, 255, damaged[place] ^ 1 << chance.randrange(8)])
        path.write_bytes(damaged[: len(damaged) - chance.choice([0, 0, 0, 1, 100])])
        try:
            encode(path, SCHEMA)
            outcomes.add(None)
        except (ValueError, TypeError) as refusal:
            outcomes.add(type(refusal))
    return outcomes


@pytest.mark.parametrize("seed", range(4))
def test_damaged_files_are_read_or_refused_and_nothing_else(tmp_path, seed):
    outcomes = outcomes_of_damage(tmp_path / "x.parquet", seed, files=100)
    assert {None, ValueError} <= outcomes <= {None, ValueError, TypeError}


@pytest.mark.deep
@pytest.mark.parametrize("seed", range(4, 12))
def test_none_of_many_damaged_files_does_anything_else(tmp_path, seed):
    assert outcomes_of_damage(tmp_path / "x.parquet", seed, files=25_000) <= {None, ValueError, TypeError}


def test_codes_without_a_category_are_refused(tmp_path):
    """The file says that a column has one category, and its cells have two: code 1 points nowhere."""
    path = tmp_path / "x.parquet"
    town = pa.array(["a", "b", "a"]).dictionary_encode()
    whole = pa.table({"town": town, "income": COLUMNS["income"], "ill": COLUMNS["ill"]})
    pq.write_table(whole, path, compression="none")
    written = bytearray(path.read_bytes())
    assert written[11:13] == b"\x15\x04"  # of the dictionary's header: two values, as Thrift writes it
    written[12] = 2
    path.write_bytes(written)
    with pytest.raises(ValueError, match="not a Parquet file that can be read"):
        encode(path, SCHEMA)


def test_a_draft_of_a_file_with_a_column_twice_is_refused(tmp_path):
    pq.write_table(repeated("z"), tmp_path / "x.parquet")
    with pytest.raises(ValueError, match="The table has two columns 'z'; rename one of them"):
        Schema.draft(tmp_path / "x.parquet")


def test_a_packed_file_that_unpacks_to_a_line_without_end_is_not_read_whole(tmp_path, monkeypatch):
    monkeypatch.setattr("privfit.schema.files._LONGEST_HEADER", 1000)
    (tmp_path / "x.csv.gz").write_bytes(gzip.compress(b"x," * 1_000_000))
    with pytest.raises(ValueError, match="must name every column once"):
        Schema.draft(tmp_path / "x.csv.gz")
