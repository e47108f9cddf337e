"""The register as a page, and the documents whose blocks are made from the same rows."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from privfit.experiments.claims.blocks import block, fill, outdated, verdicts, wrapped
from privfit.experiments.claims.evidence import CLEAR, Evidence, table
from privfit.experiments.claims.register import CLAIMS

PAGE = "claims.md"
SHORT = 100  # characters of a paragraph that may be said again
_TITLE = "# The paper's claims, one by one"
_HEAD = f"""What Lee & Kifer, *Concentrated Differentially Private Gradient Descent with Adaptive
per-Iteration Privacy Budget* (KDD 2018), claim, in our words, and what the rows in
[results](../results/summary.md) say. `privfit reproduce claims` writes this page.

Each claim has a rule in `src/privfit/experiments/claims/register.toml`, which decides the verdict.

- **Clearly**: two settings were compared on the same folds, and their difference is more than
  {CLEAR:g} standard errors of the paired differences. Training folds overlap, so these errors are a
  little too small.
- **In part**: in half of the cases or more, but not in all.
- **Undecided**: the rows are of different folds, so their means cannot be compared.
- **Outdated** rows may have been made by an earlier version of the algorithm.
- **DP-AGD** is the algorithm of the text with its errata corrected ([dpagd.md](dpagd.md)). With
  the cap of the authors' code it is called DP-AGD, steps up to 2.
- *Said here* marks a claim of this documentation.
- **Tables**: a lead is a mean and its standard error, and an empty name repeats the line above.

[The end](#undecided) lists what the paper says and no row decides."""


class Undecided(NamedTuple):
    """A sentence of the paper, in our words, and why no row decides it."""

    where: str
    says: str
    why: str


UNDECIDED = (
    Undecided(
        "Introduction",
        "DP-AGD is the first private descent that sets budgets and steps by the quality of what it measured.",
        "it is a statement about the work of others",
    ),
    Undecided(
        "Introduction",
        "With many long gradients it runs for more iterations, with many short ones for fewer.",
        "only the draws of Table 1 look at gradients, all on one table with one budget",
    ),
    Undecided(
        "Section 2",
        "ObjPert's guarantee needs the exact minimiser, which in practice nobody has.",
        "it is a matter of proof: [privacy.md](privacy.md) says what is assumed, and here a minimiser that "
        "has not converged is not released",
    ),
    Undecided(
        "Section 5",
        "DP-AGD is rho-zCDP.",
        "it is a matter of proof, for what is implemented here in [privacy.md](privacy.md); the errata say "
        "what the authors' code does",
    ),
    Undecided(
        "Section 5",
        "A regulariser has no implication for privacy, because it does not depend on the data.",
        "it is a matter of proof; beside sums over records it stands multiplied by their number, which has "
        "to be public or paid for (erratum E6)",
    ),
    Undecided(
        "Section 6.2",
        "Why splits and thresholds matter: too few iterations or too bad directions, too much noise or too "
        "much clipped.",
        "what they do is decided above; nothing was run that tells one cause from the other",
    ),
    Undecided(
        "Section 6.3",
        "In all baselines the number of iterations T has to be fixed beforehand, and tuning it costs budget.",
        "it is no matter of rows: read to the letter it is not true of ObjPert, which minimises and has no "
        "T; what T does is asked in [iterations-matter](#iterations-matter)",
    ),
    Undecided(
        "Section 6.3",
        "SGD-MA is ahead above epsilon 0.8 because it can afford more iterations.",
        "whether it is ahead is decided [above](#sgd-ma-largest-epsilon); its number of iterations was not "
        "varied at one epsilon",
    ),
    Undecided(
        "Conclusion",
        "The approach is easily carried over to other problems.",
        "logistic regression and SVM were fitted, and nothing else",
    ),
)


def register_page(evidence: Evidence) -> str:
    """Write the whole register."""
    parts = [_TITLE, wrapped(outdated(evidence)), _HEAD, verdicts(evidence)]
    shown = dict[str, str]()
    for key in CLAIMS:
        parts.append(f"## {key}")
        for paragraph in block(f"claim {key}", evidence).split("\n\n"):
            first = shown.setdefault(paragraph, key)
            if first == key or len(paragraph) < SHORT:
                parts.append(paragraph)
            elif paragraph.startswith("| "):
                parts.append(f"The table is that of [{first}](#{first}).")
    parts += ["## undecided", table(["where", "restated", "why no row decides it"], *UNDECIDED)]
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
