"""What docs/architecture.md says of additions: how many files each takes, tried on a copy of the package."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

LOSS = """
import math
from privfit.losses.arithmetic import compilable
from privfit.losses.loss import Loss

@compilable
def value(prediction, target):
    slack = max(1.0 - target * prediction, 0.0)
    return slack * slack

@compilable
def derivative(prediction, target):
    return -2.0 * target * max(1.0 - target * prediction, 0.0)

SQUARED_HINGE = Loss("squared_hinge", value, derivative, lipschitz=math.inf, smoothness=2.0)
"""

USE_LOSS = """
class Model(DPLogisticRegression):
    _loss = "squared_hinge"

model = Model(20.0, noise="seeded", random_state=0).fit(X, y)
assert model.score(X, y) > 0.9
"""

SOLVER = """
from dataclasses import dataclass
from typing import ClassVar
import numpy as np
from privfit.accounting import Concentrated
from privfit.questions import GradientAt
from privfit.solvers.base import Solution, register

@register
@dataclass(frozen=True, kw_only=True)
class OneStep:
    name: ClassVar[str] = "one-step"
    private: ClassVar[bool] = True
    requires: ClassVar = ()
    promise = staticmethod(Concentrated.of)

    def solve(self, curator):
        g = curator.measure(GradientAt(np.zeros(curator.n_weights), 2.0), curator.remaining)
        return Solution(-g.value / np.linalg.norm(g.value))
"""

USE_SOLVER = """
model = DPLogisticRegression(20.0, solver="one-step", noise="seeded", random_state=0).fit(X, y)
assert model.score(X, y) > 0.7 and model.ledger_.spent > 0
"""

QUESTION = """
import math
from dataclasses import dataclass
from typing import ClassVar
from privfit.engine.bounded import Bounded

@dataclass(frozen=True)
class Positives:
    what: ClassVar[str] = "positive values"

    @property
    def loops(self):
        from privfit.engine.kernels.compiling import compiled
        from privfit.engine.layouts.layout import Loops

        @compiled()
        def dense(X, out):
            for i in range(X.shape[0]):
                for j in range(X.shape[1]):
                    out[j] += X[i, j] > 0.0

        @compiled()
        def csr(indptr, indices, data, out):
            for t in range(indptr[0], indptr[-1]):
                out[indices[t]] += data[t] > 0.0

        return Loops(dense, csr)

    def shape(self, table):
        return (table.n_columns,)

    def arguments(self, table):
        return lambda rows: ()

    def bounded(self, of):
        return Bounded(lambda: of.table.summarise(self), math.sqrt(of.table.n_columns), "Q11")
"""

USE_QUESTION = """
import scipy.sparse as sp
from privfit.accounting import Ledger
from privfit.accounting.relation import ONE_RECORD
from privfit.curator import Curator
from privfit.engine.table import Table
from privfit.mechanisms.noise import noise_source
from privfit.questions.positives import Positives
for form in (X, sp.csr_matrix(X)):
    ledger, facts = Ledger(rho=1e6), {"epsilon": 1.0, "delta": 1e-6, "relation": ONE_RECORD}
    curator = Curator(Table(form), ledger, noise_source(0), **facts)
    counts = curator.measure(Positives(), 1e6).value
    assert np.allclose(counts, (X > 0).sum(axis=0), atol=0.1)
"""

MATRIX = """
import numpy as np
from privfit.engine.layouts.dense import DenseLayout

class Compressed(DenseLayout):
    # rows kept in half precision, and widened whenever they are needed
    def __init__(self, X):
        self.half, self.shape = X.astype(np.float16), X.shape

    def parts(self, rows):
        yield rows, self.half[rows].astype(np.float64)

    def take(self, rows):
        return self.half[rows].astype(np.float64)
"""

USE_MATRIX = """
from privfit.engine.layouts.compressed import Compressed
from privfit.engine.problem import Problem
from privfit.losses import get_loss
coarse = X.astype(np.float16).astype(np.float64)
w, signs = np.ones(4), np.where(y, 1.0, -1.0)
expected = Problem.of(coarse, signs, get_loss("hinge")).at(w).gradient_sum(1.0)
assert np.array_equal(Problem.of(Compressed(X), signs, get_loss("hinge")).at(w).gradient_sum(1.0), expected)
"""

SOFTMAX = """
import math
from privfit.losses.arithmetic import compilable, exp
from privfit.losses.loss import Loss
from privfit.losses.targets import Classes

@compilable
def largest(predictions):
    return max(max(predictions[0], predictions[1]), predictions[2])

@compilable
def total(predictions):
    top = largest(predictions)
    return exp(predictions[0] - top) + exp(predictions[1] - top) + exp(predictions[2] - top)

@compilable
def value(predictions, target):
    return math.log(total(predictions)) + largest(predictions) - predictions[int(target)]

@compilable
def derivative(predictions, target, out):
    top, whole = largest(predictions), total(predictions)
    for output in range(3):
        out[output] = exp(predictions[output] - top) / whole - (output == target)

