"""From a CSV or Parquet file to a published model, command by command, as a new user goes."""

import csv
import json
import re
import runpy
import tomllib

import numpy as np
import pytest
from people import HEADER, rows_of
from running import privfit

from privfit import DPLogisticRegression, load


def test_a_draft_names_every_column_and_is_refused_until_it_is_filled_in(desk):
    drafted = privfit("schema", "draft", "people.csv", "--label", "sick").stdout
    (desk / "draft.toml").write_text(drafted)
    facts = tomllib.loads(drafted)
    assert [column["name"] for column in facts["columns"]] == HEADER[:-1]
    assert facts["label"]["name"] == "sick"
    refused = privfit("train", "people.csv", "--schema", "draft.toml", "--out", "m.json", code=2)
    assert refused.stderr.startswith("Error: draft.toml: column 'person' is not filled in yet")


def test_check_says_what_does_not_fit_and_exits_with_1(desk):
    fits = privfit("schema", "check", "people.csv", "--schema", "schema.toml")
    assert fits.stdout.startswith("For the custodian of the data only")
    narrower = (desk / "schema.toml").read_text().replace('"Bern", ', "")
    (desk / "narrower.toml").write_text(narrower)
    found = privfit("schema", "check", "people.csv", "--schema", "narrower.toml", "--json", code=1)
    facts = json.loads(found.stdout)
    assert not facts["fits"]
    assert {finding["column"] for finding in facts["for_the_custodian_only"]} >= {"city"}
    assert "Bern" not in found.output


def test_train_pays_and_writes_a_model_and_a_page(desk):
    before = json.loads(privfit("ledger", "status", "people.db", "--json").stdout)
    options = ("--ledger", "people.db", "--epsilon", 0.5, "--model", "svm", "--report", "card.html")
    done = privfit("train", "people.csv", "--schema", "schema.toml", "--out", "svm.json", *options)
    assert done.stdout.startswith("The model is in svm.json, the page about it in card.html.\n")
    assert "(0.5, 1e-06)-differentially private" in done.stdout
    assert "The ledger of 'census-2026': Promised" in done.stdout
    after = json.loads(privfit("ledger", "status", "people.db", "--json").stdout)
    assert after["spent"] > before["spent"]
    assert after["epsilon_left_for_one_fit"] < before["epsilon_left_for_one_fit"]
    assert type(load(desk / "svm.json")).__name__ == "DPLinearSVC"
    assert "smoker" in (desk / "card.html").read_text()


def test_train_without_a_ledger_says_that_nobody_adds_up(desk):
    done = privfit("train", "people.csv", "--schema", "schema.toml", "--out", "alone.json")
    assert "No ledger was charged." in " ".join(done.stdout.split())


def test_a_parquet_file_is_as_good_as_a_csv_file(desk):
    pandas = pytest.importorskip("pandas")
    frame = pandas.read_csv("people.csv", parse_dates=["born"])
    frame["income"] = frame["income"].str.replace(r"[$,]", "", regex=True).astype(float)
    frame.to_parquet("people.parquet")
    drafted = tomllib.loads(privfit("schema", "draft", "people.parquet", "--label", "sick").stdout)
    assert {column["name"]: column["type"] for column in drafted["columns"]}["born"] == "date"
    privfit("schema", "check", "people.parquet", "--schema", "schema.toml")
    privfit("train", "people.parquet", "--schema", "schema.toml", "--out", "parquet.json")
    for data in ("people.csv", "people.parquet"):
        privfit("predict", "parquet.json", data, "--out", f"{data}.predicted")
    assert (desk / "people.csv.predicted").read_text() == (desk / "people.parquet.predicted").read_text()


def test_the_solver_and_its_settings_are_those_that_were_asked_for(desk):
    options = ("--solver", "gradient-descent", "--alpha", 0.25, "--no-intercept", "--records", 1500)
    table = ("train", "people.csv", "--schema", "schema.toml", "--out", "new.json")
    with pytest.MonkeyPatch.context() as patch:
        asked = []
        real = DPLogisticRegression.fit
        patch.setattr(DPLogisticRegression, "fit", lambda self, X: asked.append(self) or real(self, X))
        done = privfit(*table, *options)
    settings = asked[0].get_params()
    assert (settings["solver"], settings["alpha"]) == ("gradient-descent", 0.25)
    assert (settings["fit_intercept"], settings["n_records"]) == (False, 1500)
    assert load("new.json").intercept_.tolist() == [0.0]
    assert "the number of records, declared as 1,500, is public" in " ".join(done.stdout.split())


