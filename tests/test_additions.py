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
from privfit.curator import Curator
from privfit.engine.table import Table
from privfit.mechanisms.noise import noise_source
from privfit.questions.positives import Positives
for form in (X, sp.csr_matrix(X)):
    curator = Curator(Table(form), Ledger(rho=1e6), noise_source(0), epsilon=1.0, delta=1e-6)
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

# What is added, the files it takes, and a program that uses it.
ADDITIONS = {
    "a loss": ({"losses/squared_hinge.py": LOSS}, USE_LOSS),
    "a solver": (
        {"solvers/one_step.py": SOLVER, "solvers/__init__.py": "from privfit.solvers import one_step"},
        USE_SOLVER,
    ),
    "a question": ({"questions/positives.py": QUESTION}, USE_QUESTION),
    "a matrix": ({"engine/layouts/compressed.py": MATRIX}, USE_MATRIX),
}

BEFORE = """
import warnings
import numpy as np
warnings.simplefilter("ignore")
from privfit import DPLogisticRegression
X = np.random.default_rng(0).normal(size=(2000, 3))
y = X[:, 0] > 0
"""


@pytest.mark.slow
@pytest.mark.parametrize("what", ADDITIONS)
def test_an_addition_works_and_takes_as_many_files_as_is_said(what: str, tmp_path: Path) -> None:
    files, program = ADDITIONS[what]
    page = (ROOT / "docs" / "architecture.md").read_text()
    (said,) = re.findall(rf"^\| {what}\b[^|]*\| (\d) \|", page, re.MULTILINE)
    assert int(said) == len(files)
    copy = tmp_path / "privfit"
    shutil.copytree(ROOT / "src" / "privfit", copy, ignore=shutil.ignore_patterns("__pycache__"))
    for name, text in files.items():
        with (copy / name).open("a") as file:
            file.write(f"\n{text}\n")
    environment = os.environ | {"PYTHONPATH": str(tmp_path), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    subprocess.run([sys.executable, "-c", BEFORE + program], env=environment, check=True)
