"""The documentation site: it builds without a warning, is complete, and asks nobody else for anything."""

import os
import re
import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest
from chromium import needs_chromium, show

yaml = pytest.importorskip("yaml", reason="needs the extra docs")

ROOT = Path(__file__).parents[1]
ELSEWHERE = re.compile(
    r"""<(?:script|img|iframe|source|video|audio|embed|object)\b[^>]*\b(?:src|data)=["']?(?:https?:)?//"""
    r"""|<link\b(?![^>]*rel=["']?(?:canonical|next|prev))[^>]*\bhref=["']?(?:https?:)?//"""
    r"""|@import\s+(?:url\()?["']?(?:https?:)?//|url\(["']?(?:https?:)?//|import\(["']https?://""",
    re.IGNORECASE,
)

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    pytest.importorskip("material", reason="needs the extra docs")
    built = tmp_path_factory.mktemp("site")
    build = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", built],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
    )
    assert build.returncode == 0, build.stderr
    return built


def pages_of(entries):
    for entry in entries:
        (target,) = entry.values()
        if isinstance(target, str):
            yield target
        else:
            yield from pages_of(target)


def navigation():
    text = (ROOT / "mkdocs.yml").read_text()
    return list(pages_of(yaml.safe_load(text)["nav"]))


(USER_GUIDE,) = (
    entry["User guide"]
    for entry in yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"]
    if "User guide" in entry
)
GUIDE = [page.removesuffix(".md") for page in pages_of(USER_GUIDE) if page.endswith(".md")]


def test_every_page_of_the_navigation_is_built_and_no_other(site):
    expected = {str(Path(page).with_suffix(".html")) for page in navigation()}
    built = {str(path.relative_to(site)) for path in site.rglob("*.html")}
    assert built == expected | {"404.html"}


def test_what_would_be_loaded_from_elsewhere_is_noticed():
    for page in (
        '<script src="https://unpkg.com/x">',
        '<link rel="stylesheet" href="//fonts.example/css">',
        "<style>@import url(https://a.example/b.css)</style>",
        "<script>await import('https://cdn.example/mermaid.mjs')</script>",
        '<img alt="" src=https://a.example/b.png>',
    ):
        assert ELSEWHERE.search(page), page
    assert not ELSEWHERE.search('<a href="https://semver.org/">a link that a reader may follow</a>')


def test_nothing_is_loaded_from_elsewhere(site):
    for path in [*site.rglob("*.html"), *site.rglob("*.css")]:
        found = ELSEWHERE.search(path.read_text())
        assert not found, (path.name, found)
    # the theme's own script would fetch what draws diagrams, if there were any
    assert not [path for path in site.rglob("*.html") if re.search(r'class="[^"]*mermaid', path.read_text())]


def test_the_commands_are_those_of_the_program(site):
    import typer

    from privfit.cli import app

    page = (site / "commands.html").read_text()
    commands = typer.main.get_command(app).commands
    inner = [f"{name} {sub}" for name in commands for sub in getattr(commands[name], "commands", ())]
    assert inner
    for name in [*commands, *inner]:
        assert f"Usage: privfit {name} " in page, name


def test_the_api_is_that_of_the_package(site):
    import privfit
    from privfit import metrics, planning, publication

    page = (site / "api.html").read_text()
    for name in (*privfit.__all__, *metrics.__all__, *planning.__all__, *publication.__all__):
        assert re.search(rf'id="privfit\.[\w.]*\b{name}"', page), name


def test_the_api_lists_the_parameters_of_models_and_scores(site):
    import inspect

    import privfit
    from privfit import metrics

    page = (site / "api.html").read_text()
    scores = [found for found in map(metrics.__dict__.get, metrics.__all__) if inspect.isfunction(found)]
    assert len(scores) == 16
    for found in (privfit.DPLogisticRegression, privfit.DPLinearSVC, *scores):
        start = page.index(f'id="privfit.{found.__module__.split(".")[1]}.{found.__name__}"')
        section = page[start : page.find("</tbody>", start)]  # the table of parameters is the first
        listed = re.findall(r"<tr[^>]*>\s*<td>\s*<code>\**(\w+)</code>", section)
        assert listed == list(inspect.signature(found).parameters), found.__name__


def test_results_are_shown(site):
    page = (site / "reproduction.html").read_text()
    shown = re.findall(r'<img[^>]* src="(results/[^"]+)"', page)
    assert shown
    for picture in shown:
        assert (site / picture).stat().st_size > 1000


def test_pictures_say_in_words_what_they_show(site):
    for path in site.rglob("*.html"):
        page = path.read_text()
        for image in re.findall(r"<img[^>]*>", page):
            assert re.search(r'alt="[^"]+"', image), (path.name, image[:100])
        for figure in re.findall(r'<figure class="picture"[^>]*>', page):
            assert re.search(r'aria-label="[^"]{40,}"', figure), (path.name, figure)
    assert '<figure class="picture"' in (site / "concepts.html").read_text()


