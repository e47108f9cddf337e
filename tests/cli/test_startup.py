"""What starting costs, as what is loaded: that is the same on every machine, and times are not.

`benchmarks/startup.py` measures the times.
"""

import subprocess
import sys

import pytest

import privfit

HEAVY = {"numba", "llvmlite", "opendp", "dp_accounting", "matplotlib", "sqlalchemy", "psycopg"}
NUMERICAL = {"numpy", "scipy", "sklearn", "pandas"}  # what scikit-learn itself brings
CALL = """
from typer.testing import CliRunner
from privfit.cli import app
assert CliRunner().invoke(app, {}).exit_code == 0
"""


def loaded_by(program):
    """Return the packages that a fresh process has loaded after the program."""
    report = "\nimport sys; print(*{name.split('.')[0] for name in sys.modules})"
    done = subprocess.run(
        [sys.executable, "-c", program + report], stdout=subprocess.PIPE, text=True, check=True
    )
    return set(done.stdout.split())


@pytest.mark.parametrize(
    "program",
    [
        "import privfit; dir(privfit); privfit.__version__",
        CALL.format(["--help"]),
        CALL.format(["--version"]),
        CALL.format(["demo", "--help"]),
        CALL.format(["reproduce", "--help"]),
        *(CALL.format([*command.split(), "--help"]) for command in ("train", "evaluate", "ledger open")),
    ],
)
def test_nothing_numerical_is_loaded_before_it_is_needed(program):
    assert not loaded_by(program) & (HEAVY | NUMERICAL)


def test_estimators_bring_scikit_learn_and_neither_compiler_nor_samplers():
    program = """
from privfit import *
from sklearn.base import clone
repr(clone(DPLogisticRegression(solver="dpagd")))
import privfit.curator, privfit.datasets, privfit.preprocessing, privfit.solvers
"""
    assert not loaded_by(program) & HEAVY


def test_secure_noise_has_its_sampler_before_the_first_draw_and_seeded_noise_needs_none():
    program = """
import sys
from privfit.mechanisms.noise import noise_source
noise_source(0)
assert "cryptography" not in sys.modules
noise_source(None)
"""
    assert "cryptography" in loaded_by(program)


@pytest.mark.parametrize("first", ["numba", pytest.param("privfit.losses", marks=pytest.mark.slow)])
def test_compiled_code_can_call_a_loss_whichever_of_the_two_came_first(first):
    program = f"""
import {first}
import privfit.engine.kernels.fused
from numba import njit
from privfit.losses.arithmetic import compilable
from privfit.losses.logistic import LOGISTIC
value = LOGISTIC.value
assert abs(njit(lambda p: value(p, 1.0))(0.5) - value(0.5, 1.0)) < 1e-14
@compilable
def declared_late(m):
    return 2.0 * m
assert njit(lambda m: declared_late(m))(0.5) == 1.0
"""
    assert "numba" in loaded_by(program)


def test_every_public_name_is_found_and_listed():
    for name in (*privfit.__all__, "accounting", "datasets", "estimators", "preprocessing", "solvers"):
        assert getattr(privfit, name) is not None
        assert name in dir(privfit)
    from privfit.estimators import DPLinearSVC

    assert privfit.DPLinearSVC is DPLinearSVC
    with pytest.raises(AttributeError, match="module 'privfit' has no attribute 'DPLasso'"):
        privfit.DPLasso  # noqa: B018
