"""What each type of column makes of a cell."""

import datetime
import math
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from privfit.schema import (
    Boolean,
    Categorical,
    Date,
    Identifier,
    Ignored,
    Integer,
    Label,
    Numeric,
    Ordinal,
    Schema,
    encode,
    labels_of,
)
from privfit.schema.stored import coded, stored

TIMES = [datetime.datetime(2000, 1, 6, 13), None, datetime.datetime(2000, 1, 1)]
LABEL = Label("y", ["no", "yes"])


def encoded(fact, cells):
    return encode({fact.name: cells}, Schema([fact], LABEL), sparse=False)


def feature(fact, cells):
    return encoded(fact, cells)[:, 0].tolist()


# -- numbers and integers


@pytest.mark.parametrize(
    ("cell", "number"),
    [
        *[("$5", 5), ("5 $", 5), ("$ 5", 5), ("-$5", -5), ("$-5", -5), ("$1,200.50", 1200.5)],
        *[("1,200", 1200), ("-1,234,567", -1234567), ("+$1,000", 1000), (5, 5), ("5", 5), ("1e3", 1000)],
        *[("1,20", None), ("12,00.5", None), ("$", None), ("--5", None), ("-$-5", None), ("€5", None)],
        *[
            ("1,200,", None),
            ("$1.200,50", None),
            ("five", None),
            ("", None),
            ("\N{ARABIC-INDIC DIGIT ONE}", None),
        ],
    ],
)
def test_a_number_may_have_its_unit_and_groups_of_digits(cell, number):
    said = Numeric("x", 0, 1, unit="$", thousands=",").read(cell)
    assert math.isnan(said) if number is None else said == number


def test_without_a_declared_unit_or_mark_there_is_none():
    for cell in ("$5", "1,200", "1_000", "5 years"):
        assert math.isnan(Numeric("x", 0, 1).read(cell))
    assert Numeric("x", 0, 1, unit="years").read("5 years") == 5
    assert Numeric("x", 0, 1, unit="e3").read("5e3") == 5000  # a number is what it is


def test_integers_are_whole():
    cells = [3, 3.0, "3", "3.0", 2.5, "2.5", None, "-inf", Decimal("3.0")]
    expected = [0.3, 0.3, 0.3, 0.3, 0.5, 0.5, 0.5, 0, 0.3]
    assert feature(Integer("x", 0, 10), cells) == pytest.approx(expected)
    assert feature(Integer("x", 0, 10, fill=1), np.array([3.0, 2.5, np.nan, -np.inf])) == pytest.approx(
        [0.3, 0.1, 0.1, 0]
    )


def test_bounds_of_integers_are_whole():
    with pytest.raises(ValueError, match="bounds of column 'x' must be whole numbers"):
        Integer("x", 0.5, 2)


@pytest.mark.parametrize("mark", [",,", "x", ".."])
def test_only_known_marks_group_digits(mark):
    with pytest.raises(ValueError, match="thousands of column 'x' must be one of"):
        Numeric("x", 0, 1, thousands=mark)


@pytest.mark.parametrize(
    ("cell", "number"),
    [
        *[("1,5", 1.5), ("-0,25", -0.25), ("+,5", 0.5), ("2,", 2), ("1,5e3", 1500), ("17", 17), (1.5, 1.5)],
        *[("1 234,5", 1234.5), ("1 234 567", 1234567), ("€ 1 234,50", 1234.5), ("-3,5 €", -3.5)],
        *[("1.5", 1.5), ("€1.5", 1.5), (b"1,5", 1.5), ("1,234", 1.234)],
        *[(cell, None) for cell in ("1,2,3", "1.234,5", "1,234.5", ",", "a,b", "1 2,5", "true,", "", None)],
    ],
)
def test_a_declared_comma_stands_before_decimals(cell, number):
    said = Numeric("x", 0, 1, unit="€", thousands=" ", decimal=",").read(cell)
    assert math.isnan(said) if number is None else said == number


