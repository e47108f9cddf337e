"""The tests of an engine's contract run over pairs of layouts, losses and their own values, not over all."""

from __future__ import annotations

import pytest
from engine_cases import ENGINES, LAYOUTS, Case, ViewCase, tier
from one_output import LOSSES
from pairwise import pairwise

from privfit.engine.layouts import mapped


@pytest.fixture(autouse=True)
def several_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut small tables in files into several blocks, as large ones are."""
    monkeypatch.setattr(mapped, "BLOCK_BYTES", 2**10)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run every test over its cases: any two of layout, loss, intercept and the test's own values meet."""
    kind = next((name for name in ("case", "view_case") if name in metafunc.fixturenames), None)
    if kind is None:
        return
    own = vars(metafunc.function).get("own_values", {})
    intercepts = {"intercept": True} if kind == "view_case" else {"intercept": True, "no_intercept": False}
    cases = pairwise([[*ENGINES], [*LAYOUTS], [*LOSSES], [*intercepts], *own.values()])
    metafunc.parametrize(
        (kind, *own),
        [
            pytest.param(
                (engine, layout, loss, intercepts[intercept]),
                *values,
                id="-".join(map(str, names)),
                marks=tier(layout, loss),
            )
            for names in cases
            for engine, layout, loss, intercept, *values in [names]
        ],
        indirect=[kind],
    )


@pytest.fixture
def case(request: pytest.FixtureRequest) -> Case:
    return Case(*request.param)


@pytest.fixture
def view_case(request: pytest.FixtureRequest) -> ViewCase:
    return ViewCase(*request.param)
