"""What holds for every test: one hypothesis profile, kernels compiled once, three tiers of tests."""

from __future__ import annotations

import hashlib
import itertools
import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import more_examples
import numpy as np
import postgres_server
import pytest
import seed_shift
from chromium import browser  # noqa: F401 because fixtures are found here by their names
from hypothesis import HealthCheck, settings

SOURCES = Path(__file__).parents[1] / "src"

# Examples are the same in every run, so a failure is the code's and not the day's. There is no deadline,
# because a first call compiles; and a busy machine is no reason to fail.
settings.register_profile(
    "privfit", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("privfit")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add what the deep tests need, and the option that shows which tests hold by their seed only."""
    parser.addoption("--seed-shift", type=int, default=0, help="draw other numbers from every seed")
    parser.addoption("--more-examples", type=int, default=1, help="multiply the examples of hypothesis")
    parser.addoption("--deep", action="store_true", help="run the tests marked `deep`, and no others")


def pytest_configure(config: pytest.Config) -> None:
    """Shift seeds before any test module is imported, because some draw their tables then."""
    if shift := config.getoption("--seed-shift"):
        np.random.default_rng = seed_shift.shifted(np.random.default_rng, shift)
    if (times := config.getoption("--more-examples")) > 1:
        more_examples.multiply(times)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Run deep tests, which take hours, only where they are asked for."""
    left_out = [item for item in items if is_deep(item) != config.getoption("--deep")]
    if left_out:
        items[:] = [item for item in items if is_deep(item) == config.getoption("--deep")]
        config.hook.pytest_deselected(items=left_out)


def is_deep(item: pytest.Item) -> bool:
    """Return whether a test is of the deepest tier."""
    return item.get_closest_marker("deep") is not None


def pytest_sessionstart(session: pytest.Session) -> None:
    """Compile once what several workers would otherwise compile at the same time; they load it from disk."""
    config = session.config
    starts_workers = getattr(config.option, "dist", "no") != "no" and not hasattr(config, "workerinput")
    sources = hashlib.sha256(
        b"".join(path.read_bytes() for path in sorted(SOURCES.rglob("*.py")))
    ).hexdigest()
    cache = getattr(config, "cache", None)
    if starts_workers and (cache is None or cache.get("privfit/compiled", None) != sources):
        compile_kernels()
        if cache is not None:
            cache.set("privfit/compiled", sources)


def compile_kernels() -> None:
    """Fit a few records in every form, with solvers that between them ask every question."""
    from scipy import sparse

    from privfit import DPLinearSVC, DPLogisticRegression

    X, y = np.eye(6)[np.arange(40) % 6], np.arange(40) % 2
    forms = (np.asarray, np.float32, sparse.csr_matrix, lambda X: sparse.csr_matrix(X.astype(np.float32)))
    solvers = ("adaptive", "dpagd", "dpagd-modern", "objective-perturbation")
    for model, form, solver in itertools.product((DPLogisticRegression, DPLinearSVC), forms, solvers):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model(100.0, solver=solver, classes=(0, 1)).fit(form(X), y)


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """Run a real server; where none is installed, skip and say how, or fail if the tests are about it."""
    binaries = postgres_server.find_binaries()
    if binaries is None:
        (pytest.fail if os.environ.get("PRIVFIT_NEEDS_POSTGRES") else pytest.skip)(
            postgres_server.HOW_TO_INSTALL
        )
    with postgres_server.running_server(binaries) as url:
        yield url


LEFT_OUT = pytest.StashKey[dict[str, int]]()


def pytest_deselected(items: list[pytest.Item]) -> None:
    """Count slow and deep tests that are left out; workers, which all see the same, tell the controller."""
    config = items[0].config
    counts = config.stash.setdefault(LEFT_OUT, {"slow": 0, "deep": 0})
    for tier in counts:
        counts[tier] += sum(item.get_closest_marker(tier) is not None for item in items)
    if hasattr(config, "workeroutput"):
        config.workeroutput["left_out"] = counts


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Hear of it from a worker."""
    node.config.stash[LEFT_OUT] = getattr(node, "workeroutput", {}).get("left_out", {})


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say what was left out, and how to run it."""
    if config.getoption("--deep"):
        return
    for tier, command in (("slow", "make test-all"), ("deep", "make test-deep")):
        if left_out := config.stash.get(LEFT_OUT, {}).get(tier, 0):
            terminalreporter.write_line(f"Left out: {left_out} {tier} tests; `{command}` runs them.")
