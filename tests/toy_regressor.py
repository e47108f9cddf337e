"""A regressor as a newcomer would add it: a loss of an interval, and a class of a few lines."""

import pytest

from privfit.estimators.regression import LinearRegressor
from privfit.losses import Loss
from privfit.losses.arithmetic import compilable
from privfit.losses.targets import Interval
from privfit.models.registry import MODELS

KIND = "toy-huber"


@compilable
def value(prediction, target):
    residual = abs(prediction - target)
    return 0.5 * residual * residual if residual < 0.3 else 0.3 * (residual - 0.15)


@compilable
def derivative(prediction, target):
    return max(-0.3, min(0.3, prediction - target))


def identity(mean):
    return mean


HUBER = Loss("toy_huber", value, derivative, lipschitz=0.3, smoothness=1.0, targets=Interval(), link=identity)


@pytest.fixture(scope="module")
def ToyRegressor():
    """Define it for a module of tests only, because others list the models that there are."""

    class ToyRegressor(LinearRegressor):
        _kind, _title = KIND, "Toy regression"

        def _loss_of_fit(self):
            return HUBER

    yield ToyRegressor
    del MODELS[KIND]
