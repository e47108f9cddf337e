"""The runner of rival libraries, with a rival of a few lines that this interpreter plays."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"

LEARNERS = """
import os, time
import numpy as np

def majority(job):
    share = np.bincount(job.y_train, minlength=job.n_classes) / len(job.y_train)
    return np.full(len(job.X_new), share.argmax()), np.tile(share, (len(job.X_new), 1))

def facts(job):
    told = [job.epsilon, job.delta, job.seed, *job.target_bounds, *job.low, *job.high]
    return np.array(told), None

def refuses(job):
    raise ValueError("two classes\\n  are needed")

def dies(job):
    os._exit(9)

def sleeps(job):
    time.sleep(60)

def infinite(job):
    return np.full(len(job.X_new), np.inf), None

def short(job):
    return np.zeros(1, int), None

LEARNERS = {f.__name__: f for f in (majority, facts, refuses, dies, sleeps, infinite, short)}
"""

X, Y = np.arange(12.0).reshape(6, 2) / 12.0, np.array([0, 2, 2, 0, 2, 2])
BUDGET = {"epsilon": 0.5, "delta": 1e-6, "feature_bounds": (0.0, [1.0, 2.0])}


@pytest.fixture
def rivals(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    import rivals

    return rivals


@pytest.fixture
def stub(rivals, tmp_path):
    """An environment that is set up, whose interpreter is this one."""
    environment = rivals.Environment("stub", tmp_path / "recipes", tmp_path / "environments")
    environment.learners.parent.mkdir(parents=True)
    environment.learners.write_text(LEARNERS)
    environment.requirements.write_text("rival==1.0\n")
    environment.python.parent.mkdir(parents=True)
    environment.python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    environment.python.chmod(0o755)
    (environment.home / "installed.txt").write_text("rival==1.0\n")
    return environment


@pytest.fixture
def classes(rivals):
    return rivals.Job(X_train=X, y_train=Y, X_new=X[:4], n_classes=3, **BUDGET)


def test_a_rival_answers_with_classes_and_probabilities(rivals, stub, classes):
    answer = rivals.fit("stub/majority", classes, environment=stub)
    assert answer.predictions.tolist() == [2] * 4
    assert answer.probabilities == pytest.approx(np.tile([1 / 3, 0.0, 2 / 3], (4, 1)))
    assert answer.seconds >= 0.0


def test_a_rival_is_told_the_budget_and_the_public_facts(rivals, stub):
    rows = np.zeros((9, 2))
    job = rivals.Job(X_train=X, y_train=Y, X_new=rows, target_bounds=(-1.0, 3.0), seed=7, **BUDGET)
    answer = rivals.fit("stub/facts", job, environment=stub)
    assert answer.predictions.tolist() == [0.5, 1e-6, 7, -1.0, 3.0, 0.0, 0.0, 1.0, 2.0]
    assert answer.probabilities is None


def test_a_job_is_two_files_without_pickles(classes, tmp_path):
    classes.write(tmp_path, "majority")
    settings = {"learner": "majority", "epsilon": 0.5, "delta": 1e-6, "n_classes": 3, "seed": 0}
    unsaid = {"target_bounds": None, "row_norm": None, "nominal": [], "settings": {}}
    assert json.loads((tmp_path / "job.json").read_text()) == settings | unsaid
    with np.load(tmp_path / "job.npz", allow_pickle=False) as arrays:
        assert set(arrays) == {"X_train", "y_train", "X_new", "low", "high"}
        assert arrays["low"].tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("learner", "sentence"),
    [
        ("refuses", r"^stub/refuses failed: ValueError: two classes are needed$"),
        ("dies", r"^stub/dies ended with exit code 9: it said nothing$"),
        ("infinite", r"^stub/infinite answered predictions that are not finite$"),
        ("short", r"^stub/short answered no predictions of shape \(4,\)$"),
        ("other", r"^stub/other failed: ValueError: it has no learner 'other'; it has majority, facts"),
    ],
)
def test_what_goes_wrong_in_a_rival_is_said_in_one_sentence(rivals, stub, classes, learner, sentence):
    with pytest.raises(rivals.RivalFailed, match=sentence):
        rivals.fit(f"stub/{learner}", classes, environment=stub)


def test_a_rival_that_takes_too_long_is_stopped(rivals, stub, classes):
    with pytest.raises(rivals.RivalFailed, match=r"^stub/sleeps was stopped after 0.5 seconds$"):
        rivals.fit("stub/sleeps", classes, environment=stub, timeout=0.5)


def test_a_session_starts_a_rival_once_and_goes_on_after_a_failure(rivals, stub, classes):
    stub.learners.write_text(
        LEARNERS + "\nLEARNERS['started'] = lambda job: (np.full(4, os.getpid()), None)\n"
    )
    numbers = rivals.Job(X_train=X, y_train=Y, X_new=X[:4], target_bounds=(0.0, 1.0), **BUDGET)
    with rivals.Session("stub/started", environment=stub) as session:
        processes = [session.fit(numbers).predictions[0] for _ in range(2)]
        with pytest.raises(rivals.RivalFailed, match="no probabilities"):
            session.fit(classes)
        processes.append(session.fit(numbers).predictions[0])
    assert len(set(processes)) == 1


def test_a_rival_is_told_categories_norm_and_settings(rivals, stub):
    told = "[job.row_norm, *job.nominal, job.settings['bags']]"
    stub.learners.write_text(
        f"import numpy as np\nLEARNERS = {{'told': lambda job: (np.array({told}), None)}}\n"
    )
    facts = {"row_norm": 1.5, "nominal": (1,), "settings": {"bags": 3}, "target_bounds": (0.0, 1.0)}
    job = rivals.Job(X_train=X, y_train=Y, X_new=X[:3], **facts, **BUDGET)
    assert rivals.fit("stub/told", job, environment=stub).predictions.tolist() == [1.5, 1.0, 3.0]


def test_a_rival_that_is_not_there_is_skipped_with_its_reason(rivals, stub, classes):
    (stub.home / "installed.txt").write_text("rival==0.9\n")
    assert stub.missing() == "stub was set up with other versions; run `make rivals`"
    (stub.home / "installed.txt").unlink()
    assert stub.missing() == "stub is not set up; run `make rivals`"
    (stub.home / "skipped.txt").write_text("No matching distribution found for rival==1.0")
    reason = "stub could not be installed: No matching distribution found for rival==1.0"
    assert stub.missing() == reason
    with pytest.raises(rivals.RivalFailed, match=reason):
        rivals.fit("stub/majority", classes, environment=stub)
    with pytest.raises(ValueError, match="no rival 'sklearn'; there are diffprivlib, interpret, opacus, sm"):
        rivals.missing("sklearn/logistic")


@pytest.mark.deep
def test_what_cannot_be_installed_is_remembered_with_the_installers_reason(rivals, tmp_path):
    environment = rivals.Environment("stub", tmp_path, tmp_path / "environments")
    environment.requirements.parent.mkdir()
    environment.requirements.write_text("--no-index\nno-such-rival==1.0\n")
    environment.set_up()
    assert environment.missing() == (
        "stub could not be installed: No matching distribution found for no-such-rival==1.0"
    )


def test_jobs_that_no_rival_takes_are_refused(rivals):
    with pytest.raises(ValueError, match="Rivals take dense tables"):
        rivals.Job(X_train=sp.csr_matrix(X), y_train=Y, X_new=X, n_classes=3, **BUDGET)
    with pytest.raises(ValueError, match="either n_classes or target_bounds"):
        rivals.Job(X_train=X, y_train=Y, X_new=X, **BUDGET)


def test_every_rival_pins_every_version_and_names_no_index(rivals):
    from rivals.encoders import ENCODERS

    for name in (*rivals.RIVALS, *ENCODERS):
        lines = rivals.Environment(name).requirements.read_text().splitlines()
        pins = [line for line in lines if not line.startswith(("#", "--no-binary "))]
        assert pins
        assert not [line for line in pins if "==" not in line or "/" in line or line.startswith("-")]
