"""A schema may declare which column says how much each record counts."""

import numpy as np
import pytest
from replay import noise_from
from scripted import ScriptedNoise

from privfit import DPLogisticRegression, Schema, load
from privfit.schema import Label, Numeric, Weight

pd = pytest.importorskip("pandas")

rng = np.random.default_rng(0)
N = 600
AGE = rng.uniform(18.0, 90.0, N)
ILL = rng.random(N) < 1.0 / (1.0 + np.exp(-(AGE - 60.0) / 10.0))
WEIGHT = rng.uniform(0.5, 6.0, N)
FRAME = pd.DataFrame({"age": AGE, "ill": ILL, "pweight": WEIGHT})
COLUMNS = [Numeric("age", 0, 120)]
LABEL = Label("ill", [False, True])
PLAIN = Schema(COLUMNS, LABEL)


def schema(**settings):
    return Schema([*COLUMNS, Weight("pweight", 5.0, **settings)], LABEL)


class Silent(ScriptedNoise):
    def __init__(self):
        super().__init__(size=0.0)

    def radial(self, size, scale):
        return np.zeros(size)


def fit(table=FRAME, sample_weight=None, **settings):
    with noise_from(Silent()):
        return DPLogisticRegression(1.0, **settings).fit(table, sample_weight=sample_weight)


def weights(model):
    return np.append(model.coef_, model.intercept_)


@pytest.mark.parametrize(
    "settings", [{}, {"shrinkage": 0.5}, {"shrinkage": 0.5, "mean": 2.0, "decimal": ","}]
)
def test_it_is_written_and_read_back(settings):
    declared = schema(**settings)
    assert Schema.from_toml(declared.to_toml()) == declared
    assert Schema.from_dict(declared.to_dict()) == declared
    assert 'type = "weight"\nmax = 5.0' in declared.to_toml()
    assert declared.feature_names == ("age",)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"max": 0}, "max of column 'w' must be positive"),
        ({"max": float("inf")}, "max of column 'w' must be positive and at most"),
        ({"max": "5"}, "max of column 'w' must be"),
        ({"max": 5, "mean": 6}, "mean of column 'w' must be at most its max"),
        ({"max": 5, "shrinkage": 2}, "shrinkage of column 'w' must be between 0 and 1"),
        ({"max": 5, "thousands": "."}, "thousands and decimal"),
    ],
)
def test_what_makes_no_sense_is_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        Weight("w", **settings)


def test_there_is_one_weight_at_most():
    with pytest.raises(ValueError, match="at most one weight"):
        Schema([*COLUMNS, Weight("a", 1.0), Weight("b", 1.0)], LABEL)


def test_a_fit_weighs_records_by_the_column():
    np.testing.assert_array_equal(
        weights(fit(schema=schema())), weights(fit(schema=PLAIN, sample_weight=WEIGHT, max_weight=5.0))
    )
    shrunk = {"weight_shrinkage": 0.5, "mean_weight": 2.0, "max_weight": 5.0}
    np.testing.assert_array_equal(
        weights(fit(schema=schema(shrinkage=0.5, mean=2.0))),
        weights(fit(schema=PLAIN, sample_weight=WEIGHT, **shrunk)),
    )


def test_weights_that_are_given_go_before_the_column():
    given = np.where(ILL, 3.0, 1.0)
    np.testing.assert_array_equal(
        weights(fit(schema=schema(), sample_weight=given)),
        weights(fit(schema=PLAIN, sample_weight=given, max_weight=5.0)),
    )


def test_a_cell_says_its_weight_however_others_are_written():
    text = FRAME.astype({"pweight": "string"})
    text.loc[[0, 1, 2], "pweight"] = ["none", "", "-3"]
    numbers = WEIGHT.copy()
    numbers[[0, 1, 2]] = 0.0
    np.testing.assert_array_equal(
        weights(fit(text, schema=schema())),
        weights(fit(schema=PLAIN, sample_weight=numbers, max_weight=5.0)),
    )


def test_rows_without_a_label_take_their_weights_along():
    dropping = Schema([*COLUMNS, Weight("pweight", 5.0)], Label("ill", [False, True], missing="drop"))
    holes = FRAME.astype({"ill": object})
    holes.loc[::3, "ill"] = None
    kept = FRAME[np.arange(N) % 3 != 0]
    np.testing.assert_array_equal(weights(fit(holes, schema=dropping)), weights(fit(kept, schema=schema())))


def test_a_table_without_its_weights_is_refused_by_a_fit_and_not_by_predictions():
    bare = FRAME.drop(columns="pweight")
    with pytest.raises(ValueError, match="pweight"):
        fit(bare, schema=schema())
    assert len(fit(schema=schema()).predict(bare)) == N


def test_the_exact_score_weighs_by_the_column():
    model = fit(schema=schema())
    right = model.predict(FRAME) == ILL
    assert model.score(FRAME) == pytest.approx(np.average(right, weights=np.minimum(WEIGHT, 5.0)))
    assert model.score(FRAME, ILL) == model.score(FRAME)
    assert model.score(FRAME, sample_weight=np.ones(N)) == pytest.approx(right.mean())


@pytest.mark.parametrize(
    "setting",
    [{"max_weight": 5.0}, {"mean_weight": 2.0}, {"weight_shrinkage": 0.5}],
    ids=lambda s: next(iter(s)),
)
def test_what_the_schema_says_is_not_said_twice(setting):
    with pytest.raises(ValueError, match=f"declares this already; remove {next(iter(setting))}="):
        fit(schema=schema(mean=2.0, shrinkage=0.5), **setting)


def test_what_the_schema_leaves_open_can_be_said_to_the_estimator():
    in_schema = fit(schema=schema(mean=2.0, shrinkage=0.5))
    by_settings = fit(schema=schema(), mean_weight=2.0, weight_shrinkage=0.5)
    np.testing.assert_array_equal(weights(by_settings), weights(in_schema))
    assert by_settings.privacy_.text == in_schema.privacy_.text
    assert (weights(by_settings) != weights(fit(schema=schema()))).any()


def test_the_check_counts_strange_weights_and_quotes_none():
    strange = FRAME.copy()
    strange.loc[:3, "pweight"] = [np.nan, -1.0, 7.25, 8.5]
    found = str(schema().check(strange.assign(pweight=np.minimum(strange.pweight, 8.5))))
    for sentence in ("has no weight", "has a negative weight", "have a weight above max", "count as 0"):
        assert sentence in found
    assert "7.25" not in found
    assert "pweight" not in str(schema().check(FRAME.assign(pweight=1.0)))
    assert not schema().check(FRAME.assign(pweight=-1.0)).fits
    assert schema().check(FRAME.drop(columns=["pweight", "ill"]), purpose="predict").fits


def test_a_model_file_keeps_the_schema_and_the_statement(tmp_path):
    fitted = fit(schema=schema(shrinkage=0.5))
    fitted.save(tmp_path / "model.json")
    loaded = load(tmp_path / "model.json")
    assert loaded.schema_ == schema(shrinkage=0.5)
    assert "the largest weight, 5, is public" in str(loaded.privacy_)
    np.testing.assert_array_equal(loaded.predict(FRAME), fitted.predict(FRAME))
