import math
import re
from itertools import product

import numpy as np
import pytest

from privfit.experiments.curves import (
    AT_THE_EDGE,
    NO_MAJORITY,
    RULES,
    curves,
    how_often,
    no_step,
    read_references,
    repetitions,
)
from privfit.experiments.designs import ALGORITHMS, COMPARED, EXPERIMENTS, FAULTY, PAPERS
from privfit.experiments.fit import Outcome
from privfit.experiments.results import Results
from privfit.experiments.summary import summarise
from privfit.losses import get_loss
from privfit.solvers import get_solver

pytest.importorskip("matplotlib")
import matplotlib as mpl
from matplotlib.colors import to_rgb
from matplotlib.image import imread

from privfit.experiments.figures import HIGHEST, LOWEST, compose, compose_as_printed, draw, style_of
from privfit.experiments.styles import INK, LOOKS, PAPER, STYLES
from privfit.experiments.waterfall import waterfalls


def rows_of(name, repeats=2, without=()):
    """Invent a result for every cell."""
    rng = np.random.default_rng(0)
    return {
        cell: Outcome(0.7 + 0.2 * rng.random(), 0.3 + 0.3 * rng.random(), 1.0, 10, 1000)
        for cell in EXPERIMENTS[name].cells(repeats)
        if cell.dataset not in without
    }


def said_below(figure):
    return figure.get_supxlabel().replace("\n", " ")


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
    draw(EXPERIMENTS[name], rows, tmp_path, seed=1)
    png, svg = tmp_path / f"{name}.png", tmp_path / f"{name}.svg"
    assert png.stat().st_size < 200_000
    pixels = imread(png)[..., :3]
    for colour in ("#56b4e9", "#d55e00"):  # a curve of each figure
        near = np.abs(pixels - np.array(to_rgb(colour))).max(axis=2) < 0.02
        assert near.sum() > 100
    assert "</svg>" in svg.read_text()


def test_the_same_results_make_the_same_files(tmp_path):
    files = []
    for _ in range(2):
        draw(EXPERIMENTS["gamma"], rows_of("gamma"), tmp_path, seed=1)
        files.append([(tmp_path / f"gamma.{kind}").read_bytes() for kind in ("svg", "png")])
    assert files[0] == files[1]


def test_a_row_of_panels_for_each_data_set_that_is_there():
    figure = compose(EXPERIMENTS["logistic"], rows_of("logistic", without=("ipums-us",)))
    left, right = figure.axes[::2], figure.axes[1::2]
    assert [ax.get_title().split(",")[0] for ax in left] == ["Adult", "BANK", "IPUMS-BR"]
    assert [ax.get_ylabel() for ax in left] == ["test accuracy"] * 3
    assert [ax.get_ylabel() for ax in right] == ["objective less NonPrivate's"] * 3
    for ax in figure.axes:
        assert len(ax.containers) == len(COMPARED) - 2
        assert all(container.has_yerr for container in ax.containers)
    (legend,) = figure.legends
    assert sorted(text.get_text() for text in legend.get_texts()) == sorted(COMPARED.values())
    assert "NOT PRIVATE" in COMPARED[FAULTY]


def test_letters_are_legible_at_800_pixels():
    with mpl.rc_context(LOOKS):
        figure = compose(EXPERIMENTS["svm"], rows_of("svm"))
        figure.canvas.draw()
    scale = 800 / (figure.get_figwidth() * 72)  # pixels of a point
    for ax in figure.axes:
        for text in (ax.title, ax.xaxis.label, ax.yaxis.label, *ax.get_xticklabels(), *ax.get_yticklabels()):
            assert text.get_fontsize() * scale >= 11
        assert ax.get_window_extent().height / figure.dpi / figure.get_figwidth() * 800 > 150
    assert figure.get_tightbbox().xmax <= figure.get_figwidth() + 0.02


def test_errors_of_kddcup99_are_on_a_logarithmic_axis():
    rows = rows_of("kddcup99")
    figure = compose(EXPERIMENTS["kddcup99"], rows)
    assert [ax.get_ylabel() for ax in figure.axes[::2]] == ["test error"] * 2
    assert {ax.get_yscale() for ax in figure.axes} == {"log"}
    drawn = dict(zip(COMPARED, figure.axes[0].containers, strict=False))["adaptive"]
    accuracy = curves(EXPERIMENTS["kddcup99"], rows, ("kddcup99", "logistic"), "accuracy")["adaptive"]
    np.testing.assert_allclose(
        np.array(drawn[0].get_ydata(), float), [1 - point.mean for point in accuracy.values()]
    )


