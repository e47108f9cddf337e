"""Which models exist is said once, by the classes themselves, and everybody else asks for the link."""

import re
from pathlib import Path

import numpy as np
import pytest
from scipy.special import expit

import privfit
from privfit import DPLinearSVC, DPLogisticRegression
from privfit.models.links import IDENTITY, LINKS, LOG, LOGIT, SIGN, SOFTMAX, chosen
from privfit.models.registry import MODELS, Model, register, title_of

SOURCE = Path(privfit.__file__).parent


def test_the_classes_enter_themselves():
    assert MODELS["logistic"].estimator is DPLogisticRegression
    assert MODELS["svm"].estimator is DPLinearSVC
    assert [MODELS[kind].link for kind in ("logistic", "svm")] == [LOGIT, SIGN]
    assert title_of("svm") == "Linear support vector machine"
    assert title_of("of another privfit") == "of another privfit"


def test_a_subclass_without_a_kind_of_its_own_does_not_take_its_parents_place():
    class Quieter(DPLogisticRegression):
        pass

    assert MODELS[Quieter._kind].estimator is DPLogisticRegression


def test_two_classes_cannot_have_one_kind():
    with pytest.raises(ValueError, match=r"The kind 'svm' is that of privfit.*DPLinearSVC; give .* another"):

        class Other(DPLogisticRegression):
            _kind = "svm"

    assert MODELS["svm"].estimator is DPLinearSVC
    register(Model("svm", MODELS["svm"].title, SIGN, DPLinearSVC))  # a class that is defined again


def test_nobody_asks_a_model_for_its_name():
    """Experiments are of the paper's two models, and losses have names of their own."""
    rooms = ("publication", "report", "metrics", "planning", "cli", "preprocessing", "estimators")
    compared = re.compile(r"""(?:kind|model)\)? (?:==|!=|in|is) [("'\[{]*(?:logistic|svm)""")
    found = [
        f"{path.name}: {line.strip()}"
        for room in rooms
        for path in (SOURCE / room).rglob("*.py")
        for line in path.read_text().splitlines()
        if compared.search(line)
    ]
    assert found == []
    assert compared.search('if model.kind == "logistic":')  # the search would find one


def test_links_say_what_becomes_of_scores():
    scores = np.array([-2.0, 0.0, 3.0])
    assert chosen(scores).tolist() == [0, 0, 1]
    assert chosen(np.array([[0.1, 0.3, 0.2], [5.0, -1.0, 2.0]])).tolist() == [1, 0]
    assert np.array_equal(LOGIT.probabilities(scores)[:, 1], expit(scores))
    shares = SOFTMAX.probabilities(np.array([[0.0, np.log(3.0), 0.0], [1e4, 0.0, 0.0]]))
    assert np.allclose(shares, [[0.2, 0.6, 0.2], [1.0, 0.0, 0.0]])
    assert IDENTITY.mean(scores).tolist() == scores.tolist()
    assert np.allclose(LOG.mean(scores), [np.exp(-2.0), 1.0, np.exp(3.0)])
    assert {name for name, link in LINKS.items() if link.predicts_classes} == {"sign", "logit", "softmax"}
    assert {name for name, link in LINKS.items() if link.has_odds} == {"logit"}
