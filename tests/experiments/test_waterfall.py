import numpy as np
import pytest

from privfit.experiments.claims.blocks import block
from privfit.experiments.claims.evidence import Evidence
from privfit.experiments.curves import curves
from privfit.experiments.designs import EXPERIMENTS, WATERFALL
from privfit.experiments.fit import Outcome
from privfit.experiments.results import Results

pytest.importorskip("matplotlib")
from matplotlib.colors import to_hex
from matplotlib.image import imread

from privfit.experiments.figures import draw
from privfit.experiments.waterfall import BETTER, WHOLE, WORSE, compose_waterfall

EXPERIMENT = EXPERIMENTS["waterfall"]


def invented(repeats=1):
    rng = np.random.default_rng(0)
    return {
        cell: Outcome(0.7 + 0.2 * rng.random(), 0.3 + 0.3 * rng.random(), 1.0, 10, 1000)
        for cell in EXPERIMENT.cells(repeats)
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
    assert [texts[0], texts[1], texts[6]] == [
        number.replace("0.", ".").replace("-", "\N{MINUS SIGN}") for number in numbers
    ]


def test_changes_are_those_of_the_table_where_stages_have_other_folds(tmp_path):
    rows = invented(repeats=2)
    rows = {cell: row for cell, row in rows.items() if cell.repetition == 0 or cell.algorithm == "authors-e4"}
    results = Results(tmp_path / "waterfall.csv", seed=1)
    with results.appending():
        for cell, outcome in rows.items():
            results.append(cell, outcome)
    table = block("changes waterfall accuracy", Evidence(tmp_path, seed=1)).splitlines()
    (line,) = (line for line in table if "E4" in line)
    printed, error = line.split("|")[2].split("±")  # Adult at 0.1
    ax = compose_waterfall(EXPERIMENT, rows, "accuracy").axes[0]
    assert ax.get_title() == "Adult, ε = 0.1"
    bar, text = ax.patches[2], ax.texts[2].get_text()
    assert text.removeprefix("+") == printed.strip()
    assert bar.get_width() == pytest.approx(float(printed.replace("\N{MINUS SIGN}", "-")), abs=6e-4)
    left, right = errors_of(ax)[2]
    assert (right - left) / 2 == pytest.approx(float(error), abs=6e-4)


def errors_of(ax):
    return [line.get_xdata() for line in ax.lines if line.get_gid() == "error"]


@pytest.mark.parametrize("metric", ["accuracy", "objective"])
def test_errors_are_inside_and_the_least_algorithm_has_a_bar(metric):
    for ax in compose_waterfall(EXPERIMENT, invented(), metric).axes:
        low, high = ax.get_xlim()
        assert len(errors_of(ax)) == len(WATERFALL)
        assert all(low < left <= right < high for left, right in errors_of(ax))
        whole = [bar for bar in ax.patches if to_hex(bar.get_facecolor()).upper() == WHOLE]
        assert min(bar.get_width() for bar in whole) > 0.05 * (high - low)


@pytest.mark.parametrize(("accuracy", "arrow"), [(0.1, "← Majority .100"), (3.0, "Majority 3.000 →")])
def test_a_reference_outside_is_an_arrow(accuracy, arrow):
    rows = invented()
    inside = compose_waterfall(EXPERIMENT, rows, "accuracy").axes[0]
    for cell in rows:
        if cell.algorithm == "majority":
            rows[cell] = rows[cell]._replace(accuracy=accuracy)
    outside = compose_waterfall(EXPERIMENT, rows, "accuracy").axes[0]
    assert [text.get_text() for text in outside.texts[len(WATERFALL) :]] == [arrow]
    assert len(inside.texts) == len(WATERFALL)
    assert len(inside.lines) == len(outside.lines) + 1


def test_what_rounds_to_nothing_has_no_sign():
    rows = {
        cell: row._replace(accuracy=0.8 - 1e-5 * list(WATERFALL).index(cell.algorithm))
        for cell, row in invented().items()
        if cell.algorithm in WATERFALL
    }
    ax = compose_waterfall(EXPERIMENT, rows, "accuracy").axes[0]
    assert [text.get_text() for text in ax.texts][1:7] == ["0"] * 5 + [".800 (0)"]


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


@pytest.mark.slow
def test_both_figures_are_drawn_at_a_width_that_can_be_read(tmp_path):
    draw(EXPERIMENT, invented(), tmp_path, seed=1)
    for name in ("waterfall", "waterfall-objective"):
        assert (tmp_path / f"{name}.svg").stat().st_size > 5000
        assert imread(tmp_path / f"{name}.png").shape[1] == 1600  # shown at half of it, or less
