"""A pickle carries privfit's version, and another version's is refused in a sentence that names save."""

import copy
import multiprocessing
import pickle

import joblib
import numpy as np
import pytest
from sklearn.base import clone

from privfit import DPLinearSVC, DPLogisticRegression
from privfit.estimators import pickled
from privfit.preprocessing import PrivateBounds, SchemaEncoder
from privfit.schema import Label, Numeric, Schema

X = np.random.default_rng(0).uniform(0.0, 1.0, (300, 2))
Y = (X[:, 0] > 0.5).astype(int)
REFUSED = (
    r"^This pickle of \w+ was made by {}, and privfit .* reads only its own pickles; write a fitted model "
    r"with save, and read it with privfit.load, which reads the model files of earlier versions, too\.$"
)


def fitted(kind):
    return kind(4.0, feature_bounds=(0, 1)).fit(X, Y)


MAKERS = {
    "logistic regression": lambda: fitted(DPLogisticRegression),
    "SVM": lambda: fitted(DPLinearSVC),
    "not fitted": DPLogisticRegression,
    "bounds": lambda: PrivateBounds(4.0).fit(X),
    "encoder": lambda: SchemaEncoder(Schema([Numeric("x", 0, 1)], Label("y", [False, True]))),
}


@pytest.fixture(params=MAKERS)
def estimator(request):
    return MAKERS[request.param]()


def test_a_pickle_of_this_version_is_read(estimator, tmp_path):
    again = pickle.loads(pickle.dumps(estimator))
    assert type(again) is type(estimator)
    assert again.__dict__.keys() - estimator.__dict__.keys() <= {"_family", "_made_in_strict_mode"}
    joblib.dump(estimator, tmp_path / "it.joblib")
    assert type(joblib.load(tmp_path / "it.joblib")) is type(estimator)
    for copied in (copy.copy(estimator), copy.deepcopy(estimator), clone(estimator)):
        assert "_privfit_version" not in copied.__dict__


@pytest.mark.parametrize("protocol", [0, 2, pickle.HIGHEST_PROTOCOL])
def test_a_pickle_of_another_version_is_refused(estimator, protocol, monkeypatch):
    monkeypatch.setattr(pickled, "_VERSION", "0.0.9")
    written = pickle.dumps(estimator, protocol)
    monkeypatch.undo()
    with pytest.raises(ValueError, match=REFUSED.format("privfit 0.0.9")):
        pickle.loads(written)


class Gone:
    """A class of a later version, that this one cannot find."""


def test_the_version_is_checked_before_anything_inside_is_looked_for(monkeypatch):
    estimator = DPLogisticRegression(solver=Gone())
    monkeypatch.setattr(pickled, "_VERSION", "9.9.9")
    written = pickle.dumps(estimator)
    monkeypatch.undo()
    monkeypatch.delattr(f"{__name__}.Gone")
    with pytest.raises(ValueError, match=REFUSED.format("privfit 9.9.9")):
        pickle.loads(written)


def test_a_pickle_without_a_version_is_of_an_earlier_one_and_refused(estimator, monkeypatch):
    with monkeypatch.context() as earlier:  # which pickled as every object is pickled
        earlier.delattr(pickled.PickledForOneVersion, "__reduce_ex__")
        earlier.delattr(pickled.PickledForOneVersion, "__getstate__")
        written = pickle.dumps(estimator)
    assert b"_privfit_version" not in written
    with pytest.raises(ValueError, match=REFUSED.format("an earlier version of privfit")):
        pickle.loads(written)


def predict(model):
    return model.predict(X)


def test_processes_of_the_same_version_exchange_models():
    model = fitted(DPLogisticRegression)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert np.array_equal(pool.apply(predict, (model,)), model.predict(X))
