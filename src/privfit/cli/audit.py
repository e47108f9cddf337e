"""`privfit audit`: attack privfit and compare the lower bounds on epsilon with the claimed values."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from privfit.cli.files import check_outputs, replacing
from privfit.cli.guard import Mistake
from privfit.cli.options import Json
from privfit.cli.output import columns, progress, show, wrapped

if TYPE_CHECKING:
    from privfit.auditing import Finding


def audit(
    names: Annotated[
        list[str] | None,
        typer.Argument(help="Audit only items whose name or kind contains one of these; by default all."),
    ] = None,
    runs: Annotated[
        int, typer.Option(min=100, help="Runs on each of the two neighbouring tables, for each attack.")
    ] = 600,
    jobs: Annotated[int, typer.Option(min=1, help="Processes, one core each.")] = 2,
    plot: Annotated[
        Path | None, typer.Option(help="Also write a chart to this file (.png, .svg, .pdf).", dir_okay=False)
    ] = None,
    as_json: Json = False,
) -> None:
    """Attack privfit's own algorithms to test their privacy claims.

    Each mechanism, question, solver, score and interval runs many times on two neighbouring tables: one with
    and one without a hostile record. An attacker who knows both tables, and sees everything that is released,
    guesses which table was used. The attacker's success proves a lower bound on epsilon, which must not
    exceed the claimed epsilon. As a control, each attack is repeated on a version with too little noise, and
    has to detect it. This reads none of your data, and takes some minutes.

    The exit code is 1 if a lower bound exceeds its claim, or if a control is not detected.

    Example: privfit audit "Gaussian noise" newton --runs 200
    """
    check_outputs(plot)
    if plot is not None and find_spec("matplotlib") is None:
        raise Mistake("A chart needs matplotlib; install it with: pip install 'privfit[report]'")
    from privfit.auditing.run import ALPHA, attack, catalogue

    known = catalogue()
    chosen = [
        name
        for name, case in known.items()
        if not names or any(word in name or word == case.kind for word in names)
    ]
    if not chosen:
        raise Mistake(f"No audited item has such a name; these exist: {', '.join(known)}.")
    with progress("Attacking") as tick:
        tick(0, len(chosen))
        found = attack(
            chosen, runs=runs, jobs=jobs, on_finding=lambda finding, done, total: tick(done, total)
        )
    if plot is not None:
        from privfit.auditing.chart import draw

        with replacing(plot) as file:
            draw(found, file)
    facts = {"false_alarm_rate": ALPHA, "runs": runs, "findings": [each.to_dict() for each in found]}
    show(facts, _text(found, ALPHA), as_json=as_json)
    if not all(each.holds and each.can_fail for each in found):
        raise typer.Exit(1)


def _text(found: list[Finding], alpha: float) -> str:
    heading = ("audited", "claimed", "proven", "control", "mu", "shift", "verdict")
    rows = [
        (
            each.name,
            f"{each.claimed_epsilon:.2f}",
            f"{each.proven_epsilon:.2f}",
            f"{each.control_epsilon:.2f}",
            f"{each.claimed_mu:.2f}",
            f"{each.shift:.2f}",
            each.verdict,
        )
        for each in found
    ]
    meaning = (
        "Claimed, proven and control are epsilons at delta = 0.05: the claimed epsilon, the lower bound that "
        "the attack proves, and the lower bound for a version with too little noise, which has to exceed the "
        "claim. The shift says by how many standard deviations the hostile record moves what the attacker "
        "sees. mu is the largest shift that Gaussian noise of the same price would allow. If privfit is "
        f"correct, the probability that any lower bound exceeds its claim is at most {alpha:g}. If a control "
        "is not detected, there were too few runs: raise --runs."
    )
    return f"{columns([heading, *rows])}\n\n{wrapped(meaning)}"
