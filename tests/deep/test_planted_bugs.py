"""Bugs that are planted in a copy of the package, each with the tests that have to notice it.

Every bug breaks a promise of docs/privacy.md: a wrong constant, a look that is not paid for, a bound that is
too small. `old` stands once in its file. Whoever changes such a line changes it here, too.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
PASSED, FAILED = 0, 1  # exit codes of pytest; others mean that it could not run the tests


class Bug(NamedTuple):
    """A change of one place of the package."""

    file: str
    old: str
    new: str
    tests: tuple[str, ...]


ZCDP, GDP = ("tests/accounting/test_zcdp.py",), ("tests/accounting/test_gdp.py",)
SELECTION, LEDGER = ("tests/mechanisms/test_selection.py",), ("tests/accounting/test_ledger.py",)
LASTING, CURATOR = ("tests/accounting/test_lasting.py",), ("tests/test_curator.py",)
RELATION, REPLAY = ("tests/test_relation.py",), ("tests/contracts/test_solver_replay.py",)
WEIGHTS = ("tests/questions/test_weight_sums.py", "tests/contracts/test_weight_replay.py")
OUTPUTS = ("tests/questions/test_output_neighbours.py",)
PRIVGENE = ("tests/solvers/test_privgene.py",)
PEOPLE, UNIT = ("tests/schema/test_people.py",), ("tests/accounting/test_unit_of_ledger.py",)
PERSONS = ("tests/engine/test_person_gradients.py", "tests/test_relation.py")
PERTURBATION = ("tests/solvers/test_objective_perturbation.py", "tests/solvers/test_objective_bounds.py")
EFFECTS, COINS = ("tests/questions/test_effect_sums.py",), ("tests/tuning/test_parts_by_coins.py",)
DIFFERENCES, MAPPED = ("tests/questions/test_loss_differences.py",), ("tests/engine/test_mapped.py",)
PARTS, QUERIES = ("tests/contracts/test_parts_contract.py",), ("tests/schema/test_queries.py",)
CHARGE = 'self._charge(rho, what=what, mechanism=f"gaussian, sensitivity {sensitivity:.6g}", kind="gaussian")'

BUGS = {
    "Gaussian noise of half the variance": Bug(
        "accounting/zcdp.py", 'sqrt(2.0 * _positive("rho", rho))', 'sqrt(4.0 * _positive("rho", rho))', ZCDP
    ),
    "a pure mechanism at half its price": Bug(
        "accounting/zcdp.py",
        '_positive("epsilon", epsilon) ** 2 / 2.0',
        '_positive("epsilon", epsilon) ** 2 / 4.0',
        ZCDP,
    ),
    "bounded range at half its price": Bug("accounting/zcdp.py", "** 2 / 8.0", "** 2 / 16.0", ZCDP),
    "the conversion without log(1 / delta)": Bug(
        "accounting/zcdp.py", "-math.log(delta) * (1.0 + _SLACK)", "-math.log(delta) * 0.5", ZCDP
    ),
    "pure epsilon as Gaussian DP at half its price": Bug(
        "accounting/gdp.py", "mu * mu / 2.0 * (1.0", "mu * mu / 4.0 * (1.0", GDP
    ),
    "advanced composition without its second term": Bug(
        "accounting/subsampled.py",
        "fits = e * root + steps * e * math.tanh(e / 2.0) <= epsilon",
        "fits = e * root <= epsilon",
        ("tests/accounting/test_subsampled.py",),
    ),
    "a person counts as one record": Bug(
        "accounting/relation.py",
        'return self.records_per_person if unit == "record" else 1',
        "return 1",
        RELATION,
    ),
    "a sum of weights at half its sensitivity": Bug(
        "questions/weights.py",
        'np.array([of.total_weight]), 1.0, "Q23"',
        'np.array([of.total_weight]), 0.5, "Q23"',
        WEIGHTS,
    ),
    "sums of classes at half their sensitivity": Bug(
        "questions/weights.py", 'Bounded(look, 1.0, "Q24")', 'Bounded(look, 0.5, "Q24")', WEIGHTS
    ),
    "weights divided by their own mean": Bug(
        "estimators/weighting.py",
        "np.minimum(weights, largest) / largest",
        "np.minimum(weights / max(float(np.mean(np.minimum(weights, 1e300))), 1e-300), 1.0)",
        WEIGHTS,
    ),
    "a largest weight that is read off the data without a word": Bug(
        "estimators/weighting.py",
        "if self.given and self.largest is None:",
        "if self.given and self.largest == 0.0:",
        ("tests/estimators/test_weights_of_records.py",),
    ),
    "a ledger that looks at what was spent, not at the price": Bug(
        "accounting/ledger.py", "spent[0] + units(rho) > ceilings[0]", "spent[0] > ceilings[0]", LEDGER
    ),
    "a ledger that does not count delta": Bug(
        "accounting/ledger.py", "spent[1] + units(delta) > ceilings[1]", "spent[1] > ceilings[1]", LEDGER
    ),
    "a portion that its ledger does not pay for": Bug(
        "accounting/ledger.py",
        "self._parent.charge(\n                    rho, delta,",
        "self._parent.charge(\n                    0.0, 0.0,",
        LEDGER,
    ),
    "a portion that is settled and pays on": Bug(
        "accounting/ledger.py", "self._is_settled = True", "self._is_settled = False", LASTING
    ),
    "a settlement that gives back what was spent": Bug(
        "accounting/reservation.py", "units(amount) - paid", "units(amount)", LASTING
    ),
    "a look before its charge": Bug(
        "curator.py",
        f"{CHARGE}\n        exact = look()",
        f"exact = look()\n        {CHARGE}",
        CURATOR,
    ),
    "a look that is not charged": Bug("curator.py", CHARGE, "pass", CURATOR),
    "several winners, each for the price of all": Bug(
        "curator.py",
        "list(range(len(totals := scores.look()))), rho / winners",
        "list(range(len(totals := scores.look()))), rho",
        PRIVGENE,
    ),
    "a curator that forgets how many records a person has": Bug(
        "curator.py", ".under(self.relation)", "", RELATION
    ),
    "one record more of a person than is said": Bug(
        "schema/people.py", "places < most", "places <= most", PEOPLE
    ),
    "a choice that does not look at who it is": Bug(
        "schema/people.py", "_digest(people.ids[number], content)", "_digest(None, content)", PEOPLE
    ),
    "a charge in another unit": Bug("accounting/relation.py", "if kept == asked:", "if True:", UNIT),
    "half a person in the count": Bug("questions/count.py", '1.0, "Q27"', '0.5, "Q27"', PERSONS),
    "a person's sum that is not clipped": Bug(
        "engine/kernels/cosines.py", "1.0 if norm <= clip else clip / norm", "1.0", PERSONS
    ),
    "a person's sum without the clip of each record": Bug(
        "engine/person_gradients.py", "shrunk(slopes, clip * table.reciprocals)", "slopes", PERSONS
    ),
    "data opened to people with several records": Bug(
        "curator.py", "if not self.relation.is_one_record_each:", "if False:", RELATION
    ),
    "scores that move both ways, paid for one": Bug(
        "mechanisms/selection.py", "else 2.0 * sensitivity", "else sensitivity", SELECTION
    ),
    "Laplace noise with the discount of Gumbel noise": Bug(
        "mechanisms/selection.py", '(2.0 if shape == "gumbel" else 1.0)', "2.0", SELECTION
    ),
    "half a record in the count": Bug("questions/count.py", '1.0, "Q4"', '0.5, "Q4"', CURATOR),
    "half a record in the histogram of norms": Bug(
        "questions/norms.py",
        'return Bounded(lambda: self.counts(of.table), 1.0, "Q7")\n\n\n@dataclass',
        'return Bounded(lambda: self.counts(of.table), 0.5, "Q7")\n\n\n@dataclass',
        CURATOR,
    ),
    "two sums in one vector, noise for the longer": Bug(
        "questions/moments.py",
        "math.hypot(straight, self.weight * curved)",
        "max(straight, self.weight * curved)",
        CURATOR,
    ),
    "losses along a line, noise for half the clip": Bug(
        "questions/losses.py", "self.clip + 2.0 * loss_slack(self.clip)", "self.clip / 2.0", CURATOR
    ),
    "changes of losses said to be of one sign": Bug(
        "questions/losses.py", 'count, False, "Q12"', 'count, True, "Q12"', CURATOR
    ),
    "objective perturbation that does not pay for the curvature": Bug(
        "solvers/objective_perturbation.py",
        "return ridge, epsilon - math.log1p(curvature / ridge)",
        "return ridge, epsilon",
        PERTURBATION,
    ),
    "objective perturbation with half the noise": Bug(
        "solvers/objective_perturbation.py",
        "return distance * NOISE_MARGIN",
        "return 0.5 * distance * NOISE_MARGIN",
        (*PERTURBATION, *REPLAY),
    ),
    "gradients that are clipped at twice the bound": Bug(
        "questions/gradients.py",
        'of.gradient_sums_at(self.w, self.clip), bound, "Q1"',
        'of.gradient_sums_at(self.w, 2.0 * self.clip), bound, "Q1"',
        CURATOR,
    ),
    "a joint clip that is twice as long": Bug(
        "engine/kernels/outputs.py",
        "shrink(slopes, clip * reciprocals[i])",
        "shrink(slopes, 2.0 * clip * reciprocals[i])",
        OUTPUTS,
    ),
    "a class histogram at half its sensitivity": Bug(
        "losses/targets.py", "    count: int\n    bound = 1.0", "    count: int\n    bound = 0.5", OUTPUTS
    ),
    "slopes of the scale that are not clipped": Bug(
        "engine/points.py",
        "(shrunk(np.nan_to_num(derivatives), clip)",
        "(np.nan_to_num(derivatives)",
        OUTPUTS,
    ),
    "the curvature of effects with too little noise, by the root of 2": Bug(
        "questions/effects.py",
        "bound = product_bound(longest, problem.n_weights)",
        "bound = product_bound(longest, problem.n_weights) / math.sqrt(2.0)",
        EFFECTS,
    ),
    "squared scores at half their sensitivity": Bug(
        "questions/effects.py",
        "bound = product_bound(self.slope * self.radius, of",
        "bound = 0.5 * product_bound(self.slope * self.radius, of",
        EFFECTS,
    ),
    "the gradient of effects at half its sensitivity": Bug(
        "questions/effects.py",
        "of.problem.gradient_bound(clip)",
        "of.problem.gradient_bound(0.5 * clip)",
        EFFECTS,
    ),
    "squared scores of a person that grow as the number of records": Bug(
        "questions/effects.py",
        "bound = product_bound(longest, of.problem.n_weights)",
        "bound = product_bound(longest, of.problem.n_weights) / persons_of(of.problem).most",
        EFFECTS,
    ),
    "a solver before the last steps with a ledger of its own": Bug(
        "estimators/base.py",
        'ledger.portion(SOLVER_SHARE * budget, what="the solver")',
        "type(ledger).keeping(ledger.promise)",
        ("tests/estimators/test_effects_of_fits.py",),
    ),
    "a comparison of settings that pays for the differences alone": Bug(
        "questions/comparisons.py", "math.hypot(self.level, self.level, longest)", "longest", DIFFERENCES
    ),
    "differences of losses that are twice as long": Bug(
        "questions/comparisons.py",
        "np.maximum(np.sqrt(squares), self.clip)",
        "np.maximum(np.sqrt(squares) / 2.0, self.clip)",
        DIFFERENCES,
    ),
    "records held out by their row number": Bug(
        "tuning/parts.py",
        "held[noise.poisson_rows(count, share)] = True",
        "held[:: round(1.0 / share)] = True",
        COINS,
    ),
    "a fixed share of the records held out": Bug(
        "tuning/parts.py",
        "held[noise.poisson_rows(count, share)] = True",
        "held[np.argsort(noise.gaussian(np.zeros(count), 1.0))[: round(share * count)]] = True",
        COINS,
    ),
    "a coin for each row of a person": Bug(
        "tuning/parts.py", "if people is None:\n        held", "if True:\n        held", COINS
    ),
    "parts of the records that nobody pays for": Bug(
        "accounting/parts.py", "ledger.charge(\n        rho,", "ledger.charge(\n        1e-12,", COINS
    ),
    "fingerprints that are not compared": Bug(
        "engine/fingerprints.py",
        "if not np.array_equal(self._found(first, last), self._known[first:last]):",
        "if False:",
        MAPPED,
    ),
    "fingerprints that are not compared for single rows": Bug(
        "engine/fingerprints.py", "self.check(piece * entries, piece * entries + 1)", "pass", MAPPED
    ),
    "a mapped array that others can write to during a fit": Bug(
        "estimators/base.py",
        "X = taken_once(X) if reset else X",
        "pass",
        ("tests/estimators/test_sources_of_fits.py",),
    ),
    "sums of parts that are folded twice": Bug(
        "engine/parts.py",
        "request.question.bounded(place).sums()",
        "request.question.bounded(place).look()",
        PARTS,
    ),
    "more records in all parts than sums are exact for": Bug(
        "engine/parts.py", "check_total(part.records.n_records for part in parts)", "pass", PARTS
    ),
    "strict mode that does not read queries": Bug(
        "schema/queries.py",
        "if is_strict():\n            check_rows",
        "if False:\n            check_rows",
        QUERIES,
    ),
    "queries in strict mode that name a file twice": Bug(
        "schema/queries.py",
        'return list(_classes(table)) == ["FUNCTION", "CONSTANT"]',
        "return True",
        QUERIES,
    ),
}


@pytest.mark.parametrize("bug", BUGS)
def test_a_planted_bug_has_its_place(bug):
    """Otherwise the code was changed: change `old` and `new` of this bug."""
    file, old, new, tests = BUGS[bug]
    assert (ROOT / "src" / "privfit" / file).read_text().count(old) == 1
    assert old != new
    assert all((ROOT / test).exists() for test in tests)


def exit_code(tests, folder, change=None):
    """Return how tests of a copy of the package end, in one file of which a string is replaced."""
    shutil.copytree(
        ROOT / "src" / "privfit", folder / "privfit", ignore=shutil.ignore_patterns("__pycache__")
    )
    if change is not None:
        file, old, new = change
        path = folder / "privfit" / file
        path.write_text(path.read_text().replace(old, new))
    # a cache of its own, because compiled loops are not compiled anew when one that they call changes
    environment = os.environ | {"PYTHONPATH": str(folder), "NUMBA_CACHE_DIR": str(folder / "cache")}
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests]
    return subprocess.run(command, env=environment, cwd=ROOT, check=False).returncode


@pytest.mark.deep
def test_the_package_itself_passes_the_tests_that_notice_bugs(tmp_path):
    assert exit_code(sorted({test for bug in BUGS.values() for test in bug.tests}), tmp_path) == PASSED


@pytest.mark.deep
@pytest.mark.parametrize("bug", BUGS)
def test_a_planted_bug_is_noticed(bug, tmp_path):
    *change, tests = BUGS[bug]
    assert exit_code(tests, tmp_path, change) == FAILED
