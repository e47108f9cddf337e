"""A chart of an audit: the claimed epsilon, its proven lower bound, and that of the control."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from privfit.auditing.run import Finding


def draw(findings: Sequence[Finding], path: Path) -> None:
    """Draw the findings, one line each.

    Parameters
    ----------
    findings : sequence of Finding
        The findings of the audit.
    path : Path
        The file; its ending names the format.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.0, 1.2 + 0.22 * len(findings)), layout="constrained")
    axes = figure.subplots()
    lines = range(len(findings), 0, -1)
    for line, each in zip(lines, findings, strict=True):
        axes.plot([0.0, each.control_epsilon], [line, line], color="0.85", linewidth=1.0, zorder=1)
    axes.scatter(
        [each.claimed_epsilon for each in findings], lines, marker="|", s=90, color="black", label="claimed"
    )
    axes.scatter([each.proven_epsilon for each in findings], lines, s=18, color="#0072b2", label="proven")
    axes.scatter(
        [each.control_epsilon for each in findings],
        lines,
        s=22,
        facecolors="none",
        edgecolors="#d55e00",
        label="proven of the control, which has too little noise",
    )
    axes.set_yticks(list(lines), [each.name for each in findings], fontsize=8)
    axes.set_xlabel("epsilon at delta = 0.05")
    axes.set_xlim(left=0.0)
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside upper center", ncols=3, frameon=False, fontsize=8)
    figure.savefig(path, dpi=150)
