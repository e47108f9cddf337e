"""The top of the page: what is asked first, from what was released or declared and nothing else."""

import json
import math
import re
from dataclasses import replace
from html import unescape

import pytest
from test_page import people

from privfit import DPLinearRegression, DPLinearSVC, DPLogisticRegression, Ledger
from privfit.accounting import Concentrated, Direct, Gaussian
from privfit.accounting.composition import composed
from privfit.accounting.gdp import epsilon_from_mu
from privfit.accounting.promise import to_dict
from privfit.metrics import evaluate
from privfit.publication import from_json, to_json
from privfit.report import render
from privfit.report.odds import Odds
from privfit.report.page import _exceptions
from privfit.report.summary import summary

X, Y = people(n=400)
SETTINGS = {"classes": ("<b>rich", "poor & well"), "feature_bounds": (0, 1)}


def answers(page):
    """The questions and answers at the top of a page."""
    (listed,) = re.findall(r'<dl class="summary">(.*?)</dl>', page)
    assert "<b>" not in listed
    return {
        unescape(name): unescape(text) for name, text in re.findall("<dt>(.*?)</dt><dd>(.*?)</dd>", listed)
    }


def fitted(**settings):
    return DPLogisticRegression(**SETTINGS | settings).fit(X, Y)


@pytest.fixture(scope="module")
def ledger(tmp_path_factory):
    store = tmp_path_factory.mktemp("ledgers") / "people.db"
    return Ledger.open(f"sqlite:///{store}", dataset="<b>census", epsilon=3.0, delta=1e-6, promise="gaussian")


@pytest.fixture(scope="module")
def paid(ledger):
    return fitted(ledger=ledger, n_records=4_000)


def test_what_a_lawyer_asks_first_is_at_the_top(paid, ledger):
    page = render(paid.published())
    assert page.index('class="summary"') < page.index("What was promised</h2>")
    found = answers(page)
    assert found["Data set"] == "<b>census"
    assert found["Date"] == f"{ledger.entries[0].when} (UTC)"
    assert found["Number of records"] == "4,000, declared as public"
    assert found["Ledger"].startswith(
        "It promises epsilon = 3 at delta = 1e-06 (rho = 0.2098) for this model"
    )
    assert re.match(
        r"epsilon = 1 at delta = 1e-06 \(rho = 0.028\d+\) for the model alone\.", found["Model and scores"]
    )


def test_what_is_not_known_is_not_made_up():
    facts = replace(fitted().published(), steps=())
    del facts.privacy["origin"]  # as in files of earlier versions
    found = answers(render(facts))
    assert found["Data set"] == found["Date"] == "not stated"
    assert found["Number of records"] == "not declared as public"
    assert (
        found["Ledger"]
        == "None. So nothing limits the total privacy loss of all releases about the same records."
    )
    assert "400" not in found.values()


def test_without_a_named_ledger_the_card_names_the_data(paid):
    model = fitted().published()
    by_people = answers(render(model, card={"People and data it was trained on": "Census of 2026"}))
    assert by_people["Data set"] == "Census of 2026"
    card = {"People and data it was trained on": "People of Bern", "Data set": "<b>ern"}
    assert answers(render(model, card=card))["Data set"] == "<b>ern"
    assert answers(render(paid.published(), card=card))["Data set"] == "<b>census"


def test_an_old_file_has_the_number_of_records_that_its_schema_declares():
    facts = replace(fitted().published(), schema={"records": 77})
    assert answers(summary(facts, None, {}))["Number of records"] == "77, declared as public"


def test_model_and_scores_of_one_ledger_are_added_up_under_its_total(paid, ledger):
    scores = evaluate(paid, X, Y, epsilon=0.5, ledger=ledger).to_dict()
    found = answers(render(paid.published(), scores=scores))["Model and scores"]
    mus = [Gaussian.of(epsilon=epsilon, delta=1e-6).mu for epsilon in (1.0, 0.5)]
    together = epsilon_from_mu(math.hypot(*mus), 1e-6)
    stated = float(re.search(r"Together at most epsilon = ([\d.]+) at delta = 1e-06,", found)[1])
    assert together <= stated < 1.001 * together
    assert "for a record that was used for both" in found
    assert found.endswith("This ledger paid for both, so what it promises in all holds for them, too.")


@pytest.mark.parametrize("of_model", [None, Ledger(epsilon=3.0, delta=1e-6)])
def test_scores_of_another_ledger_or_none_are_added_up_and_no_limit_is_claimed(of_model):
    """Two ledgers of the same size and without a name are still two."""
    model = fitted(ledger=of_model)
    other = Ledger(epsilon=3.0, delta=1e-6)
    scores = evaluate(model, X, Y, epsilon=0.5, ledger=other).to_dict()
    found = answers(render(model.published(), scores=scores))["Model and scores"]
    assert "Together at most epsilon = 1." in found
    assert found.endswith("No ledger paid for both, so none limits this sum.")


def test_scores_of_another_model_are_refused(paid):
    numbers = DPLinearRegression(1.0, feature_bounds=(0, 1), target_bounds=(0, 1)).fit(X, X[:, 0])
    with pytest.raises(
        ValueError, match="scores of a model of classes, and this is a model of numbers; give"
    ):
        render(numbers.published(), scores=evaluate(paid, X, Y, epsilon=0.1).to_dict())
    with pytest.raises(
        ValueError, match="scores of a model of numbers, and this is a model of classes; give"
    ):
        render(paid.published(), scores=evaluate(numbers, X, X[:, 0], epsilon=0.1).to_dict())
    others = DPLogisticRegression(1.0, classes=(0, 1), feature_bounds=(0, 1)).fit(X, Y == "poor & well")
    with pytest.raises(
        ValueError, match="scores of a model with other classes; give the scores of this model"
    ):
        render(paid.published(), scores=evaluate(others, X, Y == "poor & well", epsilon=0.1).to_dict())
    assert "How good it is" in render(
        others.published(), scores=evaluate(others, X, Y == "", epsilon=0.1).to_dict()
    )


