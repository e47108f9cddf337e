import math

import numpy as np
import pytest

from privfit.experiments.cells import COMPARED, EXPERIMENTS, FAULTY
from privfit.experiments.curves import curves
from privfit.experiments.fit import Outcome
from privfit.experiments.results import Results
from privfit.experiments.summary import summarise

pytest.importorskip("matplotlib")
from matplotlib.colors import to_rgb
from matplotlib.image import imread

from privfit.experiments.figures import HIGHEST, compose, draw


def rows_of(name, repeats=2, without=()):
    """Invent a result for every cell."""
    rng = np.random.default_rng(0)
    return {
        cell: Outcome(0.7 + 0.2 * rng.random(), 0.3 + 0.3 * rng.random(), 1.0, 10, 1000)
        for cell in EXPERIMENTS[name].cells(repeats)
        if cell.dataset not in without
    }


def curve_of(name, **where):
    return {c: o for c, o in rows_of(name).items() if all(getattr(c, k) == v for k, v in where.items())}


def test_a_point_is_the_mean_and_the_standard_error_over_folds_and_repetitions():
    rows = rows_of("svm")
    mine = curve_of("svm", dataset="bank", algorithm="dpagd", epsilon=0.4)
    assert len(mine) == 10
    point = curves(EXPERIMENTS["svm"], rows, ("bank", "hinge"), "objective")["dpagd"][0.4]
    values = [outcome.objective for outcome in mine.values()]
    assert point.mean == pytest.approx(np.mean(values))
    assert point.error == pytest.approx(np.std(values, ddof=1) / math.sqrt(10))
    assert point.fits == 10


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gamma", "logistic", "kddcup99"])  # one of each layout
def test_figures_render_and_are_not_empty(name, tmp_path):
    rows = rows_of(name, without=("ipums-us",))
    draw(EXPERIMENTS[name], rows, tmp_path)
    png, svg = tmp_path / f"{name}.png", tmp_path / f"{name}.svg"
    assert png.stat().st_size < 200_000
    pixels = imread(png)[..., :3]
    for colour in ("#332288", "#CC6677"):  # a curve of each figure
        near = np.abs(pixels - np.array(to_rgb(colour))).max(axis=2) < 0.02
        assert near.sum() > 100
    assert "</svg>" in svg.read_text()


def test_the_same_results_make_the_same_files(tmp_path):
    files = []
    for _ in range(2):
        draw(EXPERIMENTS["gamma"], rows_of("gamma"), tmp_path)
        files.append([(tmp_path / f"gamma.{kind}").read_bytes() for kind in ("svg", "png")])
    assert files[0] == files[1]


def test_panels_are_laid_out_as_in_the_paper():
    figure = compose(EXPERIMENTS["logistic"], rows_of("logistic", without=("ipums-us",)))
    top, below = figure.axes[:4], figure.axes[4:]
    assert [ax.get_title() for ax in top] == ["Adult", "BANK", "IPUMS-US", "IPUMS-BR"]
    assert [ax.get_ylabel() for ax in top] == ["test accuracy"] * 4
    assert [ax.get_ylabel() for ax in below] == ["objective"] * 4
    for ax in (top[2], below[2]):
        assert "no IPUMS-US data" in ax.texts[0].get_text()
        assert not ax.containers
    for ax in (top[0], below[3]):
        assert len(ax.containers) == len(COMPARED) - 2
        assert all(container.has_yerr for container in ax.containers)
    (legend,) = figure.legends
    labels = [text.get_text() for text in legend.get_texts()]
    assert sorted(labels) == sorted(COMPARED.values())
    assert "NOT PRIVATE" in COMPARED[FAULTY]

    beside = compose(EXPERIMENTS["kddcup99"], rows_of("kddcup99"))
    assert [ax.get_ylabel() for ax in beside.axes] == ["test accuracy", "objective"] * 2


def test_an_objective_that_explodes_does_not_flatten_the_others():
    rows = rows_of("svm")
    for cell in rows:
        if (cell.algorithm, cell.epsilon) == ("sgd-adv", 0.05):
            rows[cell] = rows[cell]._replace(objective=900.0)
    figure = compose(EXPERIMENTS["svm"], rows)
    assert figure.axes[4].get_ylim()[1] == HIGHEST["hinge"]


def test_the_summary_says_what_was_run_and_what_is_missing(tmp_path, monkeypatch):
    monkeypatch.setattr("privfit.experiments.summary.fingerprint", lambda name: "0123")
    results = Results(tmp_path / "logistic.csv", seed=3)
    rows = rows_of("logistic", repeats=1, without=("ipums-us",))
    failed = [cell for cell in rows if cell.algorithm == "privgene" and cell.epsilon == 0.05][:4]
    with results.appending():
        for cell, outcome in rows.items():
            if cell not in failed:
                results.append(cell, outcome)
    page = summarise(tmp_path, seed=3)
    assert "1 x 5-fold" in page
    prose = page.replace("\n", " ")
    assert "There were no IPUMS-US data where this was run." in prose
    assert "Fits that failed or were not run: 4 of PrivGene." in prose
    estimate = curves(EXPERIMENTS["logistic"], results.finished(), ("adult", "logistic"), "accuracy")[
        "dpagd"
    ][0.05]
    assert f"| DP-AGD | {estimate.mean:.4f} ± {estimate.error:.4f} | " in page
    assert page.count("| DP-AGD, authors' selection: NOT PRIVATE |") == 6
    for expected in ("seeded", "Declared public", "1e-12", "not innocent of these data"):
        assert expected in page
