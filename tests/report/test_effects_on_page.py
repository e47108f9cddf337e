"""The page draws every effect with its interval: sure ones first and in full colour, noise faded."""

import os
import re
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from chromium import needs_chromium, show

sys.path.append(str(Path(__file__).parents[1] / "publication"))
from inferred import LABELS, published_model

from privfit.models.effects import Effects
from privfit.report import render


class Lines(HTMLParser):
    """The lines of the picture: their classes, their words, and where their parts are, in percent."""

    def __init__(self, html):
        super().__init__()
        self.lines, self._inside = [], False
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        if tag == "li" and found.get("class", "").startswith(("sure", "unsure")):
            self.lines.append({"class": found["class"].split(), "words": "", "parts": {}})
            self._inside = True
        if tag == "b" and self._inside:
            numbers = re.findall(r"(left|width):([\d.]+)%", found["style"])
            self.lines[-1]["parts"][found["class"].split()[0]] = {name: float(x) for name, x in numbers}

    def handle_endtag(self, tag):
        self._inside = self._inside and tag != "li"

    def handle_data(self, data):
        if self._inside:
            self.lines[-1]["words"] += data


def drawn(model):
    return Lines(render(model.published())).lines


@pytest.mark.parametrize("kind", LABELS)
def test_sure_effects_come_first_and_noise_is_faded(kind):
    model = published_model(kind)
    estimate = np.where(np.arange(len(model.inference_)) % 2 == 0, 0.01 * model.inference_.estimate, 3.0)
    model.inference_ = replace(model.inference_, estimate=estimate)
    lines = drawn(model)
    curved = {row.name for row in Effects(model.published()).over_ranges() if row.column == "income"}
    expected = [
        row.contrast
        for row in Effects(model.published()).over_ranges()
        if row.contrast is not None and not (row.name in curved and "other" not in row.name)
    ]
    assert len(lines) == len(expected)
    sure = [line["class"][0] == "sure" for line in lines]
    assert sure == sorted(sure, reverse=True)
    assert 0 < sum(sure) < len(sure)
    assert sum(sure) == sum(contrast.is_sure for contrast in expected)
    for line in lines:
        parts = line["parts"]
        start, end = parts["whole"]["left"], parts["whole"]["left"] + parts["whole"]["width"]
        assert start <= parts["dot"]["left"] <= end + 0.3
        assert (line["class"][0] == "sure") != (start < parts["zero"]["left"] < end)
        assert parts["inner"]["width"] <= parts["whole"]["width"]  # sampling alone leaves less open
        assert ("minus" in line["class"]) == (parts["dot"]["left"] < parts["zero"]["left"])


def test_the_numbers_beside_a_line_are_those_of_the_effect():
    model = published_model("logit")
    found = model.contrast({"smoker": "yes"})
    (line,) = (line for line in drawn(model) if line["words"].startswith("smoker = yes"))
    assert f"{found.ratio:.2f}" in line["words"] or f"{found.ratio:.3f}" in line["words"]
    page = render(model.published())
    assert "The regression table" in page
    assert "small ones may be nothing but noise" not in page


def test_an_interval_longer_than_the_picture_is_cut_and_does_not_squeeze_the_others():
    model = published_model("logit")
    curvature = np.diag(np.diag(model.inference_.curvature))
    spread = curvature.copy()
    spread[0, 0] *= 1e6  # of age: nobody knows
    estimate = model.inference_.estimate.copy()
    estimate[0] = 0.0
    model.inference_ = replace(model.inference_, curvature=curvature, spread=spread, estimate=estimate)
    html = render(model.published())
    assert "cut-left" in html
    assert "cut-right" in html
    sure = [line["parts"]["dot"]["left"] for line in Lines(html).lines if line["class"][0] == "sure"]
    assert max(sure) - min(sure) > 20.0


def test_refused_effects_are_named_without_a_line():
    lines = drawn(published_model("logit", sigma=1e5))
    assert lines
    for line in lines:
        assert line["words"].endswith("too little budget to say")
        assert not line["parts"]


def test_a_model_without_intervals_has_bars_as_before():
    model = published_model("logit")
    plain = render(replace(model.published(), inference=None))
    assert 'class="effects"' not in plain
    assert "nothing but noise" in plain


@pytest.mark.slow
@needs_chromium
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280], ids=["phone", "desktop"])
def test_the_picture_fits_the_screen(browser, tmp_path, width, scheme):
    path = tmp_path / "card.html"
    path.write_text(render(published_model("logit").published()))
    show(browser, path, width, scheme)
    assert browser.get_log("browser") == []
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    track = browser.execute_script(
        "return document.querySelector('.effects li i').getBoundingClientRect().width"
    )
    assert track > 200
    kept = Path(os.environ.get("PRIVFIT_SCREENSHOTS", tmp_path)) / f"effects-{width}-{scheme}.png"
    browser.execute_script("document.querySelector('.effects').scrollIntoView()")
    browser.save_screenshot(str(kept))


@pytest.mark.slow
@needs_chromium
def test_no_column_of_a_table_with_many_digits_is_cut(browser, tmp_path):
    model = published_model("identity")
    found = model.inference_
    model.inference_ = replace(found, estimate=1e9 * found.estimate, directions=1e9 * found.directions)
    path = tmp_path / "card.html"
    path.write_text(render(model.published()))
    show(browser, path, 1280, "light")
    shown, whole = browser.execute_script(
        "const t = document.querySelector('.regression .wide'); return [t.clientWidth, t.scrollWidth]"
    )
    assert whole <= shown
    assert shown > 736  # it is wider than the text, so that the test tries something
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 1280