@pytest.mark.parametrize(("objective", "edge"), [(900.0, "above"), (0.1, "below")])
def test_what_runs_out_of_a_panel_is_marked_at_its_edge(objective, edge):
    rows = rows_of("svm")
    for cell in rows:
        if cell.algorithm == "nonprivate":
            rows[cell] = rows[cell]._replace(objective=0.2)
        if (cell.algorithm, cell.epsilon, cell.dataset) == ("dpagd", 0.05, "bank"):
            rows[cell] = rows[cell]._replace(objective=objective)
        if (cell.algorithm, cell.dataset) == ("privgene", "bank"):
            rows[cell] = rows[cell]._replace(
                objective=3.0
            )  # so far from the others that the axis is logarithmic
    figure = compose(EXPERIMENTS["svm"], rows)
    marked = [[line for line in ax.lines if str(line.get_gid()).startswith(edge)] for ax in figure.axes]
    assert [len(lines) for lines in marked] == [0, 0, 0, 1, 0, 0, 0, 0]
    (arrow,) = marked[3]
    assert arrow.get_gid() == f"{edge} DP-AGD"
    assert list(arrow.get_xdata()) == [0.05]
    low, high = figure.axes[3].get_ylim()
    assert high <= HIGHEST
    assert low >= LOWEST


def without_steps(rows):
    """Let SGD-MA take no step at the least epsilon, and be far off as zeros are."""
    return {
        cell: Outcome(0.2, 30.0, 1.0, 0, 1000)
        if (cell.algorithm, cell.epsilon) == ("sgd-ma", 0.05)
        else outcome._replace(steps=0)
        if cell.algorithm == "objective-perturbation"  # it has none to take
        else outcome
        for cell, outcome in rows.items()
    }


def missing_points(container):
    return list(np.isnan(np.array(container[0].get_ydata(), float)))


def test_a_fit_without_a_step_is_a_hollow_mark_at_its_value_and_no_point_of_a_curve():
    figure = compose(EXPERIMENTS["kddcup99"], without_steps(rows_of("kddcup99")))
    for ax, height in zip(figure.axes, (0.8, None, 0.8, None), strict=True):
        missing = {container.get_label(): missing_points(container) for container in ax.containers}
        assert missing["SGD-MA"] == [True, False, False, False, False, False]
        assert not any(missing["ObjPert"])
        (mark,) = (line for line in ax.lines if line.get_label() == "SGD-MA: no step")
        assert list(mark.get_xdata()) == [0.05]
        assert mark.get_markerfacecolor() == PAPER
        # the objective, 30, is beyond the panel, so that its mark is on the edge
        where = min(height, ax.get_ylim()[1]) if height else ax.get_ylim()[1]
        assert mark.get_ydata()[0] == pytest.approx(where)
    assert "SGD-MA: no step" in [text.get_text() for text in figure.legends[0].get_texts()]
    assert "No step: the budget bought none" in said_below(figure)
    assert "No step" not in said_below(compose(EXPERIMENTS["kddcup99"], rows_of("kddcup99")))


@pytest.mark.parametrize("name", ["svm", "gamma", "kddcup99", "waterfall"])
def test_every_figure_says_how_often_was_fitted_and_what_bars_are(name):
    rows = rows_of(name, without=("ipums-us",))
    rows = {c: o for c, o in rows.items() if c.repetition == 0 or c.algorithm != "dpagd"}
    if name == "waterfall":
        figures = waterfalls(EXPERIMENTS[name], rows).values()
    else:
        figures = [compose(EXPERIMENTS[name], rows), compose_as_printed(EXPERIMENTS[name], rows)]
    task = r"Logistic regression\. " if name == "waterfall" else ""
    for figure in figures:
        assert re.search(rf"^{task}Means over 2 x 5-fold \(1 x 5: [^)]*DP-AGD", said_below(figure))
        assert "one standard error over all fits" in said_below(figure)
        assert ("KDDCup99 is the official 10% file" in said_below(figure)) == (name == "kddcup99")


def test_arrows_are_explained_where_there_are_any():
    rows = {
        c: o._replace(objective=900.0 if c.epsilon == 0.05 else o.objective)
        for c, o in rows_of("svm").items()
    }
    assert "Arrows: " in said_below(compose(EXPERIMENTS["svm"], rows))
    assert "Arrows: " in said_below(compose_as_printed(EXPERIMENTS["svm"], rows))
    even = {c: o._replace(objective=0.5) for c, o in rows_of("gamma").items()}
    assert "Arrows: " not in said_below(compose(EXPERIMENTS["gamma"], even))


