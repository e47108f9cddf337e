import gzip
import warnings

import numpy as np
import pytest
from records import load_records
from sklearn.preprocessing import MinMaxScaler

from privfit import PrivacyLeakError, PrivacyLeakWarning, strict
from privfit.datasets import ipums, load
from privfit.preprocessing import Categorical, Label, Numeric, Schema

MINE = Schema([Numeric("age", 0, 100), Categorical("sex", ("1", "2"))], label=Label("rich", ("no", "yes")))


@pytest.fixture
def extract(tmp_path):
    (tmp_path / "IPUMS-US.dat").write_text("20 1 0\n60 2 1\n40 2 0\n")
    return tmp_path


def test_own_extract_is_encoded_by_its_schema(extract):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bunch = load("ipums-us", data_dir=extract, schema=MINE)
    np.testing.assert_allclose(bunch.data.toarray(), [[0.2, 1, 0], [0.6, 0, 1], [0.4, 0, 1]], rtol=1e-6)
    assert bunch.target.tolist() == ["no", "yes", "no"]
    assert bunch.schema == MINE


def test_own_extract_without_a_schema_leaks_its_bounds(extract):
    with pytest.warns(
        PrivacyLeakWarning, match=r"each column of IPUMS-US\.dat were taken from the data"
    ) as caught:
        bunch = load("ipums-us", data_dir=extract)
    assert caught[0].filename == __file__
    np.testing.assert_allclose(bunch.data.toarray(), [[0, 0], [1, 1], [0.5, 1]])
    assert bunch.target.tolist() == ["<=25K", ">25K", "<=25K"]
    with strict(), pytest.raises(PrivacyLeakError, match="declare them with schema="):
        load("ipums-us", data_dir=extract)


def test_constant_column_of_an_own_extract_becomes_zero(tmp_path):
    (tmp_path / "IPUMS-US.dat").write_text("7 1 0\n7 2 1\n")
    with pytest.warns(PrivacyLeakWarning):
        bunch = load("ipums-us", data_dir=tmp_path)
    np.testing.assert_array_equal(bunch.data.toarray(), [[0, 0], [0, 1]])


def test_own_extract_may_be_packed(extract):
    plain = extract / "IPUMS-US.dat"
    (extract / "IPUMS-US.dat.gz").write_bytes(gzip.compress(plain.read_bytes()))
    plain.unlink()
    assert load("ipums-us", data_dir=extract, schema=MINE).data.shape == (3, 3)


def test_columns_must_be_those_of_the_schema(extract):
    (extract / "IPUMS-BR.dat").write_text("20 1 0\n")
    with pytest.raises(ValueError, match=r"IPUMS-BR\.dat has 2 columns before the label, not 52\.$"):
        load("ipums-br", data_dir=extract)


@pytest.mark.parametrize(
    "content", ["", "1\n", "1 2 0\n1 0\n", "1 x 0\n", "1 nan 0\n", "1 inf 1\n", "1 2 3\n"]
)
def test_file_in_another_form_is_refused_without_showing_records(content, tmp_path):
    (tmp_path / "IPUMS-US.dat").write_text(content)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match=r"IPUMS-US\.dat is not a table of finite numbers") as caught:
            load("ipums-us", data_dir=tmp_path, schema=MINE)
    assert caught.value.__suppress_context__


@pytest.mark.parametrize("name", ["ipums-br", "ipums-us"])
def test_missing_file_says_what_to_put_where(name, cache):
    with pytest.raises(
        FileNotFoundError,
        match=rf"^{name.upper()}\.dat cannot be downloaded, because the terms of IPUMS forbid passing "
        rf"extracts on \(the paper's authors list it as dataset/{name.upper()}\.dat of "
        r"github\.com/ppmlguy/DP-AGD, under those terms\); put it",
    ):
        load(name)


def test_both_encodings_are_one():
    row = [str(int(fact.high)) for fact in ipums.IPUMS_BR_SCHEMA.columns]
    for encoding in ("schema", "paper"):
        bunch = load_records("ipums-br", [[*row, "1"]], encoding=encoding)
        np.testing.assert_array_equal(bunch.data.toarray(), np.ones((1, 52)))
        assert bunch.target.tolist() == [">300"]


def test_brazil_is_rescaled_as_in_the_paper(reference):
    bunch = load("ipums-br", encoding="paper", data_dir=reference)
    with gzip.open(reference / "IPUMS-BR.dat.gz", "rt") as file:
        table = np.loadtxt(file)
    assert bunch.data.shape == (38_000, 52)
    np.testing.assert_allclose(bunch.data.toarray(), MinMaxScaler().fit_transform(table[:, :-1]), atol=1e-7)
    np.testing.assert_array_equal(bunch.target == ">300", table[:, -1] == 1)
