"""Evidence is verified without the records: what is right holds, and what was changed is found."""

import copy
import json
import math
from pathlib import Path

import numpy as np
import pytest

import privfit
from privfit import DPLogisticRegression, DPSearchCV, Ledger
from privfit.estimators.evidence import evidence_of, statement_of
from privfit.metrics import evaluate
from privfit.models.claims import CLAIMS
from privfit.preprocessing import PrivateBounds
from privfit.verification import read_document, verify

RNG = np.random.default_rng(0)
X = RNG.uniform(0, 1, (400, 3))
Y = (X[:, 0] + RNG.normal(0, 0.2, 400) > 0.5).astype(int)
DECLARED = {"classes": (0, 1), "feature_bounds": (0, 1)}


def saved(folder, **settings):
    model = DPLogisticRegression(**DECLARED | settings).fit(X, Y)
    model.save(folder / "model.json")
    return folder / "model.json"


def opened(folder, **settings):
    return Ledger.open(f"sqlite:///{folder}/people.db", dataset="census", **{"epsilon": 8.0} | settings)


def failed(path, **settings):
    return {check.about for check in verify(path, **settings).checks if check.holds is False}


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    """A model that was paid by a lasting ledger, and that ledger's folder."""
    folder = tmp_path_factory.mktemp("drawn")
    return saved(folder, ledger=opened(folder), n_records=400)


SOLVERS = {
    "adaptive": {},
    "newton": {"solver": "newton"},
    "dpagd": {"solver": "dpagd", "n_records": 400},
    "frank-wolfe": {"solver": "frank-wolfe", "n_records": 400},
    "privgene": {"solver": "privgene", "n_records": 400},
    "output-perturbation": {"solver": "output-perturbation", "n_records": 400},
    "objective-perturbation": {"solver": "objective-perturbation", "n_records": 400, "delta": 1e-6},
    "sgd-ma": {"solver": "sgd-ma", "n_records": 400},
    "intervals": {"inference": True, "epsilon": 4.0},
    "rho": {"rho": 0.01},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SOLVERS)
def test_every_solver_leaves_evidence_that_verifies(name, tmp_path):
    path = saved(tmp_path, **SOLVERS[name])
    verification = verify(path)
    assert verification.holds, str(verification)
    evidence = read_document(path).evidence
    assert evidence["charges"]
    assert all(charge["claim"] in CLAIMS for charge in evidence["charges"])


