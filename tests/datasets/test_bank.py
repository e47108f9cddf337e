import gzip
import hashlib
import io
import zipfile
from dataclasses import replace

import numpy as np
import pytest
from records import load_records, write_records
from sklearn.preprocessing import MinMaxScaler

from privfit.datasets import bank, load
from privfit.preprocessing import Categorical

LINE = "40;retired;single;tertiary;no;1000;yes;no;cellular;7;feb;360;3;90;2;success;yes"
ROW = LINE.split(";")


def encoded(row, encoding):
    bunch = load_records("bank", [row], encoding=encoding)
    values = bunch.data.toarray()[0]
    return {name: value for name, value in zip(bunch.feature_names, values, strict=True) if value}


def test_record_is_encoded_by_the_documented_schema():
    assert encoded(ROW, "schema") == pytest.approx(
        {
            "age": 22 / 82,
            "job=retired": 1,
            "marital=single": 1,
            "education=tertiary": 1,
            "default=no": 1,
            "balance": 6_000 / 25_000,
            "housing=yes": 1,
            "loan=no": 1,
            "contact=cellular": 1,
            "day": 6 / 30,
            "month=feb": 1,
            "duration": 0.1,
            "campaign": 2 / 49,
            "pdays": 91 / 916,
            "previous": 2 / 50,
            "poutcome=success": 1,
        }
    )


def test_record_is_encoded_as_in_the_paper():
    assert encoded(ROW, "paper") == pytest.approx(
        {
            "age": 22 / 77,
            "job=retired": 1,
            "marital=single": 1,
            "education=tertiary": 1,
            "balance": 9_019 / 110_146,
            "housing=yes": 1,
            "contact=cellular": 1,
            "date": (67 - 36) / 355,
            "duration": 360 / 4_918,
            "campaign": 2 / 62,
            "contacted": 1,
            "pdays": 90 / 871,
            "previous": 2 / 275,
            "poutcome=success": 1,
        }
    )


def test_customer_never_called_before_has_neither_mark_nor_days_in_the_paper():
    row = [*ROW]
    row[13] = "-1"
    assert {"contacted", "pdays"}.isdisjoint(encoded(row, "paper"))
    assert "pdays" not in encoded(row, "schema")  # -1 is the lower bound


def test_schema_has_the_documented_number_of_categories():
    sizes = [len(c.categories) for c in bank.BANK_SCHEMA.columns if isinstance(c, Categorical)]
    assert sizes == [12, 3, 4, 2, 2, 2, 3, 12, 4]


def _without_header(lines):
    return lines[1:]


def _without_records(lines):
    return lines[:1]


def _with_a_short_record(lines):
    return [*lines, "40;retired"]


def _with_a_word_for_a_number(lines):
    return [lines[0], lines[1].replace("1000", "lots")]


def _with_an_unknown_label(lines):
    return [lines[0], lines[1].removesuffix('"yes"') + '"perhaps"']


@pytest.mark.parametrize(
    "spoil",
    [
        _without_header,
        _without_records,
        _with_a_short_record,
        _with_a_word_for_a_number,
        _with_an_unknown_label,
    ],
)
def test_file_in_another_form_is_refused_without_showing_records(spoil, tmp_path):
    path = write_records("bank", [ROW], tmp_path)
    path.write_text("\n".join(spoil(path.read_text().splitlines())))
    with pytest.raises(ValueError, match=r"bank-full\.csv is not bank-full\.csv: a line of names") as caught:
        load("bank", data_dir=tmp_path)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


def test_file_is_downloaded_unpacked_and_kept(server, cache, tmp_path, monkeypatch):
    content = write_records("bank", [ROW] * 100, tmp_path).read_bytes()
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as outer:
        inner = io.BytesIO()
        with zipfile.ZipFile(inner, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("bank-full.csv", content)
        outer.writestr("bank.zip", inner.getvalue())
    server.acts = [{"content": packed.getvalue(), "cut": 100}, {"content": packed.getvalue()}]
    source = replace(bank.SOURCE, sha256=hashlib.sha256(content).hexdigest(), urls=(server.url,))
    monkeypatch.setattr(bank, "SOURCE", source)
    assert load("bank").data.shape == (100, 51)
    assert load("bank", encoding="paper").data.shape == (100, 32)
    assert len(server.requests) == 2
    assert [path.name for path in cache.iterdir()] == ["bank-full.csv"]


def test_source_is_the_official_file(reference):
    content = gzip.decompress((reference / "bank-full.csv.gz").read_bytes())
    assert hashlib.sha256(content).hexdigest() == bank.SOURCE.sha256


def test_paper_encoding_is_that_of_its_authors(reference):
    bunch = load("bank", encoding="paper", data_dir=reference)
    with gzip.open(reference / "BANK.dat.gz", "rt") as file:
        table = np.loadtxt(file)
    assert bunch.data.shape == (45_211, 32)
    np.testing.assert_allclose(bunch.data.toarray(), MinMaxScaler().fit_transform(table[:, :-1]), atol=1e-7)
    np.testing.assert_array_equal(bunch.target == "yes", table[:, -1] == 1)


def test_schema_covers_the_official_file(reference):
    bunch = load("bank", data_dir=reference)
    assert bunch.data.shape == (45_211, 51)
    # Each record has one category of each of nine columns.
    indicators = np.array(["=" in name for name in bunch.feature_names])
    assert set(np.asarray(bunch.data[:, indicators].sum(axis=1)).ravel()) == {9}