@pytest.mark.parametrize(
    ("cell", "number"),
    [
        *[("20.000,50", 20000.5), ("1.234", 1234), ("-1.234.567", -1234567), ("Fr. 2.143,00", 2143)],
        *[("1,5", 1.5), ("17", 17), (b"1.234,5", 1234.5), ("1e3", 1000), (1.5, 1.5), (" 1.234\0", 1234)],
        *[(cell, None) for cell in ("1.5", "1234.5", "1.23.456", "1.234.5", ".5", "1.", "1,234.5", ".", "")],
    ],
)
def test_a_declared_point_groups_digits_and_is_no_decimal_point(cell, number):
    said = Numeric("x", 0, 1, unit="Fr.", thousands=".", decimal=",").read(cell)
    assert math.isnan(said) if number is None else said == number


def test_numbers_that_a_library_may_have_misread_are_refused_where_points_group_digits():
    fact = Numeric("x", 0, 2000, thousands=".", decimal=",")
    for column in (
        pd.Series([1.234]),
        pl.Series([1.234]),
        np.array([1.234]),
        pd.Series([1.2, "2"], dtype=object),
    ):
        with pytest.raises(
            TypeError, match="may have taken points between groups of digits for decimal points"
        ):
            feature(fact, column)


STORED = pytest.mark.parametrize(
    "column",
    [
        list,
        pd.Series,
        pl.Series,
        pa.array,
        np.array,
        lambda cells: pa.array([cell.encode() for cell in cells], pa.large_binary()),
        lambda cells: pd.Series(cells, dtype="category"),
    ],
    ids=["list", "pandas", "polars", "arrow", "array", "bytes", "category"],
)


@STORED
def test_points_between_digits_are_the_same_however_they_are_stored(column):
    fact = Numeric("x", 0, 10_000, thousands=".", decimal=",", fill=0)
    assert feature(fact, column(["2.500,0", "5.000", "7500", "1.5"])) == pytest.approx([0.25, 0.5, 0.75, 0.0])


@STORED
def test_decimal_commas_are_the_same_however_they_are_stored(column):
    fact = Numeric("x", 0, 10, decimal=",", fill=10)
    assert feature(fact, column(["2,5", "5", "7.5", "?"])) == pytest.approx([0.25, 0.5, 0.75, 1.0])
    assert feature(Integer("x", 0, 10, decimal=","), column(["2,0", "2,5"])) == pytest.approx([0.2, 0.5])


def test_the_decimal_mark_is_a_point_or_a_comma_and_groups_no_digits():
    for mark in (";", "", None, [","]):
        with pytest.raises(ValueError, match="decimal of column 'x' must be"):
            Numeric("x", 0, 1, decimal=mark)
    with pytest.raises(ValueError, match="thousands and decimal of column 'x' are both a comma"):
        Numeric("x", 0, 1, thousands=",", decimal=",")
    with pytest.raises(ValueError, match='are both a point; declare decimal = ",", too'):
        Numeric("x", 0, 1, thousands=".")
    assert "decimal" not in Schema([Numeric("x", 0, 1)], Label("y", [0, 1])).to_toml()
    assert 'decimal = ","' in Schema([Numeric("x", 0, 1, decimal=",")], Label("y", [0, 1])).to_toml()


# -- dates

FOREIGN = "2000-01-0\N{ARABIC-INDIC DIGIT SIX}"
EARLY, LATE = datetime.date(2000, 1, 1), datetime.date(2000, 1, 11)
DAY = Date("d", EARLY, LATE)


