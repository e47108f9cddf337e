"""The page says what was released, as a browser shows it, and nothing else."""

import math
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from scipy.stats import norm

from privfit import DPLinearSVC, DPLogisticRegression
from privfit.accounting import Concentrated, Direct, Gaussian
from privfit.accounting.promise import to_dict
from privfit.report.odds import Odds

VOID = {"meta", "link", "line", "polyline", "rect", "br"}


def people(n=2_000, p=6, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 1, (n, p))
    return X, np.where(X[:, 0] + rng.normal(0, 0.3, n) > 0.5, "<b>rich", "poor & well")


def fitted(model=DPLogisticRegression, **settings):
    X, y = people()
    settings = {
        "classes": ("<b>rich", "poor & well"),
        "n_records": 2_000,
        "feature_bounds": (0, 1),
    } | settings
    return model(1.0, 1e-6, **settings).fit(X, y)


class Scores:
    """What an evaluation looks like to the page."""

    def to_dict(self):
        score = {"value": 0.8123, "interval": [0.79, 0.83], "noise": 0.02, "population": [0.77, 0.85]}
        return {
            "accuracy": score,
            "privacy": {"rho": 0.01, "text": "These scores are private. In plain words: x"},
        }


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "card.html"
    fitted().report(
        path, scores=Scores(), title="Who is <rich>?", card={"Intended use": "Teaching & <more>."}
    )
    return path.read_text()


class Balance(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.links, self.ids, self.levels = [], [], [], []

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if tag not in VOID:
            self.open.append(tag)
        self.links += [attributes[name] for name in ("href", "src") if name in attributes]
        self.ids += [attributes["id"]] if "id" in attributes else []
        self.levels += [int(tag[1])] if re.fullmatch(r"h\d", tag) else []

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open.pop() == tag


def test_it_is_one_well_formed_file_that_asks_the_network_for_nothing(page):
    parser = Balance()
    parser.feed(page)
    assert parser.open == []
    assert all(link.startswith(("#", "data:")) for link in parser.links)
    assert {link[1:] for link in parser.links if link.startswith("#")} <= set(parser.ids)
    assert "<script" not in page
    assert "http" not in page.replace("http-equiv", "")
    assert len(page.encode()) < 1_000_000
    assert parser.levels == [1] + [2] * (len(parser.levels) - 1)


def test_names_and_labels_are_text_not_markup(page):
    assert "&lt;b&gt;rich" in page
    assert "<b>rich" not in page
    assert "Who is &lt;rich&gt;?" in page
    assert "Teaching &amp; &lt;more&gt;." in page


@pytest.mark.parametrize(
    "words",
    [
        "What was promised",
        "(1, 1e-06)-differentially private",
        "each person has at most one record",
        "What the privacy budget was spent on",
        "Weights, all of them",
        "0.812",
        "0.770 to 0.850",
        "These scores are private.",
        "Where it should not be used",
        "not stated",
        "claim P7",
        "The probability of this is at most 7.126e-05, 1 in 14,000, for each person separately.",
        "Everything on this page was released with privacy or was public.",
    ],
)
def test_every_question_has_its_answer(page, words):
    assert words in page


def test_a_wide_model_stays_below_a_megabyte(tmp_path):
    rng = np.random.default_rng(1)
    X = rng.uniform(0, 1, (300, 30_000))
    model = DPLogisticRegression(1.0, classes=(0, 1), feature_bounds=(0, 1)).fit(X, rng.integers(0, 2, 300))
    model.report(tmp_path / "card.html")
    assert (tmp_path / "card.html").stat().st_size < 1_000_000
    assert "The 25,000 smallest weights are in the model file only." in (tmp_path / "card.html").read_text()


def test_seeded_noise_and_no_privacy_are_warned_of_at_the_top(tmp_path):
    fitted(noise="seeded", random_state=1).report(tmp_path / "seeded.html")
    assert "Do not publish it." in (tmp_path / "seeded.html").read_text()
    fitted(DPLinearSVC, solver="nonprivate").report(tmp_path / "exact.html")
    exact = (tmp_path / "exact.html").read_text()
    assert 'role="alert">This model promises no privacy.' in exact
    assert "released with privacy" not in exact


def test_beliefs_move_by_epsilon_in_log_odds():
    odds = Odds(1.0, 0.0)
    assert odds.exceptions() == 0.0
    least, most = odds.belief_after(0.2)
    assert math.log(most / (1 - most)) == pytest.approx(math.log(0.2 / 0.8) + 1.0)
    assert math.log(least / (1 - least)) == pytest.approx(math.log(0.2 / 0.8) - 1.0)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_beliefs_move_further_no_more_often_than_the_page_says(epsilon):
    """Of two normals a distance mu apart the log-ratio is itself normal; delta is no bound on its tail."""
    gaussian = Odds.of(to_dict(Gaussian.of(epsilon=epsilon, delta=1e-6)))
    ratio = norm(gaussian.mu**2 / 2, gaussian.mu)
    truth = ratio.sf(epsilon) + ratio.cdf(-epsilon)
    assert 1e-6 < truth <= gaussian.exceptions() < 10 * truth
    concentrated = Odds.of(to_dict(Concentrated.of(rho=gaussian.rho, delta=1e-6)))
    ratio = norm(concentrated.rho, math.sqrt(2 * concentrated.rho))  # Gaussian noise of this price
    truth = ratio.sf(concentrated.epsilon) + ratio.cdf(-concentrated.epsilon)
    assert 1e-6 < truth <= concentrated.exceptions() < 0.01


def test_a_release_with_a_theorem_of_its_own_says_less_of_beliefs():
    direct = Odds.of(to_dict(Direct.of(epsilon=1.0, delta=1e-6)))
    assert direct.belief_after(0.5)[1] == pytest.approx(1 / (1 + math.exp(-2)))
    assert direct.exceptions() == pytest.approx(1e-6 / (1 - math.exp(-1)) * (1 + math.exp(-2)))


def test_the_best_attacker_is_the_one_of_the_promise():
    # (epsilon, 0): randomised response is the worst case, right with e^eps / (1 + e^eps)
    assert Odds(1.0, 0.0).best_guess() == pytest.approx(math.e / (1 + math.e))
    assert Odds(1.0, 0.0).power(0.05) == pytest.approx(0.05 * math.e)
    assert Odds(30.0, 0.0).power(0.05) == pytest.approx(1.0)
    # Gaussian: two normals a distance mu apart
    gaussian = Odds.of({"kind": "gaussian", "rho": 0.5, "epsilon": 4.0, "delta": 1e-5})
    assert gaussian.mu == pytest.approx(1.0)
    assert gaussian.best_guess() == pytest.approx(norm.cdf(0.5))
    assert gaussian.power(0.05) == pytest.approx(norm.sf(norm.isf(0.05) - 1.0))
