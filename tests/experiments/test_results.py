import math

import pytest

from privfit.experiments.designs import Cell
from privfit.experiments.fit import Outcome
from privfit.experiments.results import EARLIER_COLUMNS, Results

CELLS = [Cell("svm", "adult", "hinge", "dpagd", 0.05, None, 0, fold) for fold in range(3)]
REFERENCE = Cell("svm", "adult", "hinge", "majority", math.inf, None, 0, 0)
VARIED = Cell("gamma", "adult", "logistic", "dpagd", 0.1, 0.3, 19, 4)
OUTCOME = Outcome(0.1 + 0.2, 1 / 3, 1.25, 17, 1000)


def write(results, *cells):
    with results.appending():
        for cell in cells:
            results.append(cell, OUTCOME)


def test_rows_come_back_to_the_last_bit(tmp_path):
    results = Results(tmp_path / "new" / "svm.csv", seed=1)
    assert results.finished() == {}
    write(results, *CELLS, REFERENCE, VARIED)
    assert results.finished() == dict.fromkeys((*CELLS, REFERENCE, VARIED), OUTCOME)
    assert results.path.read_text().count("experiment,dataset") == 1


def test_a_torn_row_is_not_finished_and_is_cut_off_before_the_next(tmp_path):
    results = Results(tmp_path / "svm.csv", seed=1)
    write(results, *CELLS)
    whole = results.path.read_bytes()
    for length in range(0, len(whole), 7):
        results.path.write_bytes(whole[:length])
        kept = results.finished()
        assert list(kept) == CELLS[: max(whole[:length].count(b"\n") - 1, 0)]
        write(results, *(cell for cell in CELLS if cell not in kept))
        assert results.path.read_bytes() == whole


def test_results_of_another_seed_are_not_mixed_in(tmp_path):
    first, second = Results(tmp_path / "svm.csv", seed=1), Results(tmp_path / "svm.csv", seed=2)
    write(first, CELLS[0])
    write(second, CELLS[1])
    assert list(first.finished()) == CELLS[:1]
    assert list(second.finished()) == CELLS[1:2]


def test_the_last_row_of_a_cell_counts_and_is_the_only_one_in_the_end(tmp_path):
    results, better = Results(tmp_path / "svm.csv", seed=1), OUTCOME._replace(accuracy=0.9)
    write(results, *CELLS)
    with results.appending():
        results.append(CELLS[1], better)
        assert results.finished()[CELLS[1]] == better
        assert results.path.read_text().count("\n") == 5
    assert results.finished() == {CELLS[0]: OUTCOME, CELLS[1]: better, CELLS[2]: OUTCOME}
    assert results.path.read_text().count("\n") == 4


def test_damage_is_named(tmp_path):
    results = Results(tmp_path / "svm.csv", seed=1)
    write(results, *CELLS)
    lines = results.path.read_text().splitlines()
    results.path.write_text("\n".join([*lines[:2], "svm,adult,oops", *lines[2:]]) + "\n")
    with pytest.raises(ValueError, match=r"Line 3 of .*svm\.csv is damaged; delete that line"):
        results.finished()
    results.path.write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match="other columns than this version writes; move it away"):
        results.finished()


def test_a_file_of_an_earlier_version_is_read_and_gets_the_new_columns_when_it_grows(tmp_path):
    results = Results(tmp_path / "svm.csv", seed=1)
    write(results, *CELLS)
    lines = [line.split(",")[: len(EARLIER_COLUMNS)] for line in results.path.read_text().splitlines()]
    results.path.write_text("".join(",".join(line) + "\n" for line in lines))
    assert results.finished() == dict.fromkeys(CELLS, OUTCOME)
    counted = OUTCOME._replace(choices=9, rejected=2, stalled=1, descents=7, rejected_descents=1)
    counted = counted._replace(selection_share=1 / 3, alpha=1e-4, fingerprint="abc")
    with results.appending():
        results.append(REFERENCE, counted)
    assert results.finished() == {**dict.fromkeys(CELLS, OUTCOME), REFERENCE: counted}