@pytest.mark.slow
def test_scores_bounds_people_and_searches_leave_evidence_too(tmp_path):
    model = DPLogisticRegression(**DECLARED).fit(X, Y)
    scores = evaluate(model, X, Y, epsilon=1.0)
    (tmp_path / "scores.json").write_text(json.dumps(scores.to_dict()))
    assert verify(tmp_path / "scores.json").holds
    assert "All charges (1) add up to rho" in str(verify(tmp_path / "scores.json"))
    assert scores.evidence()["charges"][0]["claim"] == "Q16"
    bounds = PrivateBounds(epsilon=1.0).fit(X)
    (tmp_path / "bounds.json").write_text(json.dumps(evidence_of(bounds.privacy_)))
    assert verify(tmp_path / "bounds.json").holds
    people = DPLogisticRegression(rows_per_person=2, **DECLARED).fit(X, Y, groups=np.arange(400) // 2)
    people.save(tmp_path / "people.json")
    assert verify(tmp_path / "people.json").holds
    evidence = people.evidence()
    assert (evidence["adjacency"], evidence["records_per_person"]) == (
        "add or remove all records of one person",
        2,
    )
    search = DPSearchCV(DPLogisticRegression(**DECLARED), {"alpha": [0.0, 0.1]}, epsilon=2.0).fit(X, Y)
    search.best_estimator_.save(tmp_path / "search.json")
    assert verify(tmp_path / "search.json").holds, verify(tmp_path / "search.json")


def test_a_loaded_model_keeps_its_evidence(drawn, tmp_path):
    again = privfit.load(drawn)
    again.save(tmp_path / "again.json")
    written, rewritten = (json.loads(Path(path).read_text()) for path in (drawn, tmp_path / "again.json"))
    assert rewritten["evidence"] == written["evidence"]
    assert verify(tmp_path / "again.json").holds


def test_evidence_holds_no_number_of_records_no_path_and_no_user_name(tmp_path):
    """The number is 400 and was not declared; the ledger's rows name the user, and the store has a path."""
    ledger = opened(tmp_path)
    model = DPLogisticRegression(ledger=ledger, **DECLARED).fit(X, Y)
    text = json.dumps(model.evidence())
    assert "400" not in {word.strip('",.:;()[]{}') for word in text.split()}
    assert str(tmp_path) not in text
    assert "people.db" not in text
    assert "sqlite" not in text
    user = ledger.entries[0].who
    assert user
    assert f'"{user}"' not in text


def test_the_ledger_holds_the_charge_under_the_seal(drawn):
    ledger = opened(drawn.parent)
    verification = verify(drawn, ledger=ledger)
    assert verification.holds
    assert [check.holds for check in verification.checks if check.about == "seal"] == [True]


def test_a_failed_settlement_leaves_the_seal_of_the_reservation(tmp_path, monkeypatch):
    from privfit.accounting import LedgerError

    def fail(self, spent):
        raise LedgerError("The disk is gone.")

    monkeypatch.setattr("privfit.accounting.reservation.Reservation.settle", fail)
    with pytest.warns(UserWarning, match="stays spent"):
        path = saved(tmp_path, ledger=opened(tmp_path))
    assert verify(path, ledger=opened(tmp_path)).holds


def test_another_ledger_is_not_the_one_that_paid(drawn, tmp_path):
    other = opened(tmp_path)
    other.charge(0.001, kind="gaussian")
    assert failed(drawn, ledger=other) == {"seal"}


def test_a_seal_of_another_charge_is_found_out(drawn, tmp_path):
    """The seal of a later, smaller fit is in the chain; what was set aside there is another amount."""
    ledger = opened(drawn.parent)
    small = DPLogisticRegression(epsilon=0.5, ledger=ledger, **DECLARED).fit(X, Y)
    assert failed(
        tampered(drawn, tmp_path, ("evidence", "seal"), small.evidence()["seal"]), ledger=ledger
    ) == {"seal"}


def tampered(path, folder, where, value):
    """Write the document with one entry changed, and return where it is."""
    document = json.loads(Path(path).read_text())
    place = document
    for key in where[:-1]:
        place = place[key]
    assert place != place | {where[-1]: value} if isinstance(place, dict) else place[where[-1]] != value
    place[where[-1]] = value
    (folder / "tampered.json").write_text(json.dumps(document))
    return folder / "tampered.json"


def test_charges_that_a_whole_file_keeps_silent_about_are_missed_by_the_ledger(drawn, tmp_path):
    """Spending, steps and words agree with the few charges that were left; the ledger kept more."""
    document = json.loads(drawn.read_text())
    document["evidence"]["charges"] = document["evidence"]["charges"][:2]
    document["privacy"]["spending"] = {
        charge["what"]: charge["rho"] for charge in document["evidence"]["charges"]
    }
    document["steps"] = []
    document["evidence"] = evidence_of(statement_of(document["evidence"]))
    (tmp_path / "model.json").write_text(json.dumps(document))
    assert not failed(tmp_path / "model.json")
    verification = verify(tmp_path / "model.json", ledger=opened(drawn.parent))
    (wrong,) = [check for check in verification.checks if check.holds is False]
    assert (wrong.about, wrong.sentence) == (
        "seal",
        "The ledger was charged more than the charges of the evidence add up to, so some are missing.",
    )


SEALED = {
    "another epsilon of the ledger": (
        ("evidence", "shared_ledger", "epsilon"),
        9.0,
        "The ledger promises something else than the evidence says of it.",
    ),
    "a delta that was not set aside": (
        ("evidence", "promise", "slack"),
        1e-9,
        "The ledger set aside another amount than the evidence promises.",
    ),
    "a charge that nobody paid": (
        ("evidence", "charges", 0, "rho"),
        0.02,
        "The ledger was charged less than the charges of the evidence add up to.",
    ),
}


@pytest.mark.parametrize("name", SEALED)
def test_what_the_ledger_knows_better_is_found(name, drawn, tmp_path):
    where, value, why = SEALED[name]
    verification = verify(tampered(drawn, tmp_path, where, value), ledger=opened(drawn.parent))
    (seal,) = [check for check in verification.checks if check.about == "seal"]
    assert (seal.holds, seal.sentence) == (False, why)


def test_a_charge_of_the_right_amount_that_is_no_release_pays_for_none(drawn, tmp_path):
    folder = tmp_path / "charged"
    folder.mkdir()
    ledger, budget = opened(folder), json.loads(drawn.read_text())["evidence"]["promise"]["rho"]
    ledger.charge(budget, what="something", kind="gaussian")
    path = tampered(drawn, tmp_path, ("evidence", "seal"), str(ledger.verify()))
    path = tampered(path, tmp_path, ("evidence", "origin", "ledger"), ledger.identifier)
    (seal,) = [check for check in verify(path, ledger=ledger).checks if check.about == "seal"]
    assert seal.sentence == "The seal belongs to a charge that did not pay for a model or for scores."


SLIGHTLY = 1.0 - 2.0**-20


@pytest.mark.parametrize("which", ["scale", "rho"])
def test_noise_that_is_slightly_too_small_for_its_price_is_found(which, drawn, tmp_path):
    """By a millionth, which is far more than rounding."""
    charge = json.loads(drawn.read_text())["evidence"]["charges"][-1]
    where = ("evidence", "charges", -1, which)
    assert "noise" in failed(tampered(drawn, tmp_path, where, SLIGHTLY * charge[which]))


def test_charges_slightly_beyond_the_budget_are_found(drawn, tmp_path):
    """By a millionth of the budget, which is far more than rounding."""
    evidence = json.loads(drawn.read_text())["evidence"]
    total = math.fsum(charge["rho"] for charge in evidence["charges"])
    path = tampered(drawn, tmp_path, (*PROMISE, "rho"), SLIGHTLY * total)
    assert "sum" in failed(path)


def test_a_shared_ledger_has_to_have_the_delta_that_a_release_may_use_up():
    from privfit.verification.arithmetic import of_promises

    def holds(slack):
        shared = {"kind": "concentrated", "rho": 1.0, "slack": slack}
        promise = {"kind": "concentrated", "rho": 0.5, "slack": 1e-7}
        *_, last = of_promises(promise, shared)
        return last.holds

    assert (holds(1e-7), holds(0.9e-7)) == (True, False)


EVIDENCE, PROMISE = ("evidence",), ("evidence", "promise")
TAMPERED = {
    "a smaller epsilon": ((*PROMISE, "epsilon"), 0.5, "promise"),
    "a smaller delta": ((*PROMISE, "delta"), 1e-9, "promise"),
    "a smaller budget": ((*PROMISE, "rho"), 1e-4, "sum"),
    "a larger budget": ((*PROMISE, "rho"), 1.0, "promise"),
    "another promise": ((*PROMISE, "kind"), "concentrated", "statement"),
    "a promise to people": ((*PROMISE, "person_id"), "patient", "unit"),
    "the ledger's epsilon": (("evidence", "shared_ledger", "epsilon"), 1.0, "shared ledger"),
    "the ledger's budget": (("evidence", "shared_ledger", "rho"), 1e-3, "shared ledger"),
    "no shared ledger": (("evidence", "shared_ledger"), None, "statement"),
    "the adjacency": (("evidence", "adjacency"), "add or remove all records of one person", "unit"),
    "records per person": (("evidence", "records_per_person"), 3, "unit"),
    "what is public": (("evidence", "public", 0), "nothing is assumed", "statement"),
    "the noise": (("evidence", "secure_noise"), False, "random numbers"),
    "the subject": (("evidence", "subject"), "set of scores", "words"),
    "the data set": (("evidence", "origin", "dataset"), "others", "statement"),
    "the day": (("evidence", "charges", 0, "day"), "2020-01-01", "statement"),
    "the records": (("evidence", "origin", "records"), 40_000, "statement"),
    "a cheaper charge": (("evidence", "charges", 0, "rho"), 1e-9, "noise"),
    "a delta of a charge": (("evidence", "charges", 0, "delta"), 1e-7, "deltas"),
    "a smaller sigma": (("evidence", "charges", -1, "scale"), 1e-3, "noise"),
    "a larger sigma": (("evidence", "charges", -1, "scale"), 1e6, "noise"),
    "a smaller sensitivity": (("evidence", "charges", -1, "sensitivity"), 1e-6, "noise"),
    "a larger sensitivity": (("evidence", "charges", -1, "sensitivity"), 1e6, "noise"),
    "another noise": (("evidence", "charges", -1, "noise"), "gumbel", "kinds"),
    "no noise": (("evidence", "charges", -1, "noise"), "", "kinds"),
    "what was asked": (("evidence", "charges", -1, "what"), "nothing", "statement"),
    "how it was blurred": (("evidence", "charges", -1, "mechanism"), "very well", "noise"),
    "a claim": (("evidence", "charges", -1, "claim"), "Q4", "words"),
    "a claim's sentence": (("evidence", "claims", "P1"), "Everything is private.", "words"),
    "an answer to NIST": (("evidence", "nist_sp_800_226", "trust model"), "Local", "words"),
    "a field of the registry": (("evidence", "registry", "model", "model_name"), "Local", "words"),
    "the statement's epsilon": (("privacy", "promise", "epsilon"), 0.5, "statement"),
    "the statement's spending": (("privacy", "spending", "gradient"), 1e-9, "statement"),
    "a step": (("steps", 0, "rho_gradient"), 5.0, "steps"),
}


@pytest.mark.parametrize("name", TAMPERED)
def test_a_changed_entry_is_found(name, drawn, tmp_path):
    where, value, about = TAMPERED[name]
    path = tampered(drawn, tmp_path, where, value)
    assert about in failed(path), str(verify(path))


@pytest.mark.parametrize("key", ["versions", "seal", "format", "version", "charges", "claims"])
def test_a_missing_entry_is_refused_in_a_sentence(key, drawn, tmp_path):
    document = json.loads(drawn.read_text())
    del document["evidence"][key]
    (tmp_path / "model.json").write_text(json.dumps(document))
    with pytest.raises(ValueError, match=r"holds no evidence: its entry evidence breaks the rule 'required'"):
        verify(tmp_path / "model.json")


@pytest.mark.parametrize("which", [0, -1])
def test_a_dropped_charge_is_found(which, drawn, tmp_path):
    document = json.loads(drawn.read_text())
    del document["evidence"]["charges"][which]
    (tmp_path / "model.json").write_text(json.dumps(document))
    assert failed(tmp_path / "model.json") >= {"statement"}
    del document["privacy"], document["steps"]
    (tmp_path / "evidence.json").write_text(json.dumps(document["evidence"]))
    assert "words" in failed(tmp_path / "evidence.json")  # which says how many there are


def test_charges_beyond_the_budget_are_found(drawn, tmp_path):
    document = json.loads(drawn.read_text())
    evidence = document["evidence"]
    evidence["charges"] = [copy.deepcopy(charge) for charge in evidence["charges"] for _ in range(2)]
    (tmp_path / "evidence.json").write_text(json.dumps(evidence))
    assert "sum" in failed(tmp_path / "evidence.json")


def test_a_budget_that_is_one_part_in_a_thousand_too_large_is_found(drawn, tmp_path):
    """The other accountant is sharp: epsilon is right to five digits."""
    rho = json.loads(drawn.read_text())["evidence"]["promise"]["rho"]
    assert "promise" in failed(tampered(drawn, tmp_path, (*PROMISE, "rho"), rho * 1.001))


@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 1.0, 8.0, 50.0])
@pytest.mark.parametrize("delta", [1e-12, 1e-6, 1e-2])
@pytest.mark.parametrize("kind", ["gaussian", "concentrated"])
def test_right_budgets_hold_at_all_sizes(kind, epsilon, delta):
    from privfit.accounting.promise import to_dict
    from privfit.verification.arithmetic import of_promises

    ledger = Ledger(epsilon=epsilon, delta=delta, promise=kind)
    first, _ = of_promises(to_dict(ledger.promise), None)
    assert first.holds, first
    wrong = to_dict(ledger.promise) | {"epsilon": 0.99 * epsilon}
    first, _ = of_promises(wrong, None)
    assert first.holds is False or epsilon * 0.01 < 1e-9


