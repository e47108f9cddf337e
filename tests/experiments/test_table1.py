from pathlib import Path

import numpy as np
import pytest

from privfit.experiments.designs import SEED
from privfit.experiments.provenance import read
from privfit.experiments.summary import summarise
from privfit.experiments.table1 import DRAWS, SHOWN, Iteration, read_table1, table1, write_table1
from privfit.solvers import DPAGD

PUBLISHED = Path(__file__).parents[2] / "results"


@pytest.fixture(scope="module")
def computed():
    """The table's iterations, and what the solver says of each."""
    solve, traces = DPAGD.solve, []

    def solve_and_keep(self, curator):
        solution = solve(self, curator)
        traces.extend(solution.trace)
        return solution

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DPAGD, "solve", solve_and_keep)
        return table1(seed=1), traces


def test_says_of_every_iteration_what_its_last_refinement_left(computed):
    iterations, traces = computed
    assert len(iterations) >= len(traces) > 100
    for row, step in zip(iterations, traces, strict=False):
        assert row.expected_noise_norm == pytest.approx(step.sigma * 124**0.5 / 48_842)


def test_starts_where_the_paper_starts_and_falls_although_the_noise_drowns_the_gradient(computed, tmp_path):
    iterations, _ = computed
    first = iterations[0]
    # the paper's first row; only the noisy norm depends on chance
    assert first.gradient_norm == pytest.approx(0.72558, abs=5e-6)
    assert first.expected_noise_norm == pytest.approx(0.50119, abs=5e-6)
    assert first.objective == pytest.approx(0.69315, abs=5e-6)
    assert first.noisy_gradient_norm == pytest.approx((0.72558**2 + 0.50119**2) ** 0.5, rel=0.1)
    late = iterations[10:]
    assert sum(row.noisy_gradient_norm / row.gradient_norm for row in late) / len(late) > 7.0
    assert iterations[-1].objective < 0.36 < iterations[10].objective < 0.45

    write_table1([iterations, iterations[:3]], tmp_path)
    assert read_table1(tmp_path) == [iterations, iterations[:3]]
    assert "gradient_norm_NOT_PRIVATE" in (tmp_path / "table1.csv").read_text()
    page = summarise(tmp_path, seed=1)
    assert "| 0 | 0.72558 | " in page
    assert "NOT PRIVATE" in page


def test_a_draw_is_cut_where_the_papers_table_ends_and_other_draws_have_other_noise():
    first, again, other = table1(7, 0, SHOWN), table1(7, 0, 2), table1(7, 1, 2)
    assert [len(draw) for draw in (first, again, other)] == [SHOWN, 2, 2]
    assert first[:2] == again
    assert other[0].noisy_gradient_norm != again[0].noisy_gradient_norm


def test_a_table_of_an_earlier_version_has_one_draw(tmp_path):
    head = "t,gradient_norm_NOT_PRIVATE,noisy_gradient_norm,expected_noise_norm,objective_NOT_PRIVATE"
    (tmp_path / "table1.csv").write_text(f"{head}\n0,.7,.9,.5,.69\n1,.2,.5,.5,.5\n")
    assert read_table1(tmp_path) == [[Iteration(0, 0.7, 0.9, 0.5, 0.69), Iteration(1, 0.2, 0.5, 0.5, 0.5)]]


def test_the_published_table_is_what_this_version_computes():
    """If not, `privfit reproduce table1` writes it anew."""
    published = read_table1(PUBLISHED)
    assert len(published) == DRAWS
    for draw in (0, DRAWS - 1):
        np.testing.assert_allclose(published[draw][:SHOWN], table1(SEED, draw, SHOWN), rtol=1e-6)
    assert any(run.seed == SEED and "table1" in run.experiments for run in read(PUBLISHED))
