import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from records import SCHEMAS, load_records, records

from privfit.datasets import load, load_adult
from privfit.preprocessing import Label, Numeric, Schema

WIDTHS = {
    ("adult", "schema"): 105,
    ("adult", "paper"): 123,
    ("bank", "schema"): 51,
    ("bank", "paper"): 32,
    ("ipums-br", "schema"): 52,
    ("ipums-br", "paper"): 52,
    ("kddcup99", "schema"): 122,
    ("kddcup99", "paper"): 119,
}


@pytest.mark.parametrize(("name", "encoding"), WIDTHS)
@given(data=st.data())
@settings(max_examples=20)
def test_encoded_record_does_not_depend_on_the_others(name, encoding, data):
    rows = data.draw(records(name))
    together = load_records(name, rows, encoding=encoding)
    alone = [load_records(name, [row], encoding=encoding) for row in rows]
    np.testing.assert_array_equal(
        together.data.toarray(), np.vstack([bunch.data.toarray() for bunch in alone])
    )
    np.testing.assert_array_equal(together.target, np.concatenate([bunch.target for bunch in alone]))
    assert all(bunch.feature_names == together.feature_names for bunch in alone)
    assert together.data.shape == (len(rows), WIDTHS[name, encoding])
    assert together.data.toarray().min() >= 0
    assert together.data.toarray().max() <= 1


@pytest.mark.parametrize(("name", "encoding"), WIDTHS)
def test_every_set_comes_in_the_same_form(name, encoding):
    schema = SCHEMAS[name]
    row = [str(int(fact.low)) if isinstance(fact, Numeric) else fact.categories[0] for fact in schema.columns]
    label = {"adult": ">50K", "bank": "yes", "ipums-br": "1", "kddcup99": "smurf."}[name]
    bunch = load_records(name, [[*row, label]], encoding=encoding)
    assert bunch.data.format == "csr"
    assert bunch.data.dtype == np.float32
    assert bunch.data.shape == (1, WIDTHS[name, encoding])
    assert bunch.feature_names == list(bunch.schema.feature_names)
    assert bunch.classes == bunch.schema.label.classes
    assert bunch.target.tolist() == [bunch.classes[1]]
    assert ("IPUMS" if name == "ipums-br" else "CC BY 4.0") in bunch.licence
    assert len(bunch.DESCR) > 100


def test_adult_is_the_same_through_either_door():
    here, there = load("adult", subset="test"), load_adult(split="test")
    assert (here.data != there.data).nnz == 0
    assert here.target.tolist() == there.target.tolist()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"name": "mnist"},
            "^There is no data set 'mnist'; there are 'adult', 'bank', 'ipums-br', 'ipums-us', 'kddcup99'",
        ),
        ({"name": "bank", "encoding": "one-hot"}, r"^encoding must be 'schema' or 'paper', not 'one-hot'\.$"),
        (
            {"name": "adult", "subset": "10%"},
            r"^subset of 'adult' must be 'all' or 'train' or 'test', not '10%'\.$",
        ),
        (
            {"name": "kddcup99", "subset": "all"},
            r"^subset of 'kddcup99' must be '10%' or 'full', not 'all'\.$",
        ),
        ({"name": "bank", "subset": "train"}, r"^subset of 'bank' must be left out, not 'train'\.$"),
        (
            {"name": "adult", "schema": Schema([Numeric("x", 0, 1)], Label("y", ("a", "b")))},
            r"^schema is for 'ipums-us' only; the schema of 'adult' is part of the package\.$",
        ),
    ],
)
def test_wrong_argument_is_refused_before_anything_is_fetched(arguments, message):
    with pytest.raises(ValueError, match=message):
        load(**arguments)
