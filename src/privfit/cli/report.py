"""`privfit report`: write a page about a model."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Annotated, Any

import typer

from privfit.cli.files import check_outputs, replacing
from privfit.cli.guard import Mistake
from privfit.cli.options import Json, Model
from privfit.cli.output import show
from privfit.cli.tables import read_model


def report(
    model: Model,
    out: Annotated[Path, typer.Option(help="File to write the page to.", dir_okay=False)],
    scores: Annotated[
        Path | None, typer.Option(help="Scores that `privfit evaluate --out` wrote.", dir_okay=False)
    ] = None,
    title: Annotated[str | None, typer.Option(help="The heading of the page.")] = None,
    card: Annotated[
        Path | None,
        typer.Option(help='A TOML file with fields of a model card: "Intended use" = "...".', dir_okay=False),
    ] = None,
    as_json: Json = False,
) -> None:
    """Write a page about a model for the people who use it.

    The page is one HTML file, which any browser shows without a network. It has the privacy guarantee in
    plain words and what it means for one person or record, the data set, the date and the ledger, what the
    privacy budget was spent on, the weights, and the scores if there are any.

    Example: privfit report model.json --scores scores.json --out card.html
    """
    check_outputs(out, inputs=(model, scores, card))
    fitted = read_model(model)
    from privfit.report import render

    page = render(
        fitted.published(),
        scores=None if scores is None else _scores(scores),
        title=title,
        card=None if card is None else _fields(card),
    )
    with replacing(out) as file:
        file.write_text(page, encoding="utf-8")
    show({"report": str(out)}, f"The page is in {out}.", as_json=as_json)


def _scores(path: Path) -> dict[str, Any]:
    from privfit.accounting.composition import composed
    from privfit.report.summary import origin_of, promise_of

    try:
        written = json.loads(path.read_text(encoding="utf-8"))
        scores = {name: held for name, held in written.items() if "value" in held}
        privacy = written["privacy"]
        if not scores or not isinstance(privacy["text"], str):
            raise KeyError
        for score in scores.values():
            for low, high in (score["interval"], score["population"]):
                if not all(map(math.isfinite, map(float, (low, high, score["value"])))):
                    raise ValueError
        by_class = {name: written[name] for name in ("recall", "precision") if name in written}
        for shares in by_class.values():
            columns = [[float(share) for share in shares[part]] for part in ("values", "low", "high")]
            if {len(column) for column in columns} != {len(written["recall"]["labels"])}:
                raise ValueError
        counts = written.get("confusion_matrix", {})
        matrix = {"confusion_matrix": {"labels": list(counts["labels"])}} if "labels" in counts else {}
        promise, _ = promise_of(privacy), origin_of(privacy)
        if promise is not None:
            composed([promise, promise])
    except (ValueError, KeyError, TypeError, AttributeError, ArithmeticError, RecursionError):
        raise Mistake(
            f"{path} holds no scores; write some with: privfit evaluate MODEL TABLE --out SCORES"
        ) from None
    return scores | by_class | matrix | {"privacy": privacy}


def _fields(path: Path) -> dict[str, str]:
    from privfit.schema.document import parsed

    try:
        fields = parsed(path.read_text(encoding="utf-8-sig"), str(path))
    except UnicodeDecodeError:
        raise Mistake(f"{path} is not UTF-8 text.") from None
    return {name: str(text) for name, text in fields.items()}
