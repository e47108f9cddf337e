"""The documents say what the published rows say, and nothing beside it."""

import csv
import math
import os
import re
import secrets
import tomllib
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from privfit.accounting.subsampled import sgd_epsilon
from privfit.experiments.adoption import agree
from privfit.experiments.authors.sgd import authors_epsilon, batch_size
from privfit.experiments.claims import CLAIMS, Evidence
from privfit.experiments.claims.blocks import BLOCKS, fill, without_blocks
from privfit.experiments.claims.deviations import DEVIATIONS
from privfit.experiments.claims.evidence import clearly, number
from privfit.experiments.claims.page import register_page, write_documents
from privfit.experiments.designs import EPSILONS, EXPERIMENTS, SEED, Cell
from privfit.experiments.fit import fit_cell, solver_of, table
from privfit.experiments.provenance import unfit
from privfit.experiments.results import Results

ROOT = Path(__file__).parents[2]
RESULTS, DOCS = ROOT / "results", ROOT / "docs"
PUBLISHED = Evidence(RESULTS, SEED)
PINNED = {
    "abstract-better": "does not hold",
    "abstract-competitive": "does not hold",
    "table1-noise": "does not hold",
    "table1-descent": "does not hold",
    "small-shares": "holds",
    "adapting-shares": "holds in part",
    "adapting-equal-parts": "does not hold",
    "averaging": "does not hold",
    "private-steps": "does not hold",
    "rejected-directions": "does not hold",
    "averaging-variance": "holds",
    "exponential-noise": "does not hold",
    "range-of-steps": "does not hold",
    "kddcup99-time": "does not hold",
    "outpert-steps": "holds in part",
    "outpert-step-size": "holds in part",
    "robust": "does not hold",
    "splits-iterations": "holds",
    "splits-large-epsilon": "holds",
    "splits-ends": "does not hold",
    "gamma-large": "holds in part",
    "gamma-small": "does not hold",
    "gamma-budget": "holds",
    "c-grad-ends": "holds in part",
    "c-obj-ends": "does not hold",
    "c-obj-middle": "holds in part",
    "competitive-logistic": "does not hold",
    "competitive-svm": "does not hold",
    "competitive-kddcup99": "does not hold",
    "competitive-regularised": "does not hold",
    "smallest-epsilon": "does not hold",
    "published-program": "does not hold",
    "useful-statistics": "does not hold",
    "near-optimum": "does not hold",
    "iterations-matter": "holds in part",
    "privgene-tuning": "holds in part",
    "sgd-ma-largest-epsilon": "does not hold",
    "moments-price": "holds in part",
    "moments-small-epsilon": "holds",
    "moments-sharp": "holds",
    "bank-svm-accuracy": "does not hold",
    "bank-svm-objective": "holds",
    "outpert-objpert": "holds",
    "default-solver": "holds",
    "plain-descent": "holds",
    "faulty-selection": "holds in part",
    "step-range": "holds in part",
    "kddcup99-svm": "holds",
    "kddcup99-svm-cause": "holds in part",
}


def test_the_register_is_what_the_rows_say():
    assert (DOCS / "claims.md").read_text() == register_page(PUBLISHED), "run `privfit reproduce claims`"


def test_a_table_that_two_claims_rest_on_stands_once():
    parts = (DOCS / "claims.md").read_text().split("\n\n")
    tables = [part for part in parts if part.startswith("| ")]
    assert len(tables) == len(set(tables))
    assert "The table is that of [table1-noise](#table1-noise)." in parts


def test_a_claim_without_a_table_has_its_numbers_in_the_table_that_it_names():
    """Each cell of the table that is left out stands in the other one, in a line of the same algorithm."""
    referring = {key: claim.query for key, claim in CLAIMS.items() if getattr(claim.query, "table_of", None)}
    assert len(referring) == 5
    for query in referring.values():
        left_out = cells(replace(query, table_of=None)(PUBLISHED).evidence)
        assert left_out
        assert left_out <= cells(CLAIMS[query.table_of].decide(PUBLISHED).evidence)


