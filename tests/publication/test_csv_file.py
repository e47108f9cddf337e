"""CSV files: other programs read back what was written, and no cell is a formula."""

import csv
import io

import pytest

from privfit.publication.csv_file import write_csv


def written(*rows):
    file = io.StringIO(newline="")
    write_csv(file, rows)
    return file.getvalue()


@pytest.mark.parametrize(
    "text",
    [
        "=1+1",
        "+1+1",
        "-1+1",
        "@SUM(A1)",
        "\t=1",
        "\r=1",
        "\n=1",
        " =1",
        "＝1",  # noqa: RUF001
        '=HYPERLINK("http://x","y")',
        "-",
        "-inf",
        "--1",
    ],
)
def test_text_that_a_spreadsheet_would_run_begins_with_an_apostrophe(text):
    assert list(csv.reader(io.StringIO(written([text, "next"]), newline=""))) == [[f"'{text}", "next"]]


@pytest.mark.parametrize(
    "value", [-1, -1.5, 1e-300, True, "-1", "+2.5", "-1e5", ".5", "sick", "a-b", "", "x=1"]
)
def test_numbers_and_other_text_stay_as_they_are(value):
    assert list(csv.reader(io.StringIO(written([value]), newline=""))) == [[str(value)]]


def test_no_two_texts_become_the_same():
    texts = ["=x", "'=x", "''=x", "' =x", "'x", "x"]
    rows = list(csv.reader(io.StringIO(written(texts), newline="")))
    assert len(set(rows[0])) == len(texts)


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_a_separator_inside_text_starts_no_new_cell(separator):
    # a spreadsheet chooses its separator by the country it is set to
    cell = f"a{separator}=1+1"
    assert written([cell]) == f'"{cell}"\r\n'


def test_other_programs_read_quotes_and_lines_as_they_were():
    rows = [['say "x"', "two\nlines", "a,b"], ["ü", "日本", "\N{SNOWMAN}"]]
    assert list(csv.reader(io.StringIO(written(*rows), newline=""))) == rows


def test_a_missing_value_is_an_empty_cell():
    assert list(csv.reader(io.StringIO(written([None], [None, 1]), newline=""))) == [[""], ["", "1"]]
