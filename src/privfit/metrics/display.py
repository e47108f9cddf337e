"""Scores as a small table, in text and in HTML. All numbers in it were released."""

from __future__ import annotations

from html import escape

from privfit.metrics.scores import Score
from privfit.report.titles import score_title


def as_text(scores: dict[str, Score], promised: str) -> str:
    """Return a line for each score, with its interval and the errors from noise and from bins."""
    width = max(len(score_title(name)) for name in scores)
    lines = [f"{score_title(name):<{width}}  {score}" for name, score in scores.items()]
    return "\n".join([f"{_CAPTION}.", f"Price: {promised}.", *lines])


def as_html(scores: dict[str, Score], promised: str) -> str:
    """Return the same as a table for notebooks and reports, without styles of its own."""
    rows = "".join(
        f'<tr><th scope="row">{escape(score_title(name))}</th>'
        f"<td>{f'{score.value:.3f}' if score.known else 'unknown'}</td>"
        f"<td>{score.interval[0]:.3f} to {score.interval[1]:.3f}</td>"
        f"<td>±{score.noise:.3f}</td><td>±{score.binning:.3f}</td></tr>"
        for name, score in scores.items()
    )
    heads = "".join(f'<th scope="col">{head}</th>' for head in ("Score", "Value", "95%", "Noise", "Bins"))
    return (
        f"<table><caption>{_CAPTION}. Price: {escape(promised)}</caption>"
        f"<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"
    )


_CAPTION = "Private scores on held-out records, with 95% intervals"
