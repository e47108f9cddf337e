import gzip
import hashlib
import shutil
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_svmlight_file
from sklearn.preprocessing import OneHotEncoder

from privfit.datasets import adult, load, load_adult
from privfit.preprocessing import Categorical, Numeric

BUNDLED = files("privfit.datasets").joinpath("files")
OFFICIAL = {
    "adult.data.gz": "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
    "adult.test.gz": "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
}


@pytest.fixture(scope="module")
def everyone():
    return load_adult()


@pytest.mark.parametrize("name", OFFICIAL)
def test_bundled_file_unpacks_to_the_official_bytes(name):
    unpacked = gzip.decompress(BUNDLED.joinpath(name).read_bytes())
    assert hashlib.sha256(unpacked).hexdigest() == OFFICIAL[name]


@pytest.mark.parametrize("name", OFFICIAL)
def test_bundled_file_equals_the_reference_copy(name, reference):
    official = gzip.decompress((reference / name).read_bytes())
    assert gzip.decompress(BUNDLED.joinpath(name).read_bytes()) == official


def test_bundled_files_are_small_and_carry_no_timestamp_or_name():
    contents = [BUNDLED.joinpath(name).read_bytes() for name in OFFICIAL]
    assert sum(map(len, contents)) < 700_000
    for content in contents:
        flags, timestamp = content[3], content[4:8]
        assert (flags, timestamp) == (0, bytes(4))


def test_description_gives_authors_source_licence_and_hashes(everyone):
    for fact in ("Becker", "Kohavi", "10.24432/C5XW20", "CC BY 4.0", *OFFICIAL.values()):
        assert fact in everyone.DESCR


@pytest.mark.parametrize(("split", "rows"), [("train", 32_561), ("test", 16_281), ("all", 48_842)])
def test_split_has_its_documented_size(split, rows):
    bunch = load_adult(split=split)
    assert bunch.data.shape == (rows, 105)
    assert bunch.target.shape == (rows,)
    assert {len(column) for column in bunch.frame.values()} == {rows}


def test_all_is_train_then_test(everyone):
    train, test = load_adult(split="train"), load_adult(split="test")
    assert (everyone.data[:32_561] != train.data).nnz == 0
    assert (everyone.data[32_561:] != test.data).nnz == 0
    np.testing.assert_array_equal(everyone.target, np.concatenate([train.target, test.target]))


def test_unknown_split_is_refused():
    with pytest.raises(ValueError, match="split must be 'train', 'test' or 'all', not 'valid'"):
        load_adult(split="valid")


def test_first_record_is_read_as_printed_in_the_file(everyone):
    first = {name: column[0] for name, column in everyone.frame.items()}
    assert first == {
        "age": 39,
        "workclass": "State-gov",
        "fnlwgt": 77516,
        "education": "Bachelors",
        "education-num": 13,
        "marital-status": "Never-married",
        "occupation": "Adm-clerical",
        "relationship": "Not-in-family",
        "race": "White",
        "sex": "Male",
        "capital-gain": 2174,
        "capital-loss": 0,
        "hours-per-week": 40,
        "native-country": "United-States",
    }
    assert everyone.target[0] == "<=50K"


def test_labels_have_the_documented_shares(everyone):
    assert set(everyone.target) == set(everyone.schema.label.classes) == {"<=50K", ">50K"}
    assert round(100 * np.mean(everyone.target == ">50K"), 2) == 23.93


def test_question_mark_marks_the_documented_number_of_incomplete_records(everyone):
    incomplete = np.zeros(48_842, dtype=bool)
    for column in everyone.frame.values():
        if column.dtype == object:
            incomplete |= column == "?"
    assert np.sum(~incomplete) == 45_222


def test_schema_has_the_documented_number_of_categories(everyone):
    sizes = {c.name: len(c.categories) for c in everyone.schema.columns if isinstance(c, Categorical)}
    assert sizes == {
        "workclass": 8,
        "education": 16,
        "marital-status": 7,
        "occupation": 14,
        "relationship": 6,
        "race": 5,
        "sex": 2,
        "native-country": 41,
    }


