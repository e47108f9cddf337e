import gzip
import hashlib
import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from records import load_records, write_records
from sklearn.datasets import _kddcup99 as in_sklearn
from sklearn.preprocessing import OneHotEncoder

from privfit.datasets import kddcup99, load
from privfit.preprocessing import Categorical, Numeric

SMURF_LINE = (
    "0,icmp,ecr_i,SF,1032,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,511,511,0.00,0.00,0.00,0.00,1.00,0.00,0.00,"
    "255,255,1.00,0.00,1.00,0.00,0.00,0.00,0.00,0.00,smurf."
)
LOGIN_LINE = (
    "7200,tcp,telnet,SF,90000,5000,0,0,0,20,0,1,1,0,0,0,0,0,0,0,0,0,1,1,0.00,0.00,0.00,0.00,1.00,0.00,0.00,"
    "9,3,0.33,0.22,0.11,0.00,0.00,0.00,0.00,0.00,normal."
)
SMURF, LOGIN = SMURF_LINE.split(","), LOGIN_LINE.split(",")


def encoded(row, encoding):
    bunch = load_records("kddcup99", [row], encoding=encoding)
    values = bunch.data.toarray()[0]
    return {name: value for name, value in zip(bunch.feature_names, values, strict=True) if value}


def test_record_is_encoded_by_the_schema_and_clipped():
    assert encoded(LOGIN, "schema") == pytest.approx(
        {
            "duration": 1,
            "protocol_type=tcp": 1,
            "service=telnet": 1,
            "flag=SF": 1,
            "src_bytes": 1,
            "dst_bytes": 5_000 / 65_535,
            "hot": 1,
            "logged_in": 1,
            "num_compromised": 0.1,
            "count": 1 / 511,
            "srv_count": 1 / 511,
            "same_srv_rate": 1,
            "dst_host_count": 9 / 255,
            "dst_host_srv_count": 3 / 255,
            "dst_host_same_srv_rate": 0.33,
            "dst_host_diff_srv_rate": 0.22,
            "dst_host_same_src_port_rate": 0.11,
        }
    )


def test_record_is_encoded_as_in_the_paper():
    values = encoded(LOGIN, "paper")
    assert values["duration"] == pytest.approx(7_200 / 58_329)
    assert values["src_bytes"] == pytest.approx(90_000 / 1_379_963_888)
    assert values["hot"] == pytest.approx(20 / 101)
    # The first protocol, icmp, is the one left out.
    assert {name for name in encoded(SMURF, "paper") if "=" in name} == {"service=ecr_i", "flag=SF"}


def test_paper_counts_one_column_more_for_the_bias():
    sizes = [len(fact.feature_names) for fact in kddcup99.KDDCUP99_PAPER_SCHEMA.columns]
    assert len(sizes) == 41
    assert sum(sizes) + 1 == 120
    assert [size + 1 for size in sizes if size > 1] == [3, 70, 11]


def test_unknown_service_is_not_cut_to_a_known_one():
    row = [*LOGIN]
    row[2] = "netbios_dgm2"
    assert not any(name.startswith("service=") for name in encoded(row, "schema"))


@pytest.mark.parametrize("kind", ["back.", "land.", "neptune.", "pod.", "smurf.", "teardrop."])
def test_denial_of_service_is_recognised(kind):
    rows = [[*SMURF[:-1], kind], LOGIN, [*LOGIN[:-1], "satan."]]
    assert load_records("kddcup99", rows).target.tolist() == ["dos", "other", "other"]


def test_chunks_make_no_difference(monkeypatch):
    rows = [SMURF, LOGIN, SMURF, SMURF, LOGIN]
    whole = load_records("kddcup99", rows)
    monkeypatch.setattr(kddcup99, "_CHUNK", 2)
    parts = load_records("kddcup99", rows)
    np.testing.assert_array_equal(parts.data.toarray(), whole.data.toarray())
    assert parts.target.tolist() == whole.target.tolist()


def test_full_file_has_its_own_name(tmp_path, cache):
    write_records("kddcup99", [SMURF, LOGIN], tmp_path).rename(tmp_path / "kddcup.data")
    assert load("kddcup99", subset="full", data_dir=tmp_path).data.shape == (2, 122)


def test_the_full_file_is_taken_when_it_is_at_hand_and_never_fetched(tmp_path, cache):
    assert kddcup99.subset_at_hand(tmp_path) == "10%"
    (tmp_path / "kddcup.data.gz").touch()
    assert kddcup99.subset_at_hand(tmp_path) == "full"
    cache.mkdir(exist_ok=True)
    (cache / "kddcup.data.gz").write_bytes(b"not the official file")
    assert kddcup99.subset_at_hand() == "10%"