@pytest.mark.parametrize(
    "cell",
    [
        *["2000-01-06", " 2000-01-06 ", b"2000-01-06", "2000-01-06T23:59:59Z", "2000-01-06 12:00:00.5"],
        *[datetime.date(2000, 1, 6), datetime.datetime(2000, 1, 6, 23, 59), pd.Timestamp("2000-01-06 23:00")],
        *[np.datetime64("2000-01-06"), np.datetime64("2000-01-06T23:00", "ns"), np.str_("2000-01-06")],
        datetime.datetime(2000, 1, 6, 23, tzinfo=datetime.timezone(datetime.timedelta(hours=-5))),
    ],
    ids=str,
)
def test_a_date_is_the_day_that_is_written(cell):
    assert feature(DAY, [cell]) == [0.5]
    assert encoded(Date("d", EARLY, LATE, missing="indicator"), [cell]).tolist() == [[0.5, 0.0]]


@pytest.mark.parametrize(
    "cell",
    [
        *[
            None,
            "",
            "nan",
            pd.NaT,
            np.datetime64("NaT"),
            "2000-02-30",
            "06.01.2000",
            "0000-01-01",
        ],
        *[
            730125,
            5.0,
            True,
            "2000",
            datetime.timedelta(5),
            [2000, 1, 6],
            "2000-01-06x",
            "2000-01-0\N{ARABIC-INDIC DIGIT SIX}",
        ],
    ],
    ids=str,
)
def test_what_is_no_date_does_not_fit(cell):
    assert encoded(Date("d", EARLY, LATE, missing="indicator"), [cell]).tolist() == [[0.0, 1.0]]


def test_days_before_1970_and_beyond_the_bounds():
    century = Date("d", "1900-01-01", "1900-01-11")
    cells = ["1899-12-31", "1900-01-01", "1900-01-02T23:00", "1900-01-11", "1950-01-01"]
    assert feature(century, cells) == pytest.approx([0, 0, 0.1, 1, 1])
    assert feature(century, np.array(cells, dtype="datetime64[s]")) == pytest.approx([0, 0, 0.1, 1, 1])


@pytest.mark.parametrize(
    "column",
    [
        pd.Series(pd.to_datetime(TIMES)),
        pd.Series(pd.to_datetime(TIMES)).astype("datetime64[ns]"),
        pd.Series(pd.to_datetime(TIMES)).dt.tz_localize("UTC"),
        pd.Series([datetime.date(2000, 1, 6), None, EARLY]),
        pd.Series([datetime.date(2000, 1, 6), None, EARLY], dtype=pd.ArrowDtype(pa.date32())),
        pd.Series(pd.Categorical(["2000-01-06", None, "2000-01-01"])),
        pd.Series(pd.Categorical(pd.to_datetime(TIMES))),
        pl.Series([datetime.date(2000, 1, 6), None, EARLY]),
        pl.Series(TIMES),
        pl.Series(["2000-01-06", None, "2000-01-01"]),
        pa.chunked_array([pa.array(["2000-01-06", None]), pa.array(["2000-01-01"])]),
        pa.array([datetime.date(2000, 1, 6), None, EARLY], pa.date64()),
        pa.array(TIMES, pa.timestamp("ms")),
        pa.array(["2000-01-06", None, "2000-01-01"]).dictionary_encode(),
        pa.array(["2000-01-06", None, "2000-01-01"], pa.string_view()),
        ["2000-01-06", None, "2000-01-01"],
    ],
)
def test_every_way_to_store_dates_gives_the_same_days(column):
    assert feature(Date("d", EARLY, LATE, fill="2000-01-11"), column) == [0.5, 1.0, 0.0]


@pytest.mark.parametrize(
    ("format", "cell"), [("%d.%m.%Y", "6.1.2000"), ("%m/%d/%Y", "01/06/2000"), ("%Y/%m/%d", "2000/1/6 12:00")]
)
def test_a_declared_format_is_read_besides_iso(format, cell):
    assert feature(Date("d", EARLY, LATE, format=format), [cell, "2000-01-02"]) == pytest.approx([0.5, 0.1])


