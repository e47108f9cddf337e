"""The page in headless Chromium: no errors on the console, and nothing wider than the screen."""

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from chromium import needs_chromium, show
from test_page import Scores, fitted

from privfit import DPLogisticRegression, Schema
from privfit.models.curve_picture import WIDTH
from privfit.models.links import IDENTITY, SOFTMAX
from privfit.models.targets import Classes, Interval
from privfit.report import render
from privfit.schema import Categorical, Label, Numeric

pytestmark = [pytest.mark.slow, needs_chromium]


LONG = "Donaudampfschifffahrtselektrizitätenhauptbetriebswerk" * 3


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """A page on which every name is longer than a line and has no place to break."""
    path = tmp_path_factory.mktemp("report") / "long.html"
    names, labels = [f"{LONG}{i}" for i in range(3)], (LONG, f"{LONG}!")
    X = np.random.default_rng(0).uniform(0, 1, (60, 3))
    table = {name: X[:, i] for i, name in enumerate(names[:2])}
    table |= {"town": np.where(X[:, 2] > 0.5, *names[1:]), "out": np.where(X[:, 0] > 0.5, *labels)}
    columns = [
        Numeric(name, 0, 1, unit=LONG, curve=curve) for name, curve in zip(names[:2], (None, 4), strict=True)
    ]
    schema = Schema([*columns, Categorical("town", names[1:])], Label("out", labels))
    model = DPLogisticRegression(schema=schema).fit(table)
    model.report(path, scores=Scores(), title=LONG, card={"Intended use": LONG, LONG: LONG})
    path.write_text(path.read_text().replace("<details>", "<details open>"))
    return path


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "card.html"
    fitted().report(path, scores=Scores())
    return path


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280], ids=["phone", "desktop"])
def test_it_fits_the_screen_without_errors(browser, page, width, scheme, tmp_path):
    show(browser, page, width, scheme)
    assert browser.title == "Logistic regression with differential privacy"
    assert browser.get_log("browser") == []
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    paper, ink = browser.execute_script(
        "const s = getComputedStyle(document.body); return [s.backgroundColor, s.color]"
    )
    assert contrast(paper, ink) > 7  # WCAG's strictest level for text
    # the directory that the environment names keeps the pictures, for people to look at
    kept = Path(os.environ.get("PRIVFIT_SCREENSHOTS", tmp_path)) / f"report-{width}-{scheme}.png"
    browser.save_screenshot(str(kept))
    assert kept.stat().st_size > 10_000


@pytest.mark.parametrize("width", [390, 700, 1280], ids=["phone", "tablet", "desktop"])
@pytest.mark.parametrize("weighting", [{}, {"max_weight": 8.0}], ids=["five facts", "six facts"])
def test_words_at_the_top_are_whole(browser, tmp_path, width, weighting):
    path = tmp_path / "card.html"
    path.write_text(render(replace(fitted().published(), weighting=weighting)))
    show(browser, path, width, "light")
    facts = browser.execute_script(
        "return Array.from(document.querySelectorAll('.facts dd'), dd => {"
        "const text = document.createRange(); text.selectNodeContents(dd);"
        "return [dd.textContent, text.getClientRects().length]})"
    )
    assert len(facts) == 5 + len(weighting)
    for text, lines in facts:
        assert lines <= len(text.split()), text