def cells(evidence):
    """Return the cells of the table in an evidence, each with its panel, its algorithm and its epsilon."""
    (text,) = (part for part in evidence.split("\n\n") if part.startswith("| "))
    head, _, *lines = ([cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines())
    usual = re.search(r"\(([\w-]+) if none is named\)", head[0])[1]
    found = set()
    panel = ""
    for line in lines:
        panel = line[0] or panel
        names = (panel, line[1] if head[1] == "" else "DP-AGD")
        for epsilon, cell in zip(head, line, strict=True):
            if epsilon.startswith("ε"):
                found.add((*names, epsilon, cell if "(" in cell else f"{cell} ({usual})"))
    return found


@pytest.mark.parametrize("page", sorted(DOCS.glob("*.md")), ids=lambda page: page.name)
def test_blocks_of_the_documents_are_what_the_rows_say(page):
    text = page.read_text()
    assert text.count("<!-- begin: ") == text.count("<!-- end -->")
    assert fill(text, PUBLISHED) == text, "run `privfit reproduce claims`"


def test_documents_are_written_once(tmp_path):
    (tmp_path / "page.md").write_text("one\n<!-- begin: runs -->\nold\n<!-- end -->\ntwo\n")
    changed = write_documents(tmp_path, PUBLISHED)
    assert [path.name for path in changed] == ["claims.md", "page.md"]
    page = (tmp_path / "page.md").read_text()
    assert page.startswith("one\n<!-- begin: runs -->\n| file |")
    assert page.endswith("<!-- end -->\ntwo\n")
    assert write_documents(tmp_path, PUBLISHED) == []


@pytest.mark.parametrize("page", ["reproduction.md", "parameters.md"])
def test_no_measured_number_stands_outside_a_block(page):
    """Measured numbers are written .123 here, and those of settings 0.05: a reader sees which is which."""
    prose = re.sub(r"```.*?```", "", without_blocks((DOCS / page).read_text()), flags=re.DOTALL)
    assert not re.findall(r"(?<![\w\d])\.\d+|\d\.\d{3,}", prose)
    assert len(BLOCKS) + len(CLAIMS) > 20


COMPARISON = re.compile(
    r"\b(ahead|behind|worse|better|best|worst|hardly|gains?|costs|beats?|rises?|falls?|competitive|higher|lower)\b"
)


@pytest.mark.parametrize("page", ["reproduction.md", "parameters.md", "authors.md"])
def test_no_result_is_compared_outside_a_block(page):
    """A comparison written by hand would survive the rows that turn it; the paper's own may be retold."""
    prose = re.sub(r"```.*?```", "", without_blocks((DOCS / page).read_text()), flags=re.DOTALL)
    prose = "\n".join(line for line in prose.splitlines() if not line.startswith(("|", "#", "!")))
    for sentence in re.split(r"(?<=[.:])\s", prose):
        assert "paper" in sentence or not COMPARISON.search(sentence), sentence


def test_what_the_pages_on_dpagd_and_its_program_say_in_numbers_is_so():
    dpagd = (DOCS / "dpagd.md").read_text().replace("\n", " ")
    authors = (DOCS / "authors.md").read_text().replace("\n", " ")
    cell = Cell("logistic", "adult", "logistic", "dpagd", 0.4, None, 0, 0)
    curator = SimpleNamespace(epsilon=cell.epsilon, delta=cell.delta)
    gradient, choice = solver_of(cell).shares(curator)
    assert f"about {choice / gradient:.0f} times at delta = 1e-8" in dpagd
    assert f"gives the choice {choice / gradient:.0f} times the gradient's share" in (
        CLAIMS["adapting-equal-parts"].says
    )
    charged = CLAIMS["moments-price"].decide(PUBLISHED).evidence.replace("\n", " ")
    _, moments, pld = map(float, re.findall(r"charges (\d?\.\d+)", charged))
    assert f"a first step costs about {number(moments, 2)})" in dpagd
    assert f"the default: {number(pld)})" in dpagd
    assert math.log(1e8) / 32 == pytest.approx(0.57565, abs=5e-6)
    published = authors_epsilon(batch_size(39_073) / 39_073, 4.0, 1, 1e-8)
    assert f"gives log(10⁸)/32 = 0.57565 and a little more, {published:.5f} with the batches" in authors
    assert "SGD-MA takes no step below 0.58" in authors
    assert 0.57 < published < 0.58
    norms = np.sqrt(table("adult").data.multiply(table("adult").data).sum(axis=1))
    assert f"rows of Adult have norms near {norms.mean():.1f}" in authors
    assert f"worth {solver_of(cell).m} times what is paid for it" in authors


def test_what_is_said_beside_the_waterfall_is_what_its_rows_say():
    """A private selection is less accurate at small epsilons, and the default is below NonPrivate on BANK."""

    def gap(metric, dataset, epsilon, first, second):
        task = (dataset, "logistic")
        return PUBLISHED.gap(metric, "waterfall", task, (first, epsilon, None), (second, epsilon, None))

    for dataset in ("adult", "bank", "ipums-br"):
        for epsilon in (0.1, 0.4):
            assert clearly(gap("accuracy", dataset, epsilon, "authors-e4", "authors-e1-NOT-PRIVATE")) < 0
    assert clearly(gap("objective", "bank", 1.6, "adaptive", "nonprivate")) < 0


@pytest.mark.slow
def test_what_is_said_of_the_authors_accountant_is_what_accountants_charge():
    text = (DOCS / "authors.md").read_text().replace("\n", " ")
    n = 39_073
    q = batch_size(n) / n
    stated = [authors_epsilon(q, 4.0, steps, 1e-8) for steps in (1, 20_000)]
    assert f"its accountant states {stated[0]:.3f} for one step and {stated[1]:.3f} for 20,000" in text
    rdp, pld = ([sgd_epsilon(2.0, q, steps, 1e-8, kind) for steps in (1, 20_000)] for kind in ("rdp", "pld"))
    assert f"would cost {rdp[0]:.3f} and {rdp[1]:.3f} with all orders" in text
    assert f"and {pld[0]:.3f} and {pld[1]:.3f} with PLD" in text


@pytest.mark.parametrize("page", ["reproduction.md", "parameters.md", "claims.md"])
def test_nothing_that_we_put_in_our_words_is_set_as_a_quotation(page):
    prose = re.sub(r"```.*?```|`[^`\n]*`", "", (DOCS / page).read_text(), flags=re.DOTALL)
    assert not re.findall(r"[\"“”„«»]", prose)


def test_the_register_has_each_claim_once_with_one_query():
    file = ROOT / "src" / "privfit" / "experiments" / "claims" / "register.toml"
    entries = tomllib.loads(file.read_text())["claim"]
    assert [entry["key"] for entry in entries] == list(CLAIMS)
    for entry in entries:
        assert len(entry) == 5
    for claim in CLAIMS.values():
        assert not re.search(r"[{}]|\s\s", claim.says + claim.holds_if)


def test_verdicts_on_the_published_rows_are_these():
    """Pinned, so that a change of a query turns no verdict unnoticed; new rows may."""
    found = {key: str(claim.decide(PUBLISHED).verdict) for key, claim in CLAIMS.items()}
    assert found == PINNED


def test_numbers_in_the_register_are_those_of_the_files():
    """Counted again with nothing of the package."""
    accuracies = {}
    with (RESULTS / "logistic.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            if int(row["seed"]) == SEED:
                key = (row["dataset"], row["algorithm"], float(row["epsilon"]))
                accuracies.setdefault(key, []).append(float(row["accuracy"]))
    means = {key: sum(values) / len(values) for key, values in accuracies.items()}
    rivals = {"objective-perturbation", "output-perturbation", "privgene", "sgd-adv", "sgd-ma"}
    page = (DOCS / "claims.md").read_text()
    for dataset, title in (("adult", "Adult"), ("bank", "BANK"), ("ipums-br", "IPUMS-BR")):
        behind = [
            means[dataset, "dpagd", e]
            - max(
                mean for (d, name, at), mean in means.items() if d == dataset and name in rivals and at == e
            )
            for e in EPSILONS
        ]
        texts = [f"{gap:.3f}".replace("-0.", "\N{MINUS SIGN}.").replace("0.", ".") for gap in behind]
        cells = " | ".join(rf"{re.escape(text)}±\.\d+(?: \([\w-]+\))?" for text in texts)
        assert re.search(
            rf"\| {title}, logistic regression \| DP-AGD \| {cells} \|".replace(" | ", r" \| "), page
        )


@pytest.mark.parametrize(
    ("x", "text"), [(0.7426, ".743"), (-0.08, "\N{MINUS SIGN}.080"), (-0.0001, ".000"), (1.118, "1.118")]
)
def test_numbers_are_written_in_one_way(x, text):
    assert number(x) == text


def test_every_deviation_says_what_three_sides_do():
    for deviation in DEVIATIONS:
        assert all((deviation.what, deviation.text, deviation.code, deviation.here))
        assert deviation.measured(Evidence(Path("nowhere"), seed=1)) in (
            "not measured",
            "not run yet",
            "none on any number here",
        )
    measured = [deviation.measured(PUBLISHED) for deviation in DEVIATIONS]
    assert any(re.search(r": \.\d+±\.\d+, \.\d+±", effect) for effect in measured)


@pytest.mark.slow
def test_ten_cells_chosen_at_random_are_computed_again_from_scratch():
    """Another ten each time; PRIVFIT_CELLS_SEED repeats a choice. Rows declared outdated are not chosen."""
    seed = int(os.environ.get("PRIVFIT_CELLS_SEED") or secrets.randbits(32))
    print(f"PRIVFIT_CELLS_SEED={seed}")
    outdated = unfit(RESULTS, SEED)
    rows = {
        cell: outcome
        for name in EXPERIMENTS
        for cell, outcome in Results(RESULTS / f"{name}.csv", SEED).finished().items()
        if (cell.experiment, cell.algorithm) not in outdated
        and outcome.seconds < 3.0  # ten cells are to take less than a minute
        and (cell.dataset == "adult" or os.environ.get("PRIVFIT_DATA"))
    }
    chosen = np.random.default_rng(seed).choice(len(rows), size=10, replace=False)
    cells = [list(rows)[index] for index in chosen]
    for cell in sorted(cells, key=lambda cell: (cell.dataset, cell.repetition, cell.fold)):
        assert agree(cell, fit_cell(cell, SEED), rows[cell]), f"{cell}, of PRIVFIT_CELLS_SEED={seed}"