SOFTMAX = Loss(
    "toy_softmax", value, derivative, math.sqrt(2.0), smoothness=0.5, targets=Classes(3), outputs=3
)
"""

USE_SOFTMAX = """
import scipy.sparse as sp
from scipy.special import logsumexp, softmax
from privfit.accounting import Ledger
from privfit.accounting.relation import ONE_RECORD
from privfit.curator import Curator
from privfit.engine.problem import Problem
from privfit.losses import get_loss
from privfit.mechanisms.noise import noise_source
from privfit.questions import Gradient, GradientAt, LossesAlong
rng = np.random.default_rng(1)
target, w, direction = rng.integers(0, 3, 2000), rng.normal(size=(4, 3)), rng.normal(size=(4, 3))
Z = np.column_stack([X, np.ones(2000)])

def written_out(w, clip, weights=1.0):
    coefficients = (softmax(Z @ w, axis=1) - np.eye(3)[target]) * np.reshape(weights, (-1, 1))
    shares = Z[:, :, None] * coefficients[:, None, :]
    norms = np.linalg.norm(shares, axis=(1, 2))
    return (shares * np.minimum(1.0, clip / norms)[:, None, None]).sum(axis=0)

def summed_losses(w, clip):
    return np.minimum(logsumexp(Z @ w, axis=1) - (Z @ w)[np.arange(2000), target], clip).sum()

weights = rng.random(2000)
for form in (np.asarray, sp.csr_array):
    problem = Problem.of(form(X), target, get_loss("toy_softmax"))
    assert np.allclose(problem.at(w).gradient_sum(), written_out(w, np.inf), rtol=0, atol=1e-9)
    assert np.allclose(problem.at(w).gradient_sum(0.5), written_out(w, 0.5), rtol=0, atol=2000 * 2.0**-22)
    line = problem.at(w).along(direction)
    losses = [summed_losses(w - step * direction, 3.0) for step in (0.0, 0.1, 0.2)]
    assert np.allclose(line.loss_sums(0.1, 2, 3.0), losses, rtol=0, atol=2000 * 2.0**-19)
    there = written_out(w - 0.1 * direction, np.inf)
    assert np.allclose(line.move(0.1).gradient_sum(), there, rtol=0, atol=1e-9)

    heavier = Problem.of(form(X), target, get_loss("toy_softmax"), weights=weights)
    found = heavier.gradient_at(w, np.inf)
    assert np.allclose(found, written_out(w, np.inf, weights), rtol=0, atol=1e-9)

    for record in (X[0], 1e6 * X[1], 0.0 * X[2]):
        lengths = []
        for label in range(3):
            more = Problem.of(form(np.vstack([X, record])), np.append(target, label), get_loss("toy_softmax"))
            lengths.append(np.linalg.norm(more.gradient_at(w, 0.5) - problem.gradient_at(w, 0.5)))
        assert 0.4999 < max(lengths) <= problem.gradient_bound(0.5) < 0.5001, lengths

    for noise in (noise_source(0), noise_source(None)):
        curator = Curator(problem, Ledger(rho=1e9), noise, epsilon=1.0, delta=1e-6, relation=ONE_RECORD)
        measured = curator.measure(GradientAt(w, 0.5), 1e7)
        assert measured.sensitivity == problem.gradient_bound(0.5)
        assert np.allclose(measured.value, written_out(w, 0.5), rtol=0, atol=1e-2)
        point = curator.at(w)
        assert curator.measure(Gradient(0.5), 1e7, of=point).value.shape == (4, 3)
        uphill = curator.along(point, -written_out(w, np.inf))
        assert curator.choose(LossesAlong(np.linspace(0.0, 1e-3, 3), 3.0), 1e7, of=uphill) == [0]
"""

PENALTY = """
from dataclasses import dataclass
import numpy as np
from privfit.penalties.convex_set import ConvexSet

@dataclass(frozen=True)
class NonPositive(ConvexSet):
    is_cone, described = True, "no weight is positive"

    def holds(self, w):
        return bool(np.all(w <= 0.0))

    def nearest(self, w, metric):
        return w if self.holds(w) else np.minimum(w, 0.0)  # the nearest in every diagonal metric

    def scaled(self, factor):
        return self
"""

USE_PENALTY = """
from privfit.accounting import Ledger
from privfit.accounting.relation import ONE_RECORD
from privfit.curator import Curator
from privfit.engine.problem import Problem
from privfit.losses import get_loss
from privfit.mechanisms.noise import noise_source
from privfit.penalties import Within
from privfit.penalties.non_positive import NonPositive
from privfit.solvers import get_solver
problem = Problem.of(X * [-1, 1, 1], np.where(X[:, 0] + X[:, 1] > 0, 1.0, -1.0), get_loss("logistic"))
penalty = Within(0.01, constraint=NonPositive())
facts = {"epsilon": 1.0, "delta": 1e-6, "relation": ONE_RECORD, "penalty": penalty}
curator = Curator(problem, Ledger(rho=100.0), noise_source(0), **facts)
w = get_solver("gradient-descent").solve(curator).w
assert w[0] < -1.0 and w[1] == 0.0 and w[2] <= 0.0
try:
    get_solver("newton").solve(Curator(problem, Ledger(rho=100.0), noise_source(0), **facts))
