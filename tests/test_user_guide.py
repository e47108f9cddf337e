"""The site has four parts; its user guide is short, and every page of it has a picture."""

import csv
import importlib
import re
from collections import defaultdict
from pathlib import Path

import pytest

yaml = pytest.importorskip("yaml", reason="needs the extra docs")

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PARTS = ["User guide", "Reference", "Theory", "Research"]
# In the pages of each part, code and tables included; notebooks and what is made of the package come on top.
# Before you raise a limit, look for what is said twice.
MOST_WORDS = {"User guide": 15_000, "Reference": 16_000, "Theory": 36_000, "Research": 43_500}
PICTURES = re.compile(r"!\[[^]]+\]\(pictures/([\w.-]+)\)")


def part(name):
    nav = yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"]
    (found,) = (entry[name] for entry in nav if name in entry)
    return found


def pages(entries):
    for entry in entries:
        (target,) = entry.values()
        if isinstance(target, str):
            yield target
        else:
            yield from pages(target)


GUIDE = [page for page in pages(part("User guide")) if page.endswith(".md")]


def test_the_site_has_four_parts():
    nav = yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"]
    assert [name for entry in nav for name in entry] == PARTS


def test_a_newcomer_needs_seven_pages():
    (first,) = (entry["First steps"] for entry in part("User guide") if "First steps" in entry)
    pages_of_first_steps = list(pages(first))
    assert len(pages_of_first_steps) == 7
    listed = re.split(r"^## ", (DOCS / "index.md").read_text(), flags=re.MULTILINE)
    (seven,) = (section for section in listed if section.startswith("Seven pages"))
    assert re.findall(r"\]\(([\w-]+\.md)\)", seven) == pages_of_first_steps[1:]


def test_every_part_of_the_site_is_limited():
    assert list(MOST_WORDS) == PARTS


@pytest.mark.parametrize("name", PARTS)
def test_a_part_of_the_site_is_short(name):
    written = [DOCS / page for page in pages(part(name)) if (DOCS / page).suffix == ".md"]
    counted = {page.name: len(page.read_text().split()) for page in written if page.exists()}
    assert sum(counted.values()) <= MOST_WORDS[name], counted


@pytest.mark.parametrize("page", GUIDE)
def test_every_page_of_the_user_guide_has_a_picture(page):
    shown = PICTURES.findall((DOCS / page).read_text())
    assert shown
    for name in shown:
        assert (DOCS / "pictures" / name).stat().st_size < 100_000


def test_no_picture_is_forgotten():
    shown = set()
    for page in [*DOCS.glob("*.md"), ROOT / "README.md"]:
        shown |= set(re.findall(r"pictures/([\w.-]+)\)", page.read_text()))
    assert {path.name for path in (DOCS / "pictures").iterdir()} == shown


def test_readme_and_site_open_with_the_same_first_screen():
    readme, site = (path.read_text() for path in (ROOT / "README.md", DOCS / "index.md"))
    for text in (readme, site):
        start = text[: text.index("## How accurate it is")]
        for needed in ("pip install .", "make demo", "make test", "pictures/page.webp", "```python"):
            assert needed in start, needed
    assert readme.split("\n\n")[1] == site.split("\n\n")[1]


def test_what_epsilon_buys_is_what_the_committed_runs_say():
    found = defaultdict(list)
    with (ROOT / "benchmarks" / "compare.csv").open() as file:
        for row in csv.DictReader(file):
            if row["auc"] and row["learner"] in ("privfit, curves", "without privacy"):
                found[row["table"], row["epsilon"]].append(float(row["auc"]))
    mean = {place: sum(values) / len(values) for place, values in found.items()}
    two_classes = {table for table, _ in mean} - {"optdigits"}  # which has ten
    assert len(two_classes) == 10
    readme = (ROOT / "README.md").read_text()
    rows = re.findall(r"^\| ([\w -]+) \| [\d, ]*\| (\.\d{3} \|.*) \|$", readme, re.MULTILINE)
    assert len(rows) == 5
    for name, shown in rows:
        tables = two_classes if name.startswith("mean") else {name}
        for epsilon, number in zip(("0.1", "0.5", "1", "4", ""), shown.split(" | "), strict=True):
            expected = sum(mean[table, epsilon] for table in tables) / len(tables)
            assert number == f"{expected:.3f}".removeprefix("0"), (name, epsilon)


def test_the_gallery_shows_six_examples_with_a_picture_each_and_links_to_all_notebooks():
    gallery = (DOCS / "gallery.md").read_text()
    *sections, more = re.split(r"^## ", gallery, flags=re.MULTILINE)[1:]
    assert len(sections) == 6
    for section in sections:
        assert PICTURES.search(section), section
        assert re.search(r"\]\(\.\./examples/\w+\.ipynb\)", section), section
    assert more.startswith("More examples")
    linked = set(re.findall(r"examples/(\w+\.ipynb)", gallery))
    assert linked == {path.name for path in (ROOT / "examples").glob("*.ipynb")}


@pytest.fixture
def pictures(monkeypatch):
    pytest.importorskip("pandas")
    for folder in ("tools", "benchmarks"):
        monkeypatch.syspath_prepend(str(ROOT / folder))
    return importlib.import_module("pictures").PICTURES


def test_the_charts_that_are_made_by_a_tool_are_there(pictures):
    assert set(pictures) <= {path.name for path in (DOCS / "pictures").iterdir()}


@pytest.mark.parametrize("name", ["attacker.svg", "probe.svg", "spending.svg"])
def test_a_chart_that_needs_no_fit_comes_out_the_same_again(pictures, name):
    assert pictures[name]() == (DOCS / "pictures" / name).read_text()