def test_the_statement_is_printed_by_train_and_one_line_of_it_afterwards(desk):
    done = privfit("train", "people.csv", "--schema", "schema.toml", "--out", "new.json", "--epsilon", 2)
    assert "In plain words:" in done.stdout
    explained = privfit("explain", "new.json").stdout
    assert "In plain words" not in explained
    assert re.search(r"\nThe promise: epsilon = 2 at delta = 1e-06 \(rho = [\d.]+\); new.json has", explained)
    facts = json.loads(privfit("explain", "new.json", "--json").stdout)
    assert "In plain words:" in facts["privacy"]["text"]


def test_predict_needs_no_label_and_keeps_the_order(desk):
    privfit("predict", "model.json", "new-people.csv", "--probabilities", "--out", "predictions.csv")
    head, *rows = list(csv.reader((desk / "predictions.csv").open()))
    assert head == ["person", "sick", "probability of no", "probability of yes"]
    chances = load("model.json").predict_proba("new-people.csv")
    assert np.allclose([[float(a), float(b)] for _, _, a, b in rows], chances)
    assert [label for _, label, *_ in rows] == ["yes" if b > 0.5 else "no" for _, b in chances]


def test_a_label_that_looks_like_a_formula_is_written_as_text(desk):
    document = (desk / "model.json").read_text().replace('"yes"', '"=cmd()"').replace('"sick"', '"@sick"')
    (desk / "formula.json").write_text(document)
    table = (desk / "new-people.csv").read_text().replace("yes", "=cmd()")
    (desk / "new-people.csv").write_text(table)
    privfit("predict", "formula.json", "new-people.csv", "--out", "predictions.csv")
    written = [label for _, label in csv.reader((desk / "predictions.csv").open())]
    assert written[0] == "'@sick"
    assert set(written[1:]) == {"'=cmd()", "no"}


def test_private_scores_are_paid_for_and_public_ones_are_exact(desk):
    entries = len(json.loads(privfit("ledger", "log", "people.db", "--json").stdout)["entries"])
    bought = privfit(
        "evaluate", "model.json", "held-out.csv", "--epsilon", 0.3, "--ledger", "people.db", "--json"
    )
    assert json.loads(bought.stdout)["privacy"]["epsilon"] == pytest.approx(0.3, rel=1e-3)
    assert len(json.loads(privfit("ledger", "log", "people.db", "--json").stdout)["entries"]) > entries
    exact = json.loads(privfit("evaluate", "model.json", "held-out.csv", "--public-data", "--json").stdout)
    model, labels = load("model.json"), [row[-1] for row in rows_of(600, 2)]
    assert exact["accuracy"] == pytest.approx(np.mean(model.predict("held-out.csv") == np.array(labels)))
    assert set(exact) == {"accuracy", "balanced_accuracy", "roc_auc", "brier_score", "log_loss"}


def test_public_records_of_one_class_have_no_auc_and_no_warning(desk):
    lines = (desk / "held-out.csv").read_text().splitlines()
    (desk / "well.csv").write_text("\n".join([lines[0], *(li for li in lines if li.endswith(",no"))]) + "\n")
    result = privfit("evaluate", "model.json", "well.csv", "--public-data", "--json")
    assert set(json.loads(result.stdout)) == {"accuracy", "brier_score", "log_loss"}
    assert "Warning" not in result.stderr


def test_explain_speaks_the_schemas_words_for_its_positive_class(desk):
    text = privfit("explain", "model.json", "--top", 2).stdout
    assert "Positive weights favour yes. The intercept" in " ".join(text.split())
    assert re.search(r"^smoker +\+\d\S+ +\d\S*  from no to yes$", text, re.MULTILINE)
    assert "(5 smaller ones are left out; --top shows more.)" in text
    document = json.loads((desk / "model.json").read_text())
    document["preprocessing"]["schema"]["label"]["positive"] = "no"
    (desk / "turned.json").write_text(json.dumps(document))
    straight, turned = (
        json.loads(privfit("explain", f"{m}.json", "--json").stdout) for m in ("model", "turned")
    )
    assert turned["speaks_for"] == "no"
    assert turned["intercept"] == -straight["intercept"]
    assert [w["weight"] for w in turned["weights"]] == [-w["weight"] for w in straight["weights"]]


