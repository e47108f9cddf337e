"""The pictures of docs/performance.md, made from the file of rows alone.

They name the file of rows by its digest, so that a test notices a picture that is older than the rows.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

from performance import rows
from performance.page import PRIVFIT, SKLEARN, picture
from performance.rows import Results
from privfit.experiments.styles import LOOKS, adapt_to_dark_paper

FOLDER = Path(__file__).parents[2] / "docs" / "pictures"
STYLE = {
    **LOOKS,
    "svg.hashsalt": "privfit",  # so that equal rows give equal files
    "font.family": "sans-serif",
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "legend.frameon": False,
}
BLUE, ORANGE = "#0072b2", "#c04a00"


def digest(path: Path = rows.PATH) -> str:
    """Return the digest of the rows, which a picture contains."""
    return f"rows: sha256 {hashlib.sha256(path.read_bytes()).hexdigest()}"


def _points(results: Results, section: str, quantity: str) -> tuple[list[float], list[float]]:
    found = [
        (float(case.replace(",", "")), value)
        for case in results.cases(section)
        if (value := results.value(section, case, quantity)) is not None
    ]
    return [x for x, _ in found], [y for _, y in found]


def growth(results: Results, figure: Any) -> None:
    """Draw seconds of fits over records, columns, density and classes."""
    from matplotlib.ticker import NullFormatter

    panels = {
        "records": "records, of 40 columns",
        "columns": "columns, of 100,000 records",
        "density": "share of entries that are not zero, 100,000 x 1,000",
        "classes": "classes, 200,000 x 50",
    }
    for axes, (section, label) in zip(figure.subplots(2, 2).flat, panels.items(), strict=True):
        for quantity, colour, name in (
            (PRIVFIT, BLUE, "privfit"),
            (SKLEARN, ORANGE, "scikit-learn, not private"),
        ):
            axes.loglog(*_points(results, section, quantity), "o-", color=colour, label=name)
        axes.set_xlabel(label)
        axes.set_ylabel("seconds of a fit")
        axes.yaxis.set_minor_formatter(NullFormatter())
        axes.xaxis.set_minor_formatter(NullFormatter())
        if section == "classes":  # too few for powers of ten
            counts = _points(results, section, PRIVFIT)[0]
            axes.set_xticks(counts, [f"{count:g}" for count in counts])
    figure.axes[0].legend()


def passes(results: Results, figure: Any) -> None:
    """Draw the time of one pass for each record."""
    axes = figure.subplots()
    records, times = _points(results, "records", "one pass, ms")
    axes.semilogx(records, [1e6 * time / n for n, time in zip(records, times, strict=True)], "o-", color=BLUE)
    axes.set_ylim(bottom=0)
    axes.set_xlabel("records, of 40 columns")
    axes.set_ylabel("nanoseconds per record")


def fits(results: Results, figure: Any) -> None:
    """Draw the times of secure fits and of scikit-learn's fits."""
    axes = figure.subplots()
    cases = results.cases("fits")
    ratios = [results.ratio("fits", case, PRIVFIT, SKLEARN) or 0.0 for case in cases]
    axes.barh(cases[::-1], ratios[::-1], color=BLUE, height=0.6)
    axes.axvline(1.0, color=ORANGE)
    axes.set_xlabel("time of a private fit, in fits of scikit-learn without privacy")


CHARTS: dict[str, tuple[Callable[[Results, Any], None], tuple[float, float]]] = {
    "bench-fits.svg": (fits, (8.0, 2.4)),
    "bench-growth.svg": (growth, (8.0, 6.0)),
    "bench-passes.svg": (passes, (8.0, 3.0)),
}


def draw(results: Results) -> None:
    """Write the pictures whose sections were measured."""
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(STYLE):
        for name, (make, size) in CHARTS.items():
            if not picture(results, name):
                (FOLDER / name).unlink(missing_ok=True)
                continue
            figure = Figure(figsize=size, layout="constrained")
            make(results, figure)
            written = io.StringIO()
            figure.savefig(written, format="svg", metadata={"Date": None, "Creator": None})
            text = adapt_to_dark_paper(written.getvalue())
            lines = "\n".join(line.rstrip() for line in text.splitlines())
            (FOLDER / name).write_text(f"{lines}\n<!-- {digest()} -->\n", encoding="utf-8")
