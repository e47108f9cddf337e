"""Every Python snippet in the README, in docs/ and in docstrings runs, as a reader would type it."""

import doctest
import importlib
import inspect
import re
from pathlib import Path

import numpy as np
import pytest

from privfit import DPLinearSVC, DPLogisticRegression

ROOT = Path(__file__).parents[1]
PAGES = sorted([ROOT / "README.md", *ROOT.glob("docs/*.md")])
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def with_snippets():
    for page in PAGES:
        if BLOCK.search(page.read_text()):
            marks = [] if page.name == "README.md" else [pytest.mark.slow]
            yield pytest.param(page, id=page.name, marks=marks)


@pytest.mark.parametrize("page", list(with_snippets()))
def test_snippets_run(page, monkeypatch, tmp_path):
    """With the seeds that a reader gets, because what a page asks for suits what it prints."""
    monkeypatch.chdir(tmp_path)  # where snippets write their files
    monkeypatch.setattr(np.random, "default_rng", inspect.unwrap(np.random.default_rng))
    namespace: dict[str, object] = {}
    for block in BLOCK.findall(page.read_text()):
        exec(compile(block, str(page), "exec"), namespace)


def rows_of(table):
    """Return the cells of a printed table of effects by the names of its rows."""
    lines = re.findall(r"^(\S.*?) {2,}(\(reference\)|[+-]\d.*)$", table, re.MULTILINE)
    return {name: cells.split() for name, cells in lines}


@pytest.mark.slow
def test_the_printed_table_of_effects_is_that_of_a_fit(capsys):
    """Coefficients differ by the noise of two fits: a false alarm in fewer than one of a million runs."""
    page = (ROOT / "docs" / "effects.md").read_text()
    exec(compile(BLOCK.search(page)[1], "effects.md", "exec"), {})
    fitted = capsys.readouterr().out
    (printed,) = re.findall(r"^```text\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    heading = printed.partition("\n")[0]
    assert heading in fitted
    shown, found = rows_of(printed), rows_of(fitted)
    assert shown.keys() == found.keys() >= {"age (years), +10", "sex = m", "smoker = true", "(intercept)"}
    for name, cells in shown.items():
        assert len(cells) == len(found[name])
        if cells != ["(reference)"]:
            coef, std_err, privacy = map(float, cells[:3])
            assert abs(float(found[name][0]) - coef) < 6.0 * np.sqrt(2.0) * privacy
            assert float(found[name][1]) == pytest.approx(std_err, rel=0.1)


def with_examples():
    for path in sorted((ROOT / "src" / "privfit").rglob("*.py")):
        if ">>>" in path.read_text():
            yield ".".join(path.relative_to(ROOT / "src").with_suffix("").parts)


@pytest.mark.parametrize("module", list(with_examples()))
def test_docstring_examples_run(module):
    imported = importlib.import_module(module)
    found = [test for test in doctest.DocTestFinder().find(imported) if test.examples]
    runner, report = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS), []
    for example in found:
        runner.run(example, out=report.append)
    assert found
    assert not runner.failures, "".join(report)


def test_the_estimators_show_an_example_of_their_own():
    for model in (DPLogisticRegression, DPLinearSVC):
        (example,) = (test for test in doctest.DocTestFinder(recurse=False).find(model) if test.examples)
        assert f"{model.__name__}(" in example.docstring


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CONTRIBUTING.md"], ids=lambda p: p.name)
def test_links_and_named_files_exist(page):
    text = page.read_text()
    for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", text):
        assert (page.parent / target).exists(), target
    for named in re.findall(r"`((?:tests|src|benchmarks|docs)/[\w./-]+)`", text):
        assert (ROOT / named).exists(), named


def test_every_claim_cited_in_the_code_is_stated():
    stated = set(re.findall(r"\*\*([A-Z]\d+)\b", (ROOT / "docs" / "privacy.md").read_text()))
    cited = set()
    for source in (ROOT / "src").rglob("*.py"):
        cited |= set(re.findall(r"\(([GMNOPQSU]\d+)\b", source.read_text()))
    assert cited
    assert cited <= stated


def test_every_constant_of_the_default_solver_has_its_reason_and_no_other_is_listed():
    section = (ROOT / "docs" / "research.md").read_text().split("## The constants")[1].split("\n## ")[0]
    listed = set(re.findall(r"`([A-Z_]+)`", section))
    defined = set()
    for name in (
        "adaptive",
        "walk",
        "geometry",
        "calibration",
        "joint_calibration",
        "curvature",
        "descent",
        "kit",
        "numbers",
        "output_curvature",
        "passes",
        "people",
        "target_scale",
        "residual_walk",
        "least_squares",
    ):
        source = (ROOT / "src" / "privfit" / "solvers" / f"{name}.py").read_text()
        constants = re.findall(r"^([A-Z][A-Z_]*(?:, [A-Z_]+)*) = ", source, re.MULTILINE)
        defined |= {constant for line in constants for constant in line.split(", ")}
    assert defined == listed