@pytest.mark.parametrize("format", ["", "%Y", "%Y%m%d", "%d.%m.%y", "%Y-%d-%m", "%d.%d.%Y", "DD.MM.YYYY", 3])
def test_a_format_that_may_be_taken_for_another_is_refused(format):
    with pytest.raises(ValueError, match="format of column 'd' must have %Y, %m and %d with one mark"):
        Date("d", EARLY, LATE, format=format)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"low": "1.1.2000"}, "low of column 'd' must be a date such as"),
        ({"high": datetime.datetime(2000, 1, 11)}, "high of column 'd' must be a date such as"),
        ({"low": 5}, "low of column 'd' must be a date such as"),
        ({"low": LATE}, "Column 'd' needs low < high"),
        ({"fill": "never"}, "fill of column 'd' must be a date such as"),
        ({"unit": "years"}, "a date, whose unit is the day; remove unit"),
    ],
)
def test_bad_dates_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        Date(**({"name": "d", "low": EARLY, "high": LATE} | settings))


ZONED = datetime.datetime(2000, 1, 6, tzinfo=datetime.timezone(datetime.timedelta(hours=2)))


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (pd.Series([ZONED]), "arrives with dtype datetime64 in a time zone that is not UTC"),
        (pl.Series([1]).cast(pl.Datetime("us", "Europe/Paris")), "in a time zone that is not UTC"),
        (pa.array([ZONED], pa.timestamp("us", "Europe/Paris")), "in a time zone that is not UTC"),
        (np.array([20000106]), "arrives with dtype int64, which holds no dates; convert it to dates"),
        (pl.Series([True]), "arrives with dtype Boolean, which holds no dates"),
        (pd.Series(pd.to_timedelta([5], "D")), "arrives with dtype timedelta64, which holds no dates"),
        (pa.array([[1]]), "arrives with dtype list, which holds no dates"),
    ],
)
def test_columns_that_hold_no_dates_are_refused_by_their_dtype(column, message):
    with pytest.raises(TypeError, match=f"Column 'd' is declared date but .*{message}"):
        feature(DAY, column)


def test_one_instant_in_two_time_zones_is_two_days():
    here = datetime.datetime(2000, 1, 6, 0, 30, tzinfo=datetime.timezone(datetime.timedelta(hours=2)))
    there = here.astimezone(datetime.UTC)
    assert here == there
    assert feature(DAY, [here, there]) == pytest.approx([0.5, 0.4])
    assert feature(DAY, [there, here]) == pytest.approx([0.4, 0.5])


# -- words


def test_truth_values_have_two_words_and_their_usual_spellings():
    cells = ["yes", "no", True, False, 1, 0.0, "TRUE", "false", np.False_, "maybe", None, 2]
    expected = [1, 0, 1, 0, 1, 0, 1, 0, 0, 0.5, 0.5, 0.5]
    assert feature(Boolean("b", ["no", "yes"]), cells) == expected
    assert feature(Boolean("b", fill=True), [None, False, "yes"]) == [1, 0, 1]
    assert feature(Boolean("b"), np.array([1.0, 0.0, np.nan, 3.0])) == [1, 0, 0.5, 0.5]
    assert feature(Boolean("b"), pa.array([True, None, False])) == [1, 0.5, 0]


@pytest.mark.parametrize("words", [["yes"], ["a", "b", "c"], ["true", "false"], ["x", 0], ["a", "a"]])
def test_truth_values_need_one_word_for_each(words):
    with pytest.raises(ValueError, match="olumn 'b'"):
        Boolean("b", words)


def test_levels_are_equally_far_apart():
    fact = Ordinal("o", ["low", "middle", "high"])
    assert feature(fact, ["low", "middle", " high ", "?", None]) == [0, 0.5, 1, 0.5, 0.5]
    assert feature(Ordinal("o", [3, 1, 2], fill=1), np.array([3, 1, 2, 9])) == [0, 0.5, 1, 0.5]
    with pytest.raises(ValueError, match="'o' needs at least two levels"):
        Ordinal("o", ["low"])


