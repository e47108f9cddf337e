"""What belongs to a row stays with it, from `fit` to the numbers."""

import numpy as np
import pytest

from privfit.estimators.records import Records

X = np.arange(8.0).reshape(4, 2)


def test_rows_are_kept_together():
    records = Records.given(X, [0, 1, 0, 1], [1, 2, 3, 4], list("aabb")).with_targets(np.array([0, 1, 0, 1]))
    kept = records.keep(np.array([True, False, False, True]))
    assert kept.X.tolist() == [[0.0, 1.0], [6.0, 7.0]]
    assert kept.y.tolist() == [0, 1]
    assert kept.sample_weight.tolist() == [1.0, 4.0]
    assert len(kept.groups) == 2
    assert records.keep(None) is records


@pytest.mark.parametrize("name", ["y", "sample_weight", "groups"])
def test_every_row_has_one_entry(name):
    given = {"y": [0, 1, 0, 1], "sample_weight": None, "groups": None} | {name: [1, 2, 3]}
    with pytest.raises(ValueError, match=f"X and {name} have inconsistent numbers of samples") as refusal:
        Records.given(X, **given).with_features(X)
    assert not any(digit in str(refusal.value) for digit in "0123456789")


@pytest.mark.parametrize("name", ["sample_weight", "groups"])
@pytest.mark.parametrize("wrong", [1.0, np.ones((4, 2)), "id", {"a": 1}, [[1], [2, 3]]])
def test_what_is_no_column_is_refused(name, wrong):
    given = {"sample_weight": None, "groups": None} | {name: wrong}
    with pytest.raises(ValueError, match=f"{name} must be an array or a column with one entry for each row"):
        Records.given(X, [0, 1, 0, 1], **given)


def test_weights_are_numbers_and_are_not_quoted():
    with pytest.raises(ValueError, match="weights are numbers") as refusal:
        Records.given(X, [0, 1, 0, 1], ["one", "two", "three", "Smith"], None)
    assert "Smith" not in str(refusal.value)