# What a test sees of a page: its width, what was loaded, pictures that are missing or cut off, the palette,
# and the least contrast of text, as WCAG 2 defines it.
SEEN = """
const scrolls = e => e && (getComputedStyle(e).overflowX === "auto" || scrolls(e.parentElement));
const own = e => rgba(getComputedStyle(e).backgroundColor);
const paper = e => e ? (c => c[3] === 0 ? paper(e.parentElement) : c)(own(e)) : [255, 255, 255, 1];
const rgba = text => (n => n.length < 4 ? [...n, 1] : n)(text.match(/[\\d.]+/g).map(Number));
const light = c => [0.2126, 0.7152, 0.0722].map((share, i) => share * ((v => v <= 0.04045 ? v / 12.92
    : ((v + 0.055) / 1.055) ** 2.4)(c[i] / 255))).reduce((a, b) => a + b);
const contrast = e => {
    const [below, style] = [paper(e), getComputedStyle(e)];
    const ink = rgba(e.namespaceURI.endsWith("svg") ? style.fill : style.color);
    const seen = [0, 1, 2].map(i => ink[3] * ink[i] + (1 - ink[3]) * below[i]);
    const [a, b] = [light(seen), light(below)].sort((x, y) => y - x);
    return (a + 0.05) / (b + 0.05);
};
const article = document.querySelector("article");
const pictures = [...article.querySelectorAll("img, figure.picture svg")];
return {
    width: document.documentElement.scrollWidth,
    loaded: performance.getEntriesByType("resource").map(e => e.name),
    spoilt: pictures.filter(e => (box => box.width === 0 || e.naturalWidth === 0 || box.right > innerWidth + 1
        && !scrolls(e.parentElement))(e.getBoundingClientRect())).map(e => e.outerHTML),
    scheme: document.body.getAttribute("data-md-color-scheme"),
    contrast: Math.min(...[...article.querySelectorAll("p, td, th, figure.picture text")].map(contrast)),
};
"""


@needs_chromium
@pytest.mark.parametrize("page", ["examples/census", "comparison", *GUIDE])
def test_a_page_can_be_read_on_a_phone_and_a_desktop_in_light_and_dark(browser, site, page, tmp_path):
    kept = Path(os.environ.get("PRIVFIT_SCREENSHOTS", tmp_path))  # for people to look at
    for width, scheme in product((390, 1280), ("light", "dark")):
        show(browser, site / f"{page}.html", width, scheme)
        seen = browser.execute_script(SEEN)
        assert browser.get_log("browser") == []
        assert seen["width"] <= width
        assert all(url.startswith(("file:", "data:", "blob:")) for url in seen["loaded"]), seen["loaded"]
        assert seen["spoilt"] == []
        assert seen["scheme"] == {"light": "default", "dark": "slate"}[scheme]
        assert seen["contrast"] >= 4.5
        if "PRIVFIT_SCREENSHOTS" in os.environ:
            browser.save_screenshot(str(kept / f"site-{Path(page).name}-{width}-{scheme}.png"))


@needs_chromium
def test_a_page_that_cannot_be_read_is_noticed(browser, tmp_path):
    page = tmp_path / "page.html"
    page.write_text(
        "<body style='background: #222' data-md-color-scheme='slate'><article><p style='color: #444'>pale</p>"
        "<div style='width: 90vw; overflow: hidden'><img alt='' style='width: 200vw' src='data:image/svg+xml,"
        "<svg xmlns=%22http://www.w3.org/2000/svg%22 width=%229%22 height=%229%22/>'></div></article>"
    )
    show(browser, page, 390, "dark")
    seen = browser.execute_script(SEEN)
    assert seen["contrast"] < 2.0
    assert len(seen["spoilt"]) == 1


@needs_chromium
@pytest.mark.parametrize("page", ["api", "commands", "command-line", "how-to", "privacy", "solvers"])
def test_no_page_is_wider_than_the_screen_and_code_fits_a_desktop(browser, site, page):
    for width in (390, 1280):
        show(browser, site / f"{page}.html", width, "light")
        assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    # on a phone, and where there is no language because it is output, long lines scroll in their own block
    languages = ", ".join(f".language-{name} code" for name in ("python", "sh"))
    found = browser.execute_script(
        f"return [...document.querySelectorAll('{languages}')]"
        ".map(code => [code.scrollWidth - code.clientWidth, code.textContent])"
    )
    assert found or page not in ("command-line", "how-to")
    assert not [text for beyond, text in found if beyond > 0]


@needs_chromium
def test_a_page_that_was_opened_as_a_file_can_be_searched(browser, site):
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support.ui import WebDriverWait

    show(browser, site / "index.html", 1280, "light")
    browser.find_element(By.CSS_SELECTOR, "input.md-search__input").send_keys("delta")
    results = WebDriverWait(browser, 20).until(
        lambda b: b.find_elements(By.CSS_SELECTOR, ".md-search-result__item a")
    )
    assert any("choosing.html" in result.get_attribute("href") for result in results)