def test_seeded_noise_fails():
    model = DPLogisticRegression(noise="seeded", random_state=0, **DECLARED).fit(X, Y)
    assert "SEEDED" in model.evidence()["nist_sp_800_226"]["random numbers"]


def test_models_without_privacy_have_no_evidence(tmp_path):
    path = saved(tmp_path, solver="nonprivate")
    assert "evidence" not in json.loads(path.read_text())
    assert failed(path) == {"evidence"}


OLD = sorted((Path(__file__).parents[1] / "publication" / "version_1").glob("*s*.json"))


@pytest.mark.parametrize(
    "path", [path for path in OLD if path.stem != "expected"], ids=lambda path: path.stem
)
def test_files_of_earlier_versions_are_verified_as_far_as_they_go(path):
    verification = verify(path)
    assert verification.holds
    assert "earlier version" in str(verification)
    found = {check.about for check in verification.checks if check.holds}
    assert "sum" in found
    assert "promise" in found or "the theorem of one release" in str(verification)


def test_a_file_from_which_the_evidence_was_taken_says_what_is_missing(drawn, tmp_path):
    document = json.loads(drawn.read_text())
    del document["evidence"]
    (tmp_path / "model.json").write_text(json.dumps(document))
    assert "holds no list of charges" in str(verify(tmp_path / "model.json"))
    assert failed(tmp_path / "model.json", ledger=opened(drawn.parent)) == {"seal"}


def test_evidence_of_a_later_version_is_left_unread(drawn, tmp_path):
    path = tampered(drawn, tmp_path, ("evidence", "version"), 2)
    assert privfit.load(path).evidence() is None
    verification = verify(path)
    assert verification.holds
    assert "later version" in str(verification)


def test_the_price_of_noise_is_that_of_an_independent_formula():
    from privfit.accounting.zcdp import gaussian_cost
    from privfit.verification.accountant import price_of

    assert math.isclose(price_of("gaussian", 3.0, 7.0), gaussian_cost(3.0, 7.0), rel_tol=1e-12)
    assert price_of("gumbel", 1e300, 1e-300) == math.inf
