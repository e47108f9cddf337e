"""The register of claims, `register.toml`: sentences of the paper with the queries that decide them."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from importlib.resources import files
from typing import Any

from privfit.experiments.claims import working_out
from privfit.experiments.claims.claim import Claim, Query
from privfit.experiments.claims.comparing import AlongEpsilon, Compare, Pair
from privfit.experiments.claims.counting import Collapse, Share, ShareOverGrid, time_on_the_full_file
from privfit.experiments.claims.grids import Ends, Spread
from privfit.experiments.designs import AUTHORS, COMPARED, FAULTY, REFERENCES

HERE = "said here"  # where a claim is ours
RIVALS = ("objective-perturbation", "output-perturbation", "privgene", "sgd-adv", "sgd-ma")
# Several algorithms by one name of the register.
GROUPS: dict[str, tuple[str, ...]] = {
    "baselines": RIVALS,  # the paper's private ones
    "dpagd and the other baselines": ("dpagd", *RIVALS[:-1]),  # other than SGD-MA
    "authors' baselines": tuple(AUTHORS)[1:],
    "other private algorithms": tuple(
        name for name in COMPARED if name not in ("adaptive", FAULTY, *REFERENCES)
    ),
}
WORKED_OUT: dict[str, Query] = {
    "small-shares": working_out.noise_where_gradients_are_long,
    "averaging-variance": working_out.variance_of_an_average,
    "splits-iterations": working_out.iterations_under_naive_composition,
    "moments-price": working_out.price_of_a_step,
    "kddcup99-time": time_on_the_full_file,
}
KINDS: dict[str, Any] = {
    "along-epsilon": AlongEpsilon,
    "collapse": Collapse,
    "ends": Ends,
    "share": Share,
    "share-over-grid": ShareOverGrid,
    "spread": Spread,
    "table1": working_out.Table1,
}


def _members(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(member for name in names for member in GROUPS.get(name, (name,)))


def _compare(*, judged: list[list[str]], shown: Iterable[list[str]] = (), **settings: Any) -> Compare:
    """Make a comparison; a pair is an algorithm, one or a group to judge it against, and where those are."""
    pairs = tuple(
        Pair(mine, _members([others]), counted, *elsewhere)
        for listed, counted in ((judged, True), (shown, False))
        for mine, others, *elsewhere in listed
    )
    return Compare(pairs=pairs, target=_members(settings.pop("target", ())), **settings)


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


def _query(kind: str, settings: dict[str, Any]) -> Query:
    if kind == "worked-out":
        return WORKED_OUT[settings["by"]]
    frozen = {name: _frozen(value) for name, value in settings.items()}
    query: Query = _compare(**frozen) if kind == "compare" else KINDS[kind](**frozen)
    return query


def _claim(entry: dict[str, Any]) -> Claim:
    """Make a claim of its entry, of which the query is what is left after the sentences."""
    key, where, says, holds_if = (
        " ".join(str(entry.pop(name)).split()) for name in ("key", "where", "says", "holds_if")
    )
    ((kind, settings),) = entry.items()
    return Claim(key, where, says, holds_if.format(**settings), _query(kind, settings))


_FILE = files("privfit.experiments.claims") / "register.toml"
CLAIMS = {
    claim.key: claim for claim in map(_claim, tomllib.loads(_FILE.read_text(encoding="utf-8"))["claim"])
}
