import dataclasses

import numpy as np
import pytest

from privfit.experiments.designs import (
    ALGORITHMS,
    COMPARED,
    EXPERIMENTS,
    FAULTY,
    FOLDS,
    PAPERS,
    Cell,
    fold_rows,
)
from privfit.experiments.fit import solver_of
from privfit.solvers import DPAGD, SGDMA, SOLVERS, get_solver

CELL = Cell("logistic", "adult", "logistic", "dpagd", 0.1, None, 0, 0)


def test_every_algorithm_is_a_solver_with_its_settings_except_the_one_that_is_not_private():
    solvers = {name: solver_of(CELL._replace(algorithm=name)) for name in COMPARED}
    assert {name for name, solver in solvers.items() if type(solver) not in SOLVERS.values()} == {FAULTY}


def test_no_two_algorithms_are_the_same():
    large = CELL._replace(experiment="kddcup99", dataset="kddcup99")  # where some take batches
    assert len({repr(solver_of(large._replace(algorithm=name))) for name in ALGORITHMS}) == len(ALGORITHMS)


def test_what_is_not_private_is_called_so():
    for name in ALGORITHMS:
        private = solver_of(CELL._replace(algorithm=name)).private
        assert private != (name.endswith("NOT-PRIVATE") or name in ("nonprivate", "majority"))
        assert ("NOT PRIVATE" in ALGORITHMS[name]) == name.endswith("NOT-PRIVATE")


def test_an_unregistered_algorithm_cannot_be_had_by_name():
    with pytest.raises(ValueError, match="solver must be one of"):
        get_solver(FAULTY)


@pytest.mark.parametrize("experiment", EXPERIMENTS.values(), ids=EXPERIMENTS)
def test_more_repetitions_only_add_cells(experiment):
    once, twice = list(experiment.cells(1)), list(experiment.cells(2))
    assert twice[: len(once)] == once
    assert len(twice) == len(set(twice)) == 2 * len(once)
    assert {cell.fold for cell in once} == set(range(FOLDS))


def test_a_full_run_repeats_the_papers_figures_as_often_as_the_paper_and_ours_less_often():
    counts = {}
    for name in ("logistic", "gamma", "kddcup99", "waterfall", "kddcup99-time"):
        for cell in EXPERIMENTS[name].cells():
            key = (name, cell.algorithm)
            counts[key] = max(counts.get(key, 0), cell.repetition + 1)
    assert {counts["logistic", name] for name in PAPERS} == {20}
    assert {counts["logistic", name] for name in set(COMPARED) - set(PAPERS)} == {5}
    assert counts["gamma", "dpagd"] == 20
    assert counts["kddcup99", "dpagd"] == counts["waterfall", "dpagd"] == 5
    assert counts["kddcup99-time", "dpagd-all-records"] == 1
    assert ("kddcup99", "output-perturbation") not in counts  # as in the paper


def test_a_figure_compares_all_algorithms_at_all_epsilons_on_all_data():
    once = list(EXPERIMENTS["svm"].cells(1))
    assert len(once) == 4 * FOLDS * (13 * 6 + 2)
    assert {cell.epsilon for cell in once if cell.algorithm == "sgd-ma"} == {0.05, 0.1, 0.2, 0.4, 0.8, 1.6}
    assert {cell.loss for cell in once} == {"hinge"}


@pytest.mark.parametrize(
    ("experiment", "field"),
    [("splits", "splits"), ("gamma", "gamma"), ("c-grad", "C_grad"), ("c-obj", "C_obj")],
)
def test_a_parameter_is_varied_and_nothing_else(experiment, field):
    cell = next(EXPERIMENTS[experiment].cells(1))
    solver = solver_of(cell._replace(value=0.25))
    assert solver == DPAGD(**{field: 0.25})


def test_both_accountants_of_sgd_run_under_their_own_names():  # E9
    assert solver_of(CELL._replace(algorithm="sgd-ma")) == SGDMA(accountant="rdp")
    assert solver_of(CELL._replace(algorithm="sgd-pld")) == SGDMA(accountant="pld")


@pytest.mark.parametrize("experiment", ["splits", "gamma", "c-grad", "c-obj", "logistic", "svm", "kddcup99"])
def test_dpagd_runs_as_the_text_has_it_and_with_the_authors_cap(experiment):  # E10
    cells = {cell.algorithm: cell for cell in EXPERIMENTS[experiment].cells(1)}
    free, capped = solver_of(cells["dpagd"]), solver_of(cells["dpagd-capped"])
    assert (free.alpha_cap, capped.alpha_cap) == (None, 2.0)
    assert dataclasses.replace(capped, alpha_cap=None) == free


def test_kddcup99_has_the_papers_batches_and_delta():
    big = CELL._replace(experiment="kddcup99", dataset="kddcup99")
    assert solver_of(big) == DPAGD(batch_size=40_000)
    assert solver_of(big._replace(algorithm=FAULTY)).batch_size == 40_000
    assert solver_of(big._replace(algorithm="privgene")).batch_size == 40_000
    assert solver_of(big._replace(algorithm="dpagd-all-records")) == DPAGD()
    assert solver_of(CELL).batch_size is None
    assert (big.delta, CELL.delta) == (1e-12, 1e-8)


def test_privgene_breeds_anew_in_every_fit_of_a_panel():
    cells = [c for c in EXPERIMENTS["svm"].cells(2) if (c.dataset, c.algorithm) == ("bank", "privgene")]
    assert len({solver_of(cell).seed for cell in cells}) == 2 * FOLDS


def test_noise_depends_on_the_seed_and_every_part_of_the_cell():
    others = [
        CELL._replace(**{name: value})
        for name, value in {
            "experiment": "svm",
            "dataset": "bank",
            "loss": "hinge",
            "algorithm": "adaptive",
            "epsilon": 0.2,
            "value": 1.0,
            "repetition": 1,
            "fold": 1,
        }.items()
    ]
    draws = [cell.rng(7).integers(2**63) for cell in (CELL, *others)] + [CELL.rng(8).integers(2**63)]
    assert len(set(draws)) == len(draws)


def test_noise_is_the_same_in_every_process_and_version():
    """Pinned: results that were resumed by another version must not be a mixture."""
    assert CELL.rng(7).integers(2**32) == 3965394447
    # rows of "sgd-pld" were made when it was called "sgd-ma"
    assert CELL._replace(algorithm="sgd-pld").rng(7).integers(2**32) == 782265100
    np.testing.assert_array_equal(fold_rows(10, "adult", 0, 2, 7)[1], [4, 8])


def test_no_two_algorithms_draw_the_same_noise():
    draws = [CELL._replace(algorithm=name).rng(7).integers(2**63) for name in ALGORITHMS]
    assert len(set(draws)) == len(ALGORITHMS)


def test_folds_divide_the_records_and_repetitions_divide_them_anew():
    parts = [fold_rows(103, "adult", 0, fold, seed=1) for fold in range(FOLDS)]
    for train, test in parts:
        assert sorted([*train, *test]) == list(range(103))
    assert sorted(np.concatenate([test for _, test in parts])) == list(range(103))
    assert set(parts[0][1]) != set(fold_rows(103, "adult", 1, 0, seed=1)[1])
