"""The page in headless Chromium: no errors on the console, and nothing wider than the screen."""

import os
from pathlib import Path

import pytest
from chromium import needs_chromium, show
from test_page import Scores, fitted

pytestmark = [pytest.mark.slow, needs_chromium]


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


def contrast(one, other):
    def luminance(colour):
        parts = [int(c) / 255 for c in colour[colour.index("(") + 1 : -1].split(",")[:3]]
        linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    dark, light = sorted([luminance(one), luminance(other)])
    return (light + 0.05) / (dark + 0.05)
