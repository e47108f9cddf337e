"""Find out how scikit-learn's meta-estimators changed the data before a private estimator got them.

A column may have been standardised, or a record drawn twice. `fit` is not told, and reading the data to find
out would have to be paid for. But the callers of `fit` are on the stack.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Any

from joblib import Parallel  # installed with scikit-learn
from joblib.parallel import BatchedCalls
from sklearn.base import BaseEstimator

from privfit.leaks import leak, refuse_in_strict_mode, uncovered
from privfit.schema import Schema
from privfit.surroundings.pipelines import learns_nothing, leaves, schema_among

_BY_WORKERS = "some were fitted by workers, which cannot see who called them"
_BOOSTED = "boosting weighs each record by how well all records were predicted"
_REPEATED = "records were drawn with repetition, so one person may weigh several times in a fit"


@dataclass(frozen=True)
class Surroundings:
    """What happened to the records before a fit.

    `assumptions` are sentences for its statement. `unknown` says why the total of several fits is unknown.
    `schema` is the schema of an encoder before it in a pipeline. `drawn` says whether an ensemble drew the
    records; their weights then say how often each was drawn.
    """

    assumptions: tuple[str, ...] = ()
    unknown: str = ""
    schema: Schema | None = None
    drawn: bool = False


def look_around(estimator: Any, *, private: bool = True) -> Surroundings:
    """Warn, or raise in strict mode, if something was learnt from the records before `estimator` got them.

    The estimator's `fit` calls this before anything is charged. It cannot see a step that was fitted outside
    a pipeline. A fit that is not `private` promises nothing, so it gives no warning.
    """
    callers = list(_callers())
    before = list(_leaves_before(estimator, callers))
    schema = schema_among(before)
    if not private:
        return Surroundings(schema=schema, drawn=_drawn(callers))
    assumptions, unknown = [], ""
    steps = [f"step {name!r} ({type(step).__name__})" for name, step in before if not learns_nothing(step)]
    if steps:
        learnt = f"hat the pipeline learnt in {', '.join(steps)}"
        leak(
            f"W{learnt} was",
            "declare what is public with schema=, SchemaEncoder or feature_bounds=(low, high), buy bounds "
            "with PrivateBounds, or fit the step on public data and wrap it in FrozenEstimator",
        )
        assumptions.append(f"w{learnt} is public; it was taken from the data")
    if _is_cut_off(callers):
        unknown = _BY_WORKERS
        refuse_in_strict_mode("fits by workers, which cannot see who called them", "set n_jobs=1")
        assumptions.append(
            "nothing was learnt from the records before a worker got them, which it cannot see"
        )
    if _drawn_with_repetition(callers):
        unknown = _REPEATED
        uncovered(f"No total can be stated, because {unknown}; set bootstrap=False.")
        assumptions.append("no record was drawn twice, which resampling with repetition does not keep")
    if any(isinstance(owner, BaseEstimator) and hasattr(owner, "_boost") for owner in callers):
        uncovered(f"{_BOOSTED[0].upper()}{_BOOSTED[1:]}, which the privacy guarantee does not cover.")
        assumptions.append(f"{_BOOSTED}, WHICH IS NOT COVERED")
    return Surroundings(tuple(assumptions), unknown, schema, _drawn(callers))


def _callers() -> Iterator[Any]:
    """Yield the objects whose methods are running, from the inside outwards."""
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        owner = frame.f_locals.get("self") if "self" in frame.f_code.co_varnames else None
        if owner is not None:
            yield owner
        frame = frame.f_back


def _leaves_before(estimator: Any, callers: Sequence[Any]) -> Iterator[tuple[str, Any]]:
    """Follow the callers outwards, and yield the steps before the fitted one in each pipeline."""
    running = {id(estimator)}
    of_pipelines = sys.modules.get("sklearn.pipeline")  # if it is not imported, there is no pipeline
    for owner in callers:
        if of_pipelines and isinstance(owner, of_pipelines.Pipeline) and id(owner) not in running:
            is_running = [id(step) in running for _, step in owner.steps]
            for name, step in owner.steps[: is_running.index(True) if any(is_running) else 0]:
                yield from leaves(name, step)
        running.add(id(owner))


def _is_cut_off(callers: Sequence[Any]) -> bool:
    """Return whether a worker of joblib fits, whose callers are in another process."""
    in_a_batch = any(isinstance(owner, BatchedCalls) for owner in callers)
    return in_a_batch and not any(isinstance(owner, Parallel) for owner in callers)


def _drawn(callers: Sequence[Any]) -> bool:
    """Return whether an ensemble is running that draws records, as bagging does, with repetition or not."""
    return any(
        isinstance(owner, BaseEstimator) and hasattr(owner, "bootstrap") and hasattr(owner, "max_samples")
        for owner in callers
    )


def _drawn_with_repetition(callers: Sequence[Any]) -> bool:
    """Return whether an ensemble is running that draws the same record several times, as bagging does."""
    return any(isinstance(owner, BaseEstimator) and getattr(owner, "bootstrap", False) for owner in callers)