def test_a_category_can_stand_for_what_is_missing():
    assert encoded(Categorical("c", ["a", "b"], fill="b"), ["a", None, "?"]).tolist() == [
        [1, 0],
        [0, 1],
        [0, 1],
    ]


@pytest.mark.parametrize(
    ("fact", "cells"),
    [
        (Numeric("x", 0, 1, missing="refuse"), ["0.5", "secret"]),
        (Integer("x", 0, 1, missing="refuse"), [0.5]),
        (Date("x", EARLY, LATE, missing="refuse"), ["secret"]),
        (Boolean("x", missing="refuse"), [None]),
        (Ordinal("x", ["a", "b"], missing="refuse"), ["secret"]),
        (Categorical("x", ["a"], missing="refuse"), ["a", ""]),
    ],
)
def test_what_is_missing_or_does_not_fit_is_refused_where_the_schema_says_so(fact, cells):
    with pytest.raises(
        ValueError, match="'x' has cells that are missing or do not fit, which the"
    ) as refusal:
        encoded(fact, cells)
    assert "secret" not in str(refusal.value)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Numeric("x", 0, 1, fill="much"),
        lambda: Integer("x", 0, 1, fill=0.5),
        lambda: Categorical("x", ["a"], fill="b"),
        lambda: Ordinal("x", ["a", "b"], fill="c"),
        lambda: Boolean("x", fill="yes"),
    ],
)
def test_a_fill_must_be_a_value_of_the_column(make):
    with pytest.raises(ValueError, match="fill of column 'x' is not a value that the column can have"):
        make()


def test_a_fill_needs_its_policy_and_a_unit_is_a_text():
    with pytest.raises(ValueError, match="'x' has a fill, which missing = 'indicator' does not use"):
        Numeric("x", 0, 1, fill=0.5, missing="indicator")
    with pytest.raises(ValueError, match="unit of column 'x' must be a text"):
        Numeric("x", 0, 1, unit=3)


# -- ids, ignored columns and labels


def test_ids_and_ignored_columns_are_never_features():
    columns = [Identifier("who"), Numeric("x", 0, 1), Ignored("notes")]
    schema = Schema(columns, LABEL)
    assert schema.feature_names == ("x",)
    assert encode({"x": [1.0]}, schema).tolist() == [[1.0]]  # not even read
    with pytest.raises(ValueError, match="at least one column that is a feature"):
        Schema([Identifier("who")], LABEL)
    with pytest.raises(ValueError, match="at most one id"):
        Schema([Identifier("who"), Identifier("whose"), Numeric("x", 0, 1)], LABEL)


@pytest.mark.parametrize(
    ("classes", "cells", "expected"),
    [
        (["no", "yes"], ["yes", " no "], ["yes", "no"]),
        ([0, 1], ["1", "0.0"], [1, 0]),
        ([0, 1], np.array([True, False]), [1, 0]),
        ([False, True], ["true", "FALSE"], [True, False]),
        ([False, True], pd.Series([1.0, 0.0]), [True, False]),
        (["1", "2"], pl.Series([2, 1]), ["2", "1"]),
    ],
)
def test_labels_are_read_as_the_schema_writes_them(classes, cells, expected):
    found = labels_of({"y": cells}, Schema([Numeric("x", 0, 1)], Label("y", classes)))
    assert found.tolist() == expected
    assert type(found.tolist()[0]) is type(classes[0])


@pytest.mark.parametrize("cell", ["secret", None, "", 2])
def test_a_label_that_is_not_declared_is_refused_and_not_quoted(cell):
    schema = Schema([Numeric("x", 0, 1)], LABEL)
    with pytest.raises(ValueError, match="label 'y' is missing, or none of the declared classes") as refusal:
        labels_of({"y": ["no", cell]}, schema)
    assert "secret" not in str(refusal.value)


