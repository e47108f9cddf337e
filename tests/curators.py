"""Curators for tests, in which every person has one record and the penalty is alpha/2 ||w||^2."""

from privfit.accounting.relation import ONE_RECORD
from privfit.curator import Curator
from privfit.penalties import Ridge


def curator_of(records, ledger, noise, *, alpha=0.0, relation=ONE_RECORD, **facts):
    return Curator(records, ledger, noise, relation=relation, penalty=Ridge(alpha), **facts)
