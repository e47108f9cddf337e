"""What holds for every test: one hypothesis profile, three tiers of tests."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

# Before numpy is imported, here and by the workers: with as many threads as cores in every process, those of
# one process mostly wait for the others, busily.
os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"))

import more_examples
import numpy as np
import postgres_server
import pytest
import seed_shift
from chromium import browser  # noqa: F401 because fixtures are found here by their names
from hypothesis import HealthCheck, settings
from repeatable_noise import RepeatableKeys

# Examples are the same in every run, so a failure is the code's and not the day's. There is no deadline,
# because a first call compiles; and a busy machine is no reason to fail.
settings.register_profile(
    "privfit", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("privfit")


KEYS = pytest.StashKey[RepeatableKeys]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add what the deep tests need, and the option that shows which tests hold by their seed only."""
    parser.addoption("--seed-shift", type=int, default=0, help="draw other numbers from every seed")
    parser.addoption("--more-examples", type=int, default=1, help="multiply the examples of hypothesis")
    parser.addoption(
        "--examples", type=int, default=0, help="let hypothesis try so many examples of each test"
    )
    parser.addoption("--deep", action="store_true", help="run the tests marked `deep`, and no others")


def pytest_configure(config: pytest.Config) -> None:
    """Shift seeds before any test module is imported, because some draw their tables then."""
    if shift := config.getoption("--seed-shift"):
        np.random.default_rng = seed_shift.shifted(np.random.default_rng, shift)
    config.stash[KEYS] = RepeatableKeys(shift)
    config.stash[KEYS].install()
    if (times := config.getoption("--more-examples")) > 1:
        more_examples.multiply(times)
    if count := config.getoption("--examples"):
        more_examples.try_exactly(count)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Repeat the secure noise of a test."""
    with item.config.stash[KEYS].of(item.nodeid):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: Any, request: pytest.FixtureRequest) -> Iterator[None]:
    """Repeat that of a fixture, whichever test needs it first."""
    with request.config.stash[KEYS].of(f"{fixturedef.baseid}|{fixturedef.argname}|{request.param_index}"):
        return (yield)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Run deep tests, which take hours, only where they are asked for."""
    left_out = [item for item in items if is_deep(item) != config.getoption("--deep")]
    if left_out:
        items[:] = [item for item in items if is_deep(item) == config.getoption("--deep")]
        config.hook.pytest_deselected(items=left_out)


def is_deep(item: pytest.Item) -> bool:
    """Return whether a test is of the deepest tier."""
    return item.get_closest_marker("deep") is not None


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