def test_schema_covers_every_record(everyone):
    for fact in everyone.schema.columns:
        column = everyone.frame[fact.name]
        if isinstance(fact, Numeric):
            assert fact.low <= column.min() < column.max() <= fact.high
        else:
            assert set(column) - {"?"} == set(fact.categories)


def test_encoding_agrees_with_scikit_learn_given_the_same_facts(everyone):
    expected = []
    for fact in everyone.schema.columns:
        column = everyone.frame[fact.name].reshape(-1, 1)
        if isinstance(fact, Numeric):
            expected.append((column - fact.low) / (fact.high - fact.low))
        else:
            one_hot = OneHotEncoder(
                categories=[list(fact.categories)], handle_unknown="ignore", sparse_output=False
            )
            expected.append(one_hot.fit_transform(column))
    np.testing.assert_array_equal(everyone.data.toarray(), np.hstack(expected).astype(np.float32))


def test_data_are_float32_rows_with_one_name_per_feature(everyone):
    assert everyone.data.format == "csr"
    assert everyone.data.dtype == np.float32
    assert len(everyone.feature_names) == len(set(everyone.feature_names)) == 105
    assert everyone.feature_names[:2] == ["age", "workclass=Private"]


def _truncate(path):
    path.write_bytes(path.read_bytes()[:1000])


def _overwrite(path):
    path.write_bytes(b"not compressed")


def _corrupt_the_start(path):
    content = path.read_bytes()
    path.write_bytes(content[:10] + b"\xff" * 10 + content[20:])


def _corrupt_the_middle(path):
    content = path.read_bytes()
    path.write_bytes(content[:100_000] + bytes(10) + content[100_010:])


def _change_one_age(path):
    unpacked = gzip.decompress(path.read_bytes())
    path.write_bytes(gzip.compress(unpacked.replace(b"25, Private", b"26, Private", 1)))


@pytest.mark.parametrize(
    "damage",
    [_truncate, _overwrite, _corrupt_the_start, _corrupt_the_middle, _change_one_age, Path.unlink],
)
def test_damaged_file_is_refused(damage, tmp_path, monkeypatch):
    shutil.copytree(str(BUNDLED), tmp_path / "files")
    monkeypatch.setattr(adult, "files", lambda package: tmp_path)
    assert load_adult(split="test").data.shape[0] == 16_281

    damage(tmp_path / "files" / "adult.test.gz")
    with pytest.raises(RuntimeError, match=r"adult\.test\.gz is missing or damaged; reinstall privfit\.$"):
        load_adult(split="test")


@pytest.mark.parametrize(
    ("split", "file", "rows"), [("train", "a9a.gz", 32_561), ("test", "a9a.t.gz", 16_281)]
)
def test_paper_encoding_is_that_of_libsvm(split, file, rows, reference):
    bunch = load("adult", encoding="paper", subset=split)
    assert bunch.data.shape == (rows, 123)
    with gzip.open(reference / file, "rb") as packed:
        # LIBSVM counts from 1, and the last feature is only in a record that this copy lacks.
        expected, labels = load_svmlight_file(packed, n_features=123, zero_based=False)
    kept = np.flatnonzero(bunch.frame["native-country"] != "Holand-Netherlands")
    assert (bunch.data[kept] != expected).nnz == 0
    np.testing.assert_array_equal(bunch.target[kept] == ">50K", labels == 1)


def test_paper_encoding_cuts_numbers_into_intervals():
    bunch = load("adult", encoding="paper", subset="train")
    first = {bunch.feature_names[j] for j in bunch.data[0].indices}
    # The first person is 39, the weight is 77,516, and so on.
    assert first >= {
        "age=<=40",
        "fnlwgt=<=106640",
        "education-num=>12",
        "capital-gain=>0",
        "capital-loss=<=0",
    }
    assert first >= {"hours-per-week=<=40", "workclass=State-gov", "native-country=United-States"}
    assert len(first) == 14
    assert set(bunch.data.data) == {1.0}