@pytest.mark.filterwarnings("error:Attempting to set identical low and high ylims")
def test_a_panel_as_printed_has_a_height_although_the_majority_has_no_loss():
    rows = {
        cell: outcome._replace(objective=0.0) if cell.algorithm == "majority" else outcome
        for cell, outcome in rows_of("logistic").items()
    }
    for ax in compose_as_printed(EXPERIMENTS["logistic"], rows).axes:
        low, high = ax.get_ylim()
        assert low < high


def test_the_papers_figures_are_drawn_as_printed_too():
    figure = compose_as_printed(EXPERIMENTS["logistic"], rows_of("logistic", without=("ipums-us",)))
    assert [ax.get_title().split(",")[0] for ax in figure.axes] == ["Adult", "BANK", "IPUMS-BR"] * 2
    assert [figure.axes[0].get_ylabel(), figure.axes[3].get_ylabel()] == [
        "test accuracy",
        "objective (training)",
    ]
    assert {ax.get_yscale() for ax in figure.axes} == {"linear"}
    names = {text.get_text() for text in figure.legends[0].get_texts()}
    assert names == {COMPARED[name] for name in PAPERS}


def test_figure_4_as_printed_has_its_panels_in_one_row():
    figure = compose_as_printed(EXPERIMENTS["kddcup99"], rows_of("kddcup99"))
    titles = ["KDDCup99,\nlogistic regression"] * 2 + ["KDDCup99,\nSVM"] * 2
    assert [ax.get_title() for ax in figure.axes] == titles
    assert [ax.get_ylabel() for ax in figure.axes] == ["test accuracy", "objective (training)"] * 2
    assert {ax.get_gridspec().nrows for ax in figure.axes} == {1}


@pytest.mark.parametrize("far", [True, False], ids=["far off", "near"])
def test_marks_and_lines_far_from_the_curves_do_not_compress_a_panel_as_printed(far):
    """They are drawn at the edge, or left out, and a note says so; near ones are where they are."""
    idle, majority = ((0.2, 9.0), (0.3, 0.79)) if far else ((0.88, 0.2), (0.89, 0.18))
    rng = np.random.default_rng(0)
    rows = {}
    for cell in EXPERIMENTS["kddcup99"].cells(1):
        outcome = Outcome(0.9 + 0.1 * rng.random(), 0.2 * rng.random(), 1.0, 10, 1000)
        if (cell.algorithm, cell.epsilon) == ("sgd-ma", 0.05):
            outcome = Outcome(*idle, 1.0, 0, 1000)
        if cell.algorithm == "majority":
            outcome = Outcome(*majority, 1.0, 0, 1000)
        rows[cell] = outcome
    figure = compose_as_printed(EXPERIMENTS["kddcup99"], rows)
    for ax, value in zip(figure.axes, idle * 2, strict=True):
        low, high = ax.get_ylim()
        points = [y for container in ax.containers for y in container[0].get_ydata() if np.isfinite(y)]
        assert low <= min(points)
        assert max(points) <= high
        (mark,) = (line for line in ax.lines if str(line.get_gid()).startswith("no step"))
        shown = mark.get_ydata()[0]
        if far:
            assert max(points) - min(points) > 0.5 * (high - low)
            assert shown == (low if value == idle[0] else high)
        else:
            assert shown == pytest.approx(value)
    for note in (AT_THE_EDGE, NO_MAJORITY):
        assert (note in said_below(figure)) == far


@pytest.mark.parametrize(
    ("folds", "said"),
    [
        ({"dpagd": 25}, "5 x 5-fold"),
        ({"dpagd": 25, "privgene": 5}, "5 x 5-fold (1 x 5: PrivGene)"),
        ({"dpagd": 25, "privgene": 5, "sgd-ma": 5}, "1 x 5-fold (5 x 5: DP-AGD)"),
        ({"dpagd": 25, "sgd-adv": 25, "sgd-ma": 5, "privgene": 5}, "5 x 5-fold (1 x 5: SGD-MA, PrivGene)"),
        (
            {"dpagd": 25, "privgene": 1, "sgd-ma": 12},
            "5 x 5-fold (1 fold: PrivGene; 2 x 5 and 2 folds: SGD-MA)",
        ),
        ({"dpagd": 3}, "3 folds"),
    ],
)
def test_repetitions_are_said_as_they_were_run(folds, said):
    settings = [(name, table, n) for name, n in folds.items() for table in ("adult", "bank")]
    assert how_often(settings) == said


