"""What is left to run: commands that work, and fewer fits as rows come in."""

import re
import shlex
import sys
from itertools import pairwise

import pytest

from privfit.cli.reproduce import What
from privfit.experiments.claims import CLAIMS, Evidence
from privfit.experiments.claims.plan import PLAN, Part, left_to_run
from privfit.experiments.fit import Outcome
from privfit.experiments.results import Results

COMMAND = sys.modules["privfit.cli.reproduce"]
GAMMA = Part(what="gamma", algorithms=("dpagd",), repeats=1)


@pytest.mark.parametrize("part", PLAN, ids=lambda part: part.command)
def test_a_command_runs_the_fits_that_are_listed(part):
    program, command, what, *options = shlex.split(part.command)
    assert (program, command) == ("privfit", "reproduce")
    assert "--replace" in options
    repeats = None if "--full" in options else int(options[options.index("--repeats") + 1])
    algorithms = [name for option, name in pairwise(options) if option == "--algorithm"]
    assert repeats == part.repeats
    cells = COMMAND._cells(COMMAND._names(What(what)), (), algorithms, (), repeats)
    assert {cell for cell in cells if cell.dataset != "ipums-us"} == set(part.cells())
    assert set(part.decides) <= set(CLAIMS)
    assert part.decides or part.why


def test_rows_with_a_fingerprint_are_not_run_again_and_their_time_is_that_of_the_others(
    tmp_path, monkeypatch
):
    monkeypatch.setattr("privfit.experiments.claims.plan.PLAN", (GAMMA,))
    cells = list(GAMMA.cells())
    results = Results(tmp_path / "gamma.csv", seed=1)
    new, old = (Outcome(0.8, 0.5, 60.0, 10, 1000, fingerprint=stamp) for stamp in ("abc", ""))
    with results.appending():
        for cell in cells[:30]:
            results.append(cell, new)
        for cell in cells[30:40]:
            results.append(cell, old)
    (line,) = left_to_run(Evidence(tmp_path, seed=1)).splitlines()[2:]
    left = len(cells) - 30
    assert re.fullmatch(rf"\| `{GAMMA.command}` \|  \| {left} \| {left} \|", line)
