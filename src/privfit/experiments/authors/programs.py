"""The authors' programs by their names in the experiments."""

from __future__ import annotations

from privfit.experiments.authors.descent import AuthorsDPAGD, Erratum
from privfit.experiments.authors.genetic import AuthorsPrivGene
from privfit.experiments.authors.perturbation import AuthorsObjPert, AuthorsOutPert
from privfit.experiments.authors.program import Program
from privfit.experiments.authors.sgd import AuthorsSGDAdv, AuthorsSGDMA
from privfit.experiments.designs import AUTHORS, WATERFALL

_ERRATA: tuple[Erratum, ...] = ("E1", "E4", "E5", "E6", "E10")  # in the order in which they are corrected

_STAGES: tuple[Program, ...] = tuple(
    AuthorsDPAGD(corrected=frozenset(_ERRATA[:count])) for count in range(len(_ERRATA) + 1)
)
_BASELINES = (
    AuthorsObjPert(),
    AuthorsOutPert(),
    AuthorsPrivGene(),
    AuthorsSGDAdv(),
    AuthorsSGDMA(),
)
PROGRAMS: dict[str, Program] = {
    **dict(zip(AUTHORS, (_STAGES[0], *_BASELINES), strict=True)),
    **dict(zip(WATERFALL, _STAGES, strict=False)),
}