def test_fewer_folds_on_one_table_are_said_of_that_table():
    whole = [("dpagd", table, 25) for table in ("adult", "bank", "ipums-br")]
    some = [("sgd-ma", "adult", 5), ("sgd-ma", "bank", 1), ("sgd-ma", "ipums-br", 1)]
    assert how_often(whole + some) == "5 x 5-fold (1 x 5 on Adult, 1 fold on BANK and IPUMS-BR: SGD-MA)"
    assert how_often(whole + some[:1]) == "5 x 5-fold (1 x 5 on Adult, none on BANK and IPUMS-BR: SGD-MA)"
    more = [("sgd-ma", "bank", 25), ("sgd-ma", "ipums-br", 25)]
    assert how_often(whole + some[:1] + more) == "5 x 5-fold (1 x 5 on Adult: SGD-MA)"


def test_folds_that_differ_between_epsilons_of_a_table_are_said_from_the_fewest_to_the_most():
    settings = [("privgene", "adult", n) for n in (8, 7, 7)] + [("privgene", "bank", 10)] * 3
    assert how_often(settings) == "2 x 5-fold (7 to 8 folds on Adult: PrivGene)"
    rows = [cell for cell in rows_of("logistic") if cell.dataset in ("adult", "bank")]
    cut = [c for c in rows if (c.dataset, c.algorithm, c.repetition) != ("adult", "privgene", 1)]
    assert repetitions(cut) == "2 x 5-fold (1 x 5 on Adult: PrivGene)"
    assert repetitions(cut + [c for c in rows if c not in cut and c.epsilon == 0.4][:3]) == (
        "2 x 5-fold (5 to 8 folds on Adult: PrivGene)"
    )


def test_no_logarithmic_axis_is_without_numbers():
    for spread in (0.01, 0.3, 2.0):
        rows = {
            cell: outcome._replace(objective=0.3 + spread * outcome.accuracy)
            for cell, outcome in rows_of("gamma").items()
        }
        figure = compose(EXPERIMENTS["gamma"], rows)
        figure.canvas.draw()
        for ax in figure.axes:
            low, high = ax.get_ylim()
            ticks = [*ax.yaxis.get_ticklabels(), *ax.yaxis.get_ticklabels(minor=True)]
            assert sum(bool(t.get_text()) and low <= t.get_position()[1] <= high for t in ticks) >= 2


def test_a_curve_is_interrupted_where_nothing_was_run():
    rows = {cell: row for cell, row in rows_of("authors").items() if cell.epsilon not in (0.2, 0.8)}
    for ax in compose(EXPERIMENTS["authors"], rows).axes:
        ticks = [tick.get_text() for tick in ax.get_xticklabels()]
        assert ticks == ["0.05", "0.1", "0.2\nnot run", "0.4", "0.8\nnot run", "1.6"]
        for container in ax.containers:
            assert missing_points(container) == [False, False, True, False, True, False]
        gaps = {tuple(line.get_xdata()) for line in ax.lines if line.get_gid() == "gap"}
        assert gaps == {(0.1, 0.4), (0.4, 1.6)}


@pytest.mark.parametrize(
    ("name", "default"),
    [
        ("splits", 60.0),
        ("gamma", 0.1),
        ("c-grad", 3.0),
        ("c-obj", 3.0),
        ("ablation-step", 0.1),
        ("ablation-iterations", 60.0),
        ("tuning-privgene", 1 / 800),
    ],
)
def test_a_parameter_figure_marks_the_default_and_names_the_algorithms(name, default):
    figure = compose(EXPERIMENTS[name], rows_of(name))
    for ax in figure.axes:
        labels = dict(zip(ax.get_xticks(), (tick.get_text() for tick in ax.get_xticklabels()), strict=True))
        assert labels[default] == f"{default:g}\ndefault"
        assert set(labels) == {*EXPERIMENTS[name].values, default}
    (legend,) = figure.legends
    names = tuple(ALGORITHMS[algorithm] for algorithm in EXPERIMENTS[name].algorithms)
    assert all(text.get_text().startswith(names) for text in legend.get_texts())


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("gamma", ""),
        ("tuning-outpert", RULES["T of output-perturbation"]),
        ("tuning-outpert-step", RULES["step of outpert-fixed"]),
        ("ablation-step", "Steps of one length: T = 60."),
        ("ablation-iterations", "Steps of one length: alpha = 0.1. " + RULES["T of sgd-adv"]),
        ("ablation-iterations", RULES["T of sgd-ma-fixed"]),
    ],
)
def test_a_default_that_is_a_rule_and_what_was_held_fixed_are_said_below(name, said):
    assert said in said_below(compose(EXPERIMENTS[name], rows_of(name)))


