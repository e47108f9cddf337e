import numpy as np
import pytest

from privfit.experiments.cells import EXPERIMENTS, WATERFALL
from privfit.experiments.curves import curves
from privfit.experiments.fit import Outcome

pytest.importorskip("matplotlib")
from matplotlib.colors import to_hex
from matplotlib.image import imread

from privfit.experiments.figures import draw
from privfit.experiments.waterfall import BETTER, WHOLE, WORSE, compose_waterfall

EXPERIMENT = EXPERIMENTS["waterfall"]


def invented():
    rng = np.random.default_rng(0)
    return {
        cell: Outcome(0.7 + 0.2 * rng.random(), 0.3 + 0.3 * rng.random(), 1.0, 10, 1000)
        for cell in EXPERIMENT.cells(1)
    }


@pytest.mark.parametrize("metric", ["accuracy", "objective"])
def test_each_bar_goes_from_one_stage_to_the_next(metric):
    rows = invented()
    figure = compose_waterfall(EXPERIMENT, rows, metric)
    ax = figure.axes[4]  # the middle of three by three
    assert ax.get_title() == "BANK, ε = 0.4"
    found = curves(EXPERIMENT, rows, ("bank", "logistic"), metric)
    means = [found[name][0.4].mean for name in WATERFALL]
    for place in range(1, 6):
        bar = ax.patches[place]
        ends = sorted((bar.get_x(), bar.get_x() + bar.get_width()))
        assert ends == pytest.approx(sorted(means[place - 1 : place + 1]))
        better = (means[place] > means[place - 1]) == (metric == "accuracy")
        assert to_hex(bar.get_facecolor()).upper() == (BETTER if better else WORSE)
    assert to_hex(ax.patches[6].get_facecolor()).upper() == WHOLE
    texts = [text.get_text() for text in ax.texts]
    numbers = [
        f"{means[0]:.3f}",
        f"{means[1] - means[0]:+.3f}",
        f"{means[6]:.3f} ({means[6] - means[5]:+.3f})",
    ]
    assert [texts[0], texts[1], texts[6]] == [number.replace("0.", ".") for number in numbers]


def test_bars_that_are_not_private_are_hatched_and_no_others():
    ax = compose_waterfall(EXPERIMENT, invented(), "accuracy").axes[0]
    assert [bar.get_hatch() is not None for bar in ax.patches] == [
        name.endswith("NOT-PRIVATE") for name in WATERFALL
    ]
    labels = [text.get_text() for text in ax.get_yticklabels()]
    assert [label for label in labels if "NOT PRIVATE" in label] == labels[:2]


def test_stages_that_were_not_run_are_left_out():
    rows = {cell: row for cell, row in invented().items() if cell.algorithm != "authors-e4"}
    ax = compose_waterfall(EXPERIMENT, rows, "accuracy").axes[0]
    assert len(ax.patches) == len(WATERFALL) - 1


def test_both_figures_are_drawn_at_a_width_that_can_be_read(tmp_path):
    draw(EXPERIMENT, invented(), tmp_path)
    for name in ("waterfall", "waterfall-objective"):
        assert (tmp_path / f"{name}.svg").stat().st_size > 5000
        assert imread(tmp_path / f"{name}.png").shape[1] == 1600  # shown at half of it, or less