@pytest.mark.parametrize(
    "spoilt",
    [
        LOGIN[:-1],
        [*LOGIN, "21"],
        ["x", *LOGIN[1:]],
        [*LOGIN[:-1], "mystery."],
        [*LOGIN[:-1], "buffer_overflow.s"],
    ],
    ids=["short", "long", "word for a number", "unknown kind", "longer kind"],
)
def test_file_in_another_form_is_refused_without_showing_records(spoilt, monkeypatch):
    monkeypatch.setattr(kddcup99, "_CHUNK", 2)
    with pytest.raises(
        ValueError, match="has, in lines 3 to 4, a record that is not 41 attributes"
    ) as caught:
        load_records("kddcup99", [SMURF, LOGIN, SMURF, spoilt, LOGIN])
    assert caught.value.__suppress_context__


def test_empty_file_is_refused():
    with pytest.raises(ValueError, match=r"kddcup\.data_10_percent has no records\.$"):
        load_records("kddcup99", [])


def test_truncated_file_is_refused(tmp_path):
    path = write_records("kddcup99", [SMURF] * 1000, tmp_path)
    path.with_suffix(".data_10_percent.gz").write_bytes(gzip.compress(path.read_bytes())[:-20])
    path.unlink()
    with pytest.raises(
        ValueError, match=r"\.gz is damaged and cannot be read; replace it with a good copy\.$"
    ):
        load("kddcup99", data_dir=tmp_path)


def test_hashes_are_those_of_scikit_learn():
    assert kddcup99.SOURCES["10%"].sha256 == in_sklearn.ARCHIVE_10_PERCENT.checksum
    assert kddcup99.SOURCES["10%"].urls[1] == in_sklearn.ARCHIVE_10_PERCENT.url
    assert kddcup99.SOURCES["full"].sha256 == in_sklearn.ARCHIVE.checksum
    assert kddcup99.SOURCES["full"].urls[1] == in_sklearn.ARCHIVE.url


@pytest.mark.slow
def test_official_file_is_covered_by_the_published_facts(reference):
    path = reference / "kddcup.data_10_percent.gz"
    assert hashlib.sha256(path.read_bytes()).hexdigest() == kddcup99.SOURCES["10%"].sha256
    raw = pd.read_csv(path, header=None)
    for j, fact in enumerate(kddcup99.KDDCUP99_PAPER_SCHEMA.columns):
        if isinstance(fact, Numeric):
            assert raw[j].min() == 0
            assert raw[j].max() <= fact.high
        else:
            categories = kddcup99.KDDCUP99_SCHEMA.columns[j].categories
            assert fact.categories == categories[1:]
            missing = {"aol", "harvest", "http_2784", "http_8001"} if fact.name == "service" else set()
            assert set(categories) - set(raw[j]) == missing


def test_encoding_agrees_with_scikit_learn_given_the_same_facts(reference):
    # Every fiftieth record, so that all protocols and many services are among them.
    with gzip.open(reference / "kddcup.data_10_percent.gz", "rt") as file:
        rows = [line.rstrip("\n").split(",") for line in list(file)[::50]]
    bunch = load_records("kddcup99", rows)
    expected = []
    for j, fact in enumerate(bunch.schema.columns):
        column = np.array([row[j] for row in rows], dtype=object).reshape(-1, 1)
        if isinstance(fact, Categorical):
            one_hot = OneHotEncoder(categories=[list(fact.categories)], sparse_output=False)
            expected.append(one_hot.fit_transform(column))
        else:
            expected.append(np.minimum(column.astype(float) / fact.high, 1))
    np.testing.assert_array_equal(bunch.data.toarray(), np.hstack(expected).astype(np.float32))


@pytest.mark.slow
def test_official_file_loads_in_a_minute_and_two_gigabytes(reference):
    script = """
import json, resource, sys, time
from privfit.datasets import load
start = time.perf_counter()
bunch = load("kddcup99", encoding="paper", data_dir=sys.argv[1])
seconds = time.perf_counter() - start
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
attacks = int((bunch.target == "dos").sum())
print(json.dumps([bunch.data.shape, attacks, str(bunch.data.dtype), seconds, peak]))
"""
    done = subprocess.run(
        [sys.executable, "-c", script, reference], capture_output=True, text=True, check=True, timeout=120
    )
    shape, attacks, dtype, seconds, peak = json.loads(done.stdout)
    assert shape == [494_021, 119]
    assert attacks == 391_458
    assert dtype == "float32"
    assert seconds < 60
    assert peak < 2e9