except ValueError as refusal:
    assert "no constraint set" in str(refusal)
else:
    raise AssertionError("newton ignored the set")
"""

INTERVAL_LOSS = """
from privfit.losses.arithmetic import compilable
from privfit.losses.loss import Loss
from privfit.losses.targets import Interval

@compilable
def value(prediction, target):
    residual = abs(prediction - target)
    return 0.5 * residual * residual if residual < 0.3 else 0.3 * (residual - 0.15)

@compilable
def derivative(prediction, target):
    return max(-0.3, min(0.3, prediction - target))

def link(mean):
    return mean

HUBER = Loss("toy_huber", value, derivative, lipschitz=0.3, smoothness=1.0, targets=Interval(), link=link)
"""

ESTIMATOR = """
from privfit.estimators.regression import LinearRegressor

class DPToyRegressor(LinearRegressor):
    _loss, _kind, _title = "toy_huber", "toy", "Toy regression"
"""

USE_ESTIMATOR = """
import tempfile
from pathlib import Path
import privfit
from privfit.cli.models import kinds
from privfit.models.registry import MODELS
DPToyRegressor = MODELS["toy"].estimator  # found without a line elsewhere
assert "toy" in kinds()
targets = 50.0 + 10.0 * X[:, 0]
model = DPToyRegressor(20.0, target_bounds=(0.0, 100.0), feature_bounds=(-4.0, 4.0)).fit(X, targets)
assert model.score(X, targets) > 0.8
path = Path(tempfile.mkdtemp()) / "model.json"
model.save(path)
loaded = privfit.load(path)
assert type(loaded) is DPToyRegressor and np.array_equal(loaded.predict(X), model.predict(X))
"""

# What is added, the files it takes, and a program that uses it.
ADDITIONS = {
    "a loss": ({"losses/squared_hinge.py": LOSS}, USE_LOSS),
    "several outputs": ({"losses/toy_softmax.py": SOFTMAX}, USE_SOFTMAX),
    "a solver": (
        {"solvers/one_step.py": SOLVER, "solvers/__init__.py": "from privfit.solvers import one_step"},
        USE_SOLVER,
    ),
    "an estimator": ({"estimators/toy.py": ESTIMATOR}, USE_ESTIMATOR),
    "a question": ({"questions/positives.py": QUESTION}, USE_QUESTION),
    "a constraint set": ({"penalties/non_positive.py": PENALTY}, USE_PENALTY),
    "a matrix": ({"engine/layouts/compressed.py": MATRIX}, USE_MATRIX),
}

# What an addition uses that is an addition of its own.
BESIDES = {"an estimator": {"losses/toy_huber.py": INTERVAL_LOSS}}

# What runs over every loss, whichever there are.
LOSS_TESTS = (
    "tests/test_losses.py",
    "tests/contracts/test_engine_contract.py",
    "tests/contracts/test_view_contract.py",
)

BEFORE = """
import warnings
import numpy as np
warnings.simplefilter("ignore")
from privfit import DPLogisticRegression
X = np.random.default_rng(0).normal(size=(2000, 3))
y = X[:, 0] > 0
"""


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Add everything to one copy, because what is compiled anew for a copy takes longer than all else."""
    place = tmp_path_factory.mktemp("copy")
    copy = place / "privfit"
    shutil.copytree(ROOT / "src" / "privfit", copy, ignore=shutil.ignore_patterns("__pycache__"))
    for files in (*(files for files, _ in ADDITIONS.values()), *BESIDES.values()):
        for name, text in files.items():
            with (copy / name).open("a") as file:
                file.write(f"\n{text}\n")
    return os.environ | {"PYTHONPATH": str(place), "NUMBA_CACHE_DIR": str(place / "cache")}


@pytest.mark.slow
@pytest.mark.parametrize("what", ADDITIONS)
def test_an_addition_works_and_takes_as_many_files_as_is_said(what: str, environment: dict[str, str]) -> None:
    files, program = ADDITIONS[what]
    page = (ROOT / "docs" / "architecture.md").read_text()
    (said,) = re.findall(rf"^\| {what}\b[^|]*\| (\d) \|", page, re.MULTILINE)
    assert int(said) == len(files)
    subprocess.run([sys.executable, "-c", BEFORE + program], env=environment, check=True)


@pytest.mark.slow
def test_a_loss_that_was_added_is_found_by_the_tests_of_losses(environment: dict[str, str]) -> None:
    """In one layout, because each takes its time to compile."""
    some = "squared_hinge and not f32 and not csr and not dense_f"
    command = [sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider", "-k", some, *LOSS_TESTS]
    ran = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout
    assert set(re.findall(r"^(tests/\S+?)::.* PASSED", ran.stdout, re.MULTILINE)) == set(LOSS_TESTS)