def test_scores_written_by_an_earlier_version_are_added_plainly(paid):
    old = {"privacy": {"rho": 0.01, "epsilon": 0.25, "delta": 1e-6, "text": "These scores are private."}}
    model = paid.published()
    model.privacy["promise"] = to_dict(Direct.of(epsilon=1.0, delta=1e-6))
    found = answers(render(model, scores=old))["Model and scores"]
    assert found.startswith("Together at most epsilon = 1.25 at delta = 2e-06,")
    del old["privacy"]["epsilon"]
    assert answers(render(model, scores=old))["Model and scores"].endswith(
        "The file of the scores states no promise."
    )


def test_a_model_without_privacy_promises_nothing():
    model = DPLinearSVC(solver="nonprivate", **SETTINGS).fit(X, Y)
    page = render(model.published())
    assert answers(page)["Model and scores"] == "Nothing is promised."
    assert "<h1>Linear support vector machine without privacy</h1>" in page


@pytest.mark.filterwarnings("ignore::privfit.PrivacyLeakWarning")
def test_fits_that_no_ledger_adds_up_are_added_up():
    model = fitted()
    model.fit(X, Y)
    found = answers(render(model.published()))["Ledger"]
    assert "Bookkeeping, not a promise: the 2 fits of this estimator, its clones and refits add up" in found


def test_scores_with_seeded_noise_are_warned_of(paid):
    scores = evaluate(paid, X, Y, ledger=Ledger(rho=0.01), rho=0.01, noise="seeded", random_state=0)
    assert "Do not publish it." in render(paid.published(), scores=scores.to_dict())
    assert "Do not publish it." not in render(paid.published())


def test_the_page_of_a_loaded_model_is_the_same(paid):
    again = from_json(to_json(paid.published()))
    assert render(again) == render(paid.published())
    assert json.loads(to_json(again)) == json.loads(to_json(paid.published()))


@pytest.mark.parametrize(
    "promise",
    [Gaussian.of(epsilon=e, delta=d) for e in (0.1, 1.0, 8.0) for d in (1e-5, 1e-9)]
    + [Concentrated.of(epsilon=1.0, delta=1e-6), Direct.of(epsilon=1.0, delta=1e-6)],
)
def test_the_exception_is_put_into_words_that_do_not_understate_it(promise):
    odds = Odds.of(to_dict(promise))
    words = _exceptions(odds, "person")
    stated, one_in = re.search(r"at most (\S+), 1 in ([\d,]+), for each person separately", words).groups()
    assert odds.exceptions() <= float(stated)
    assert odds.exceptions() <= 1.0 / int(one_in.replace(",", "")) < 1.1 * odds.exceptions()
    assert "It depends only on the draw of the noise" in words


def test_without_exception_the_page_says_so():
    assert "There is no exception" in _exceptions(Odds(1.0, 0.0), "record")
    certain = Odds.of(to_dict(Direct.of(epsilon=1e-9, delta=0.5)))
    assert "at most 1, for each record separately" in _exceptions(certain, "record")


def test_the_sum_of_two_promises_is_exact_where_it_can_be_and_never_too_small():
    one, other = Direct.of(epsilon=0.1, delta=1e-6), Direct.of(epsilon=0.2, delta=1e-6)
    epsilon, delta = composed([one, other])
    assert delta == 2e-6
    assert epsilon == math.nextafter(0.3, 1.0)  # 0.1 + 0.2 is above the float 0.3
    mixed = composed([Gaussian.of(epsilon=1.0, delta=1e-6), Concentrated.of(rho=0.005, delta=1e-6)])
    assert mixed[1] == 1e-6
    assert composed([Concentrated(0.1), one]) == (pytest.approx(2.0, abs=1.0), 2e-6)
    assert composed([Concentrated(0.1), Concentrated(0.1)]) == (math.inf, 0.0)


@pytest.mark.parametrize("delta", [1e-300, 1e-20, 5e-16, 1e-15, 1e-14])
@pytest.mark.parametrize("other", [Direct(1.0, 0.0), Direct(1.0, 1e-15), Concentrated(0.1, 0.4, 1.5, 0.45)])
def test_promises_of_any_delta_add_up(delta, other):
    """zCDP converts to deltas from 1e-15 on; a release with a proof of its own may have a smaller one."""
    epsilon, total = composed([Direct(1.0, delta), other])
    assert epsilon <= 1.0 + other.epsilon
    assert delta <= total < 1.0


def test_deltas_that_add_up_to_one_promise_nothing():
    assert composed([Direct(1.0, 0.4), Direct(1.0, 0.4)]) == (2.0, 0.8)
    assert composed([Direct(1.0, 0.5), Direct(1.0, 0.5)]) == (math.inf, 1.0)


def test_what_each_step_cost_is_no_chart_because_it_is_the_same_for_all(paid):
    page = render(paid.published())
    assert "What the privacy budget was spent on" in page
    assert "<svg" not in page
    assert "price of a step" not in page