def test_explain_names_the_columns_of_a_model_without_a_schema(tmp_path):
    from privfit import DPLogisticRegression

    X = np.random.default_rng(0).uniform(0, 10, size=(400, 2))
    y = (X[:, 0] > 5).astype(int)
    model = DPLogisticRegression(classes=(0, 1), feature_bounds=(0, 10), noise="seeded", random_state=0)
    model.fit(X, y).save(tmp_path / "numbers.json")
    facts = json.loads(privfit("explain", tmp_path / "numbers.json", "--json").stdout)
    found = {w["column"]: w for w in facts["weights"]}
    low, high = (side[0] for side in model.feature_bounds_)
    assert found["column 0"]["weight"] == pytest.approx((high - low) * model.coef_[0, 0])
    assert found["column 0"]["over"] == f"from {low:g} to {high:g}"
    refused = privfit(
        "predict", tmp_path / "numbers.json", tmp_path / "p.csv", "--out", tmp_path / "o.csv", code=2
    )
    assert "was trained on numbers, without a schema, so it cannot read a table" in refused.stderr


@pytest.mark.parametrize(
    "nonsense",
    [
        {"promise": []},
        {"promise": {"kind": "gaussian"}},
        {"promise": {"kind": "direct", "epsilon": "1", "delta": 0.0}},
        {"promise": {"kind": "concentrated", "rho": 1e308, "epsilon": 1.0, "delta": 1e-6}},
        {"promise": {"kind": "direct", "epsilon": float("nan"), "delta": 1e-6}},
        {"origin": {"who": "alice"}},
        {"origin": 3},
    ],
)
def test_scores_whose_promise_makes_no_sense_are_refused(desk, nonsense):
    scores = json.loads((desk / "scores.json").read_text())
    scores["privacy"] |= nonsense
    (desk / "odd.json").write_text(json.dumps(scores))
    refused = privfit("report", "model.json", "--scores", "odd.json", "--out", "odd.html", code=2)
    assert (
        "odd.json holds no scores; write some with: privfit evaluate MODEL TABLE --out SCORES"
        in refused.stderr
    )
    assert not (desk / "odd.html").exists()


def test_the_report_holds_bought_scores_and_the_card(desk):
    (desk / "card.toml").write_text('"Intended use" = "Planning <beds>."\n')
    options = ("--scores", "scores.json", "--card", "card.toml", "--title", "Who falls ill?")
    facts = json.loads(privfit("report", "model.json", "--out", "card.html", *options, "--json").stdout)
    assert facts == {"report": "card.html"}
    page = (desk / "card.html").read_text()
    for expected in ("<h1>Who falls ill?</h1>", "Planning &lt;beds&gt;.", "AUC", "city = Bern"):
        assert expected in page
    assert "<dt>Data set</dt><dd>census-2026</dd>" in page
    assert "This ledger paid for both, so what it promises in all holds for them, too." in page


def test_an_exported_file_of_numpy_runs(desk):
    privfit("export", "model.json", "--numpy", "scorer.py")
    assert "predict" in runpy.run_path("scorer.py")


def test_log_tells_who_asked_what_and_verify_gives_a_seal_that_lasts(desk):
    log = privfit("ledger", "log", "people.db").stdout.splitlines()
    assert log[0].split() == ["day", "who", "what", "how", "rho", "delta"]
    assert "fit of a logistic regression" in log[1]
    verified = json.loads(privfit("ledger", "verify", "people.db", "--json").stdout)
    assert "as far as they alone can show" in verified["shows"]
    seal = verified["seal"]
    privfit("evaluate", "model.json", "held-out.csv", "--rho", 0.001, "--ledger", "people.db")
    shown = privfit("ledger", "verify", "people.db", "--seal", seal).stdout
    assert f"those up to number {verified['entries']} are the ones" in " ".join(shown.split())
    refused = privfit("ledger", "verify", "people.db", "--seal", "0" * 64, code=2)
    assert "does not hold the seal" in refused.stderr
    assert "nothing is charged until" not in refused.stderr  # a seal that was mistyped stops nobody


def test_one_promise_in_every_unit(desk):
    facts = json.loads(privfit("convert", "--epsilon", 1, "--json").stdout)
    back = json.loads(privfit("convert", "--mu", facts["gaussian_noise_only"]["mu"], "--json").stdout)
    assert back["gaussian_noise_only"]["epsilon"] == pytest.approx(1.0, rel=1e-4)
    assert back["any_question"]["epsilon"] > 1.0


def test_plan_forecasts_and_draws(desk):
    options = ("--epsilon", 1, "--runs", 2, "--plot", "plan.svg", "--json")
    facts = json.loads(privfit("plan", "--people", 300, "--features", 3, *options).stdout)
    assert facts
    assert "<svg" in (desk / "plan.svg").read_text()