def test_the_default_step_of_outpert_is_the_one_that_is_said():
    longest = get_solver("output-perturbation")._step(get_loss("logistic").smoothed, 0.0)
    assert RULES["step of outpert-fixed"].endswith(f" {longest:.3f}.")


def test_steps_of_one_length_are_compared_with_dpagd_at_the_same_epsilons(tmp_path, monkeypatch):
    monkeypatch.setattr("privfit.experiments.summary.fingerprint", lambda name: "0123")
    rows = {name: rows_of(name, repeats=1) for name in ("ablations", "ablation-step")}
    for name, mine in rows.items():
        results = Results(tmp_path / f"{name}.csv", seed=3)
        with results.appending():
            for cell, outcome in mine.items():
                results.append(cell, outcome)
    experiment, task = EXPERIMENTS["ablation-step"], ("bank", "logistic")
    compared = read_references(experiment, tmp_path, seed=3)
    ax = compose(experiment, rows["ablation-step"], compared).axes[2]
    drawn = {line.get_label(): line.get_ydata()[0] for line in ax.lines}
    expected = curves(EXPERIMENTS["ablations"], rows["ablations"], task, "accuracy")
    page = summarise(tmp_path, seed=3)
    for algorithm in ("dpagd", "dpagd-capped"):
        for epsilon in experiment.epsilons:
            name, point = f"{ALGORITHMS[algorithm]}, ε = {epsilon:g}", expected[algorithm][epsilon]
            assert drawn[name] == point.mean
            assert f"| {name} |" + f" {point.mean:.4f} ± {point.error:.4f} |" * 6 in page


def test_curves_over_a_parameter_differ_in_their_looks():
    for experiment in EXPERIMENTS.values():
        if experiment.parameter:
            lines = list(product(experiment.algorithms, experiment.epsilons))
            assert len({style_of(line) for line in lines}) == len(lines), experiment.name
            shapes = {algorithm: style_of((algorithm, 0.1)).shape for algorithm in experiment.algorithms}
            assert len(set(shapes.values())) == len(shapes), experiment.name


def test_every_algorithm_has_a_look_of_its_own():
    looks = [STYLES[name] for name in COMPARED]
    assert len(set(looks)) == len(looks)
    private = [STYLES[name] for name in COMPARED if name not in ("nonprivate", "majority")]
    assert len({look.shape for look in private}) >= len(private) - 1  # one relative shares a shape, hollow


def test_a_drawing_follows_the_readers_choice_of_light_or_dark(tmp_path):
    draw(EXPERIMENTS["gamma"], rows_of("gamma"), tmp_path, seed=1)
    svg = (tmp_path / "gamma.svg").read_text()
    assert "@media (prefers-color-scheme: dark)" in svg
    body = svg[svg.index("</style>") :]
    assert "fill: var(--paper)" in body
    assert "fill: var(--ink)" in body
    for fixed in (INK, PAPER, "#000000", "#ffffff", "black", "white"):
        assert fixed not in body


def test_the_summary_says_what_was_run_and_what_is_missing(tmp_path, monkeypatch):
    monkeypatch.setattr("privfit.experiments.summary.fingerprint", lambda name: "0123")
    results = Results(tmp_path / "logistic.csv", seed=3)
    rows = without_steps(rows_of("logistic", repeats=1, without=("ipums-us",)))
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
    assert page.count("| SGD-MA | 0.2000 ± 0.0000 (no step) | 0.") == page.count("(no step)") / 2 == 3
    assert "No step: the budget bought none" in prose
    assert page.count("| DP-AGD, authors' selection: NOT PRIVATE |") == 6
    for expected in ("seeded", "Declared public", "1e-12", "not innocent of these data"):
        assert expected in page


def test_no_step_is_said_only_of_algorithms_that_count_steps_and_where_no_fit_took_one():
    idle = Outcome(0.5, 0.6, 1.0, 0, 10)
    assert no_step("sgd-ma", [idle, idle])
    assert not no_step("sgd-ma", [idle, idle._replace(steps=3)])
    assert not no_step("objective-perturbation", [idle])
