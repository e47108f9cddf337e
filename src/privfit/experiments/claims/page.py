"""The register as a page, and the documents whose blocks are made from the same rows."""

from __future__ import annotations

from pathlib import Path

from privfit.experiments.claims.blocks import fill, verdict_and_evidence, verdicts, wrapped
from privfit.experiments.claims.claim import CLAIMS
from privfit.experiments.claims.evidence import CLEAR, Evidence

PAGE = "claims.md"
_HEAD = f"""# The paper's claims, one by one

Lee & Kifer, *Concentrated Differentially Private Gradient Descent with Adaptive per-Iteration
Privacy Budget* (KDD 2018): what it claims, restated in our words, and what the rows in
[results](../results/summary.md) say. This page is made by `privfit reproduce claims`; a test holds
it against the rows.

Each claim has a rule that was fixed in code, `src/privfit/experiments/claims`, and a verdict that
follows from the rule. Where a rule says clearly, two settings were compared on the same folds, and
their difference is more than {CLEAR:g} standard errors of the paired differences; training folds
overlap, so that these errors are a little too small. DP-AGD is the algorithm of the text with its
errata corrected ([dpagd.md](dpagd.md)); with the cap of the authors' code it is called DP-AGD,
steps up to 2. Without rows there is no
verdict; in part means in half of the cases or more, but not in all.

No experiment decides three sentences of the paper: that DP-AGD is rho-zCDP (proved for what is
implemented here in [privacy.md](privacy.md); the errata say what the authors' code does), that it
was the first of its kind, and that the approach is easily carried over to other problems."""


def register_page(evidence: Evidence) -> str:
    """Write the whole register."""
    parts = [wrapped(_HEAD), verdicts(evidence)]
    for key, claim in CLAIMS.items():
        parts.append(f"## {key}")
        parts.append(wrapped(f"*{claim.where}.* {claim.says}\n\n{verdict_and_evidence(claim, evidence)}"))
    return "\n\n".join(parts) + "\n"


def write_documents(docs: Path, evidence: Evidence) -> list[Path]:
    """Write the register and fill the blocks of all other documents; return what was changed."""
    new = {docs / PAGE: register_page(evidence)}
    for page in sorted(docs.glob("*.md")):
        if page.name != PAGE:
            new[page] = fill(page.read_text(encoding="utf-8"), evidence)
    changed = []
    for path, text in new.items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            changed.append(path)
    return changed
