"""`privfit evidence`: what an outsider needs to judge a privacy guarantee."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from privfit.cli.files import check_outputs, replacing
from privfit.cli.guard import Mistake
from privfit.cli.options import Json
from privfit.cli.output import columns, document, show, wrapped

FileWithEvidence = Annotated[
    Path,
    typer.Argument(
        help="A model file, scores from `privfit evaluate --out`, or an evidence file.", dir_okay=False
    ),
]
CHARGES_SHOWN = 20


def evidence(
    file: FileWithEvidence,
    out: Annotated[
        Path | None, typer.Option(help="Also write the evidence to this file, as JSON.", dir_okay=False)
    ] = None,
    as_json: Json = False,
) -> None:
    """Show the evidence for a privacy guarantee.

    It lists whom the guarantee covers, every charge with its price and its proof, which facts were public,
    the source of the noise, and versions. Anybody can check its arithmetic with `privfit verify`. It contains
    nothing but released and declared values.

    Example: privfit evidence model.json --out evidence.json
    """
    check_outputs(out, inputs=(file,))
    from privfit.estimators.evidence import evidence_of, statement_of
    from privfit.verification import read_document

    found = read_document(file)
    if found.evidence is None:
        raise Mistake(
            f"{file} holds no evidence that this privfit can read: it promises no privacy, or another "
            "version wrote it; privfit verify checks what it has."
        )
    facts = evidence_of(statement_of(found.evidence))  # so that the texts are those of this version
    assert facts is not None
    if out is not None:
        with replacing(out) as written:
            written.write_text(document(facts) + "\n", encoding="utf-8")
    answers = "\n".join(
        wrapped(f"{name.capitalize()}: {said}") for name, said in facts["nist_sp_800_226"].items()
    )
    rows = [
        ("what", "claim", "noise", "sensitivity", "scale", "rho"),
        *(
            (
                charge["what"],
                charge["claim"],
                charge["noise"] or "-",
                *(
                    "-" if charge[name] is None else f"{charge[name]:.6g}"
                    for name in ("sensitivity", "scale")
                ),
                f"{charge['rho']:.6g}",
            )
            for charge in facts["charges"][:CHARGES_SHOWN]
        ),
    ]
    left = len(facts["charges"]) - CHARGES_SHOWN
    more = f"\n({left} more charges are left out; --json shows all.)" if left > 0 else ""
    claims = "\n".join(wrapped(f"{claim}: {said}") for claim, said in facts["claims"].items())
    public = "\n".join(wrapped(f"- {said}") for said in facts["public"])
    seal = f"\n\nSeal of the ledger: {facts['seal']}" if facts["seal"] else ""
    kept = "" if out is None else f"\n\nThe evidence is in {out}."
    show(
        facts,
        f"{answers}\n\nEverything that touched the records:\n{columns(rows)}{more}\n\nClaims, which "
        f"docs/privacy.md proves:\n{claims}\n\nPublic, or assumed:\n{public}{seal}{kept}",
        as_json=as_json,
    )