def test_the_positive_class_is_one_of_the_classes():
    assert Label("y", [0, 1], positive=0).positive == 0
    for positive in ("yes", False, 2):
        with pytest.raises(ValueError, match=r"positive of label 'y' is .*, which is none of its classes"):
            Label("y", [0, 1], positive=positive)


def test_of_three_classes_none_is_positive():
    with pytest.raises(ValueError, match=r"positive of label 'y' names one of two classes, and it has 3"):
        Label("y", [0, 1, 2], positive=1)


def test_classes_that_read_alike_are_refused():
    with pytest.raises(ValueError, match="label 'y' include '1' and '01', which read as the same"):
        Label("y", ["1", "01"])


@pytest.mark.parametrize("records", [0, -1, 1.5, True, "many"])
def test_the_number_of_records_is_a_positive_whole_number(records):
    with pytest.raises(ValueError, match="records must be a positive whole number"):
        Schema([Numeric("x", 0, 1)], LABEL, records)


def test_the_matrix_is_sparse_where_most_of_it_is_zero():
    numbers = Schema([Numeric("x", 0, 1), Boolean("b")], LABEL)
    words = Schema([Categorical("c", list("abcd"))], LABEL)
    assert isinstance(encode({"x": [1], "b": [0]}, numbers), np.ndarray)
    assert encode({"c": ["a"]}, words).format == "csr"
    np.testing.assert_array_equal(
        encode({"x": [-0.0, 1], "b": [0, 1]}, numbers),
        encode({"x": [-0.0, 1], "b": [0, 1]}, numbers, sparse=True).toarray(),
    )


def test_texts_read_all_at_once_are_read_as_each_alone():
    rng = np.random.default_rng(0)
    texts = [repr(x) for x in rng.normal(size=300)] + [f"{x:.17f}" for x in rng.normal(size=300)]
    texts += [
        "9" * 15 + ".5",
        "9" * 16,
        "9007199254740993",
        "-0",
        "-0.0",
        "1.",
        "1e3",
        " 1",
        "+1",
        ".5",
        "nan",
    ]
    schema = Schema([Numeric("x", -3, 3, missing="indicator"), Categorical("c", texts[:50])], LABEL)
    alone = np.vstack([encode({"x": [text], "c": [text]}, schema, sparse=False) for text in texts])
    column = pa.array(texts)
    together = encode(pa.table({"x": column, "c": column}), schema, sparse=False)
    assert together.tobytes() == alone.tobytes()


def test_a_zero_is_a_zero_however_it_is_written():
    for cells in ([-0.0, "-0", "-0.0", 0], np.array([-0.0]), pa.array(["-0", "-0.0"])):
        assert not np.signbit(encoded(Numeric("x", 0, 1), cells)).any()


def test_a_few_records_of_a_column_of_many_texts_are_read_without_the_others():
    """Scores near an edge are computed of single records, each of which would read the whole dictionary."""
    column = pa.array([f"{n}.5" for n in range(1000)]).dictionary_encode()
    cells = stored(column.slice(7, 2))
    assert len(cells.cells) == 2
    assert feature(Numeric("x", 0, 10), column.slice(7, 2)) == pytest.approx([0.75, 0.85])


def test_texts_by_distinct_cells_are_the_same_texts():
    table = pa.table({"x": pa.chunked_array([["1", None], ["x", "1"]]), "n": [1.5, None, 2.0, 3.0]})
    steps = []
    by_cells = coded(table, lambda done, total: steps.append((done, total)))
    assert steps == [(1, 2), (2, 2)]
    assert by_cells["x"].to_pylist() == table["x"].to_pylist()
    assert by_cells["n"].type == pa.float64()
    schema = Schema([Numeric("x", 0, 2, missing="indicator"), Numeric("n", 0, 4)], LABEL)
    assert np.array_equal(encode(by_cells, schema, sparse=False), encode(table, schema, sparse=False))
