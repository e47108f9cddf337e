"""`privfit tune`: what is tried, what is printed and written, and what is refused before a charge."""

import json

import pytest
from running import privfit

from privfit import load
from privfit.accounting import Gaussian
from privfit.cli.tune import _table, grid_of

TUNE = ("tune", "people.csv", "--schema", "schema.toml", "--out", "best.json")
TRY = ("--try", "alpha=0,3")
PAID = ("--ledger", "people.db")


def spent():
    return json.loads(privfit("ledger", "status", "people.db", "--json").stdout)["spent"]


def test_settings_are_tried_and_the_best_is_written(desk):
    before = spent()
    printed = privfit(*TUNE, *TRY, "--epsilon", 0.9, "--report", "card.html", *PAID).stdout
    assert "Noisy log loss on held-out records" in printed
    lines = [line for line in printed.splitlines() if "alpha = " in line]
    assert [line.startswith("chosen") for line in lines] == [True, False]
    assert "The model is in best.json, the page about it in card.html." in printed
    model = load("best.json")
    assert model.privacy_.epsilon == 0.9
    assert "the settings were chosen among 2" in model.privacy_.text
    assert "chosen among 2" in (desk / "card.html").read_text()
    assert spent() - before == pytest.approx(Gaussian.of(epsilon=0.9, delta=1e-6).rho, rel=0.02)


@pytest.mark.slow
def test_json_has_all_that_was_released(desk):
    told = json.loads(
        privfit(*TUNE, "--try", "alpha=0,3", "--try", "curves=none,2", "--no-refit", "--json").stdout
    )
    assert len(told["tried"]) == 4
    assert told["chosen"] in [one["settings"] for one in told["tried"]]
    assert {one["rank_test_loss"] for one in told["tried"]} == {1, 2, 3, 4}
    assert told["scoring"] == "log_loss"
    assert told["ledger"] is None
    assert told["privacy"]["promise"]["epsilon"] == 1.0


def test_values_are_read_as_numbers_switches_words_and_nothing():
    given = ["alpha=0,0.01,1e-3", "curves=true,none,3", "max-passes=none, 20", "solver=adaptive,newton"]
    assert grid_of(given) == {
        "alpha": [0, 0.01, 1e-3],
        "curves": [True, None, 3],
        "max_passes": [None, 20],
        "solver": ["adaptive", "newton"],
    }


MISTAKES = {
    "no values": (("--try", "alpha"), "--try needs a setting and its values, for example --try alpha=0,0.01"),
    "an empty value": (("--try", "alpha=0,"), "--try needs a setting and its values"),
    "a setting twice": (("--try", "alpha=0,1", "--try", "alpha=2,3"), "--try names alpha twice"),
    "one setting": (("--try", "alpha=0"), "2 to 100 settings to choose among, got 1; to train one, use"),
    "a setting that is none": (
        ("--try", "beta=0,1"),
        "--try names 'beta', which is no setting of a logistic regression; a search can try alpha, "
        "class_weight, curves, fit_intercept, max_passes, solver, weight_shrinkage.",
    ),
    "the privacy budget": (("--try", "epsilon=1,2"), "--try names epsilon, which decides what is promised"),
    "what is public": (("--try", "n_records=1,2"), "--try names n_records, which says what is public"),
    "a value that makes no sense": (("--try", "alpha=0,-1"), "alpha must be a non-negative finite number"),
    "a solver that is none": (("--try", "solver=adaptive,adam"), "adam"),
    "a solver without privacy": (("--try", "solver=adaptive,nonprivate"), "promises no privacy"),
    "a loss that is none": ((*TRY, "--scoring", "auc"), "--scoring of a logistic regression must be one of"),
    "two privacy budgets": ((*TRY, "--rho", "1", "--epsilon", "1"), "Give one of --rho and --epsilon"),
    "a privacy budget that is none": ((*TRY, "--epsilon", "nan"), "--epsilon must be a positive finite"),
    "more than is left": ((*TRY, "--epsilon", "5"), "this search of settings of a logistic regression needs"),
}


USUAL = ("no values", "the privacy budget", "more than is left")


@pytest.mark.parametrize(
    "name", [*USUAL, *(pytest.param(name, marks=pytest.mark.slow) for name in MISTAKES if name not in USUAL)]
)
def test_a_mistake_is_one_sentence_and_costs_nothing(name, desk):
    words, message = MISTAKES[name]
    before = spent()
    told = privfit(*TUNE, *words, *PAID, code=2).stderr
    assert message in " ".join(told.split())
    assert spent() == before
    assert not (desk / "best.json").exists()


def test_mistakes_of_settings_are_told_before_the_table_is_read(desk):
    told = privfit("tune", "none.csv", *TUNE[2:], "--try", "alpha=0,-1", code=2).stderr
    assert "alpha must be" in told


def test_losses_are_rounded_to_two_digits_of_their_noise():
    class Search:
        best_index_, scorer_ = 1, "log_loss"
        cv_results_ = {  # noqa: RUF012  # a stand-in
            "params": [{"alpha": 0.0}, {"alpha": 1.0}, {"alpha": 2.0}],
            "difference": [0.01234567, -0.04321, float("nan")],
            "difference_noise": [0.0023456, 0.12345, float("nan")],
            "mean_test_loss": [0.56789, 0.56789, float("nan")],
            "loss_noise": [0.0345, 1.2345, float("nan")],
        }

    first, second, third = (line.split()[-4:] for line in _table(Search).splitlines()[-3:])
    assert first == ["+0.0123", "0.0023", "0.568", "0.035"]
    assert second == ["-0.04", "0.12", "0.6", "1.2"]
    assert third == ["unknown"] * 4
