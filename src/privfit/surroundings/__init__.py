"""What happens around a fit: its callers, the family of fits, strict mode, and the progress bar.

The warnings themselves, and whether strict mode is on, are in `privfit.leaks`, which ledgers, schemas and
solvers use, too.
"""

from privfit.surroundings.callers import Surroundings, look_around
from privfit.surroundings.family import Family, family_of
from privfit.surroundings.kin import Kin
from privfit.surroundings.pipelines import schema_inside
from privfit.surroundings.progress import budget_bar
from privfit.surroundings.workers import one_thread_in_workers

__all__ = [
    "Family",
    "Kin",
    "Surroundings",
    "budget_bar",
    "family_of",
    "look_around",
    "one_thread_in_workers",
    "schema_inside",
]