@pytest.mark.parametrize("width", [390, 1280], ids=["phone", "desktop"])
def test_names_without_a_place_to_break_do_not_widen_the_page(browser, hostile, width):
    show(browser, hostile, width, "light")
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("width", "columns"), [(390, 1), (1280, 2)], ids=["phone", "desktop"])
def test_pictures_of_curves_can_be_read(browser, tmp_path, width, columns, scheme):
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 1e6, (60, 3))
    table = {f"x{j}": X[:, j] for j in range(3)} | {"out": np.where(X[:, 0] > 5e5, "yes", "no")}
    facts = [Numeric(f"x{j}", 0, 1_000_000, unit="$", curve=8) for j in range(3)]
    model = DPLogisticRegression(schema=Schema(facts, Label("out", ["no", "yes"]))).fit(table)
    model.report(tmp_path / "card.html")
    show(browser, tmp_path / "card.html", width, scheme)
    assert browser.get_log("browser") == []
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    boxes = browser.execute_script(
        "return [...document.querySelectorAll('.curves svg')].map(s => s.getBoundingClientRect().toJSON())"
    )
    assert len(boxes) == 3
    assert len({round(box["left"]) for box in boxes}) == columns
    assert min(box["width"] for box in boxes) > 0.9 * WIDTH  # so that its letters are 11 pixels high at least
    outside, overlapping = browser.execute_script("""
        const box = element => element.getBoundingClientRect()
        const texts = [...document.querySelectorAll('.curves svg')].map(
            s => [box(s), [...s.querySelectorAll('text')].map(box)])
        const out = texts.flatMap(([s, all]) => all.filter(
            t => t.left < s.left || t.right > s.right || t.top < s.top || t.bottom > s.bottom)).length
        const meet = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom
        const over = texts.flatMap(([_, all]) => all.flatMap(
            (a, i) => all.slice(i + 1).filter(b => meet(a, b)))).length
        return [out, over]
    """)
    assert (outside, overlapping) == (0, 0)
    paper, ink, line = browser.execute_script(
        "const s = getComputedStyle(document.body); "
        "const l = getComputedStyle(document.querySelector('.curves polyline')); "
        "return [s.backgroundColor, s.color, l.stroke]"
    )
    assert contrast(paper, ink) > 7
    assert contrast(paper, line) > 3  # what WCAG asks of graphics


@pytest.fixture(scope="module", params=["three classes", "many classes", "numbers"])
def other_page(request, tmp_path_factory):
    """The page of a model that is made up, with names longer than a line."""
    facts = fitted().published()
    names = tuple(f"{LONG}{i}" for i in range(12 if request.param == "many classes" else 3))
    target = Interval(0.0, 1e9) if request.param == "numbers" else Classes(names)
    path = tmp_path_factory.mktemp("report") / "other.html"
    size = 1e7 if request.param == "numbers" else 1.0
    model = replace(
        facts,
        link=IDENTITY if request.param == "numbers" else SOFTMAX,
        target=target,
        weights=size * np.random.default_rng(0).normal(size=(target.outputs, facts.n_columns)),
        intercepts=np.zeros(target.outputs),
    )
    path.write_text(render(model).replace("<details>", "<details open>"))
    return path


@pytest.mark.parametrize("width", [390, 1280], ids=["phone", "desktop"])
def test_pages_of_other_models_fit_the_screen(browser, other_page, width):
    show(browser, other_page, width, "light")
    assert browser.get_log("browser") == []
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    outside = browser.execute_script(
        "return [...document.querySelectorAll('.bars')].filter(t => t.scrollWidth > t.clientWidth).length"
    )
    assert outside == 0  # no bar and no number hangs over its chart


@pytest.mark.parametrize(("width", "rows"), [(1280, 1), (390, 3)], ids=["desktop", "phone"])
def test_the_five_tiles_are_in_one_row_where_there_is_room(browser, page, width, rows):
    show(browser, page, width, "light")
    boxes = browser.execute_script(
        "return [...document.querySelectorAll('.facts div')].map(d => d.getBoundingClientRect().toJSON())"
    )
    assert len(boxes) == 5
    assert len({box["top"] for box in boxes}) == rows
    assert max(box["right"] for box in boxes) - min(box["left"] for box in boxes) <= width
    if rows == 1:
        assert len({round(box["width"]) for box in boxes}) == 1


def contrast(one, other):
    def luminance(colour):
        parts = [int(c) / 255 for c in colour[colour.index("(") + 1 : -1].split(",")[:3]]
        linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    dark, light = sorted([luminance(one), luminance(other)])
    return (light + 0.05) / (dark + 0.05)
