"""Cases of all mechanisms and questions, with a canary that changes the answer by the whole sensitivity."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from privfit.accounting import Concentrated, Gaussian, Ledger
from privfit.accounting.relation import Relation
from privfit.auditing.answers import Release, Vector
from privfit.auditing.case import DELTA, EPSILON, Case, flat
from privfit.curator import Curator
from privfit.losses import get_loss
from privfit.mechanisms.gaussian import measure
from privfit.mechanisms.noise import NoiseSource, Shape
from privfit.mechanisms.selection import select_max
from privfit.questions import (
    ChangesOfLoss,
    ClassSums,
    Count,
    CurveNorms,
    EffectCurvature,
    EffectGradient,
    EffectSpread,
    Gradient,
    GradientAt,
    HessianAt,
    Histograms,
    LossDifferences,
    LossesAlong,
    Magnitudes,
    Moments,
    Norms,
    PeopleCount,
    PersonGradientAt,
    PersonSpread,
    RisesAlong,
    ScaleSlopesAt,
    ScoreSums,
    SecondMoments,
    SlopeCounts,
    SlopesAt,
    SufficientStatistics,
    TargetSums,
    VerticesAt,
    WeightSum,
)

RECORDS_OF_PERSON = 3
STEPS = np.array([0.0, 1.0])
EDGES = np.array([8.0, 3.0, 0.5])
ZERO, AHEAD = np.zeros(2), np.array([1.0, 0.0])
SHARES, FACTORS = np.array([[0.0], [0.5]]), (0.75,)
CANDIDATES = np.array([[1.0, 0.0], [-1.0, 0.0]])


def mechanisms() -> Iterator[Case]:
    """Yield the Gaussian mechanism, Laplace noise and selection with each of three noises."""
    gaussian = Gaussian.of(epsilon=EPSILON, delta=DELTA)
    zcdp = Concentrated.of(epsilon=EPSILON, delta=DELTA)

    def added(present: bool, noise: NoiseSource) -> Vector:
        return measure(np.array([3.0, 4.0 + present]), 1.0, gaussian.rho, noise).value

    def laplace(present: bool, noise: NoiseSource) -> Vector:
        return noise.laplace(np.array([3.0, 4.0 + present]), 1.0 / np.sqrt(2.0 * zcdp.rho))

    def selected(shape: Shape) -> Callable[[bool, NoiseSource], Vector]:
        # one score rises by the whole width, and the other one does not
        def release(present: bool, noise: NoiseSource) -> Vector:
            return flat(select_max(np.array([0.0, 1.0 * present]), 1.0, zcdp.rho, shape, noise))

        return release

    yield Case("Gaussian noise", "mechanism", gaussian, added)
    yield Case("Laplace noise", "mechanism", zcdp, laplace, control=0.25)
    shapes: tuple[Shape, ...] = ("gumbel", "exponential", "laplace")
    for shape in shapes:
        # P2 is loose for two candidates: a quarter of the noise may keep the claim, so controls add an eighth
        control = 0.25 if shape == "gumbel" else 0.125
        yield Case(f"selection, {shape} noise", "mechanism", zcdp, selected(shape), control=control)


@dataclass(frozen=True)
class Asked:
    """A question, how to ask it for a price, and the record that changes its answer most."""

    name: str
    ask: Callable[[Curator, float], Any]
    loss: str = "hinge"
    canary: tuple[float, float] = (2.0, 0.0)


MEASURED = (
    Asked("Count", lambda c, rho: c.measure(Count(), rho)),
    Asked("Gradient", lambda c, rho: c.measure(Gradient(1.0), rho, of=c.at(ZERO))),
    Asked("GradientAt", lambda c, rho: c.measure(GradientAt(ZERO, 1.0), rho)),
    Asked("Norms", lambda c, rho: c.measure(Norms(EDGES), rho)),
    Asked("CurveNorms", lambda c, rho: c.measure(CurveNorms(EDGES, ZERO), rho)),
    Asked("Magnitudes", lambda c, rho: c.measure(Magnitudes(), rho)),
    Asked("Histograms", lambda c, rho: c.measure(Histograms(np.tile([0.0, 1.0], (2, 1))), rho)),
    Asked("Moments", lambda c, rho: c.measure(Moments(2.0, 4.0, ZERO), rho)),
    Asked("SecondMoments", lambda c, rho: c.measure(SecondMoments(1.0), rho)),
    Asked("HessianAt", lambda c, rho: c.measure(HessianAt(ZERO, 0.4), rho), "logistic"),
    Asked("SufficientStatistics", lambda c, rho: c.measure(SufficientStatistics(1.0, 1.0), rho), "squared"),
    Asked("TargetSums", lambda c, rho: c.measure(TargetSums(), rho)),
    Asked("SlopesAt", lambda c, rho: c.measure(SlopesAt(ZERO, 1.0), rho)),
    Asked("SlopeCounts", lambda c, rho: c.measure(SlopeCounts([0.0]), rho, of=c.at(ZERO))),
    Asked(
        "ScaleSlopesAt",
        lambda c, rho: c.projected(AHEAD).measure(ScaleSlopesAt(0.0, np.zeros((0, 1)), 1.0), rho),
    ),
    Asked("WeightSum", lambda c, rho: c.measure(WeightSum(), rho)),
    Asked("ClassSums", lambda c, rho: c.measure(ClassSums(), rho)),
    Asked("ScoreSums", lambda c, rho: c.measure(ScoreSums(SHARES, FACTORS), rho), canary=(1.0, 1.0)),
    Asked("LossDifferences", lambda c, rho: c.measure(LossDifferences(0.5, 0.125), rho), canary=(1.0, 0.0)),
    Asked(
        "EffectGradient",
        lambda c, rho: c.measure(EffectGradient(1.0, 0.5), rho, of=c.at(ZERO)),
        "logistic",
        (1.0, 0.0),
    ),
    Asked(
        "EffectCurvature",
        lambda c, rho: c.measure(EffectCurvature(1.0, 0.25), rho, of=c.at(ZERO)),
        "logistic",
        (1.0, 0.0),
    ),
    Asked(
        "EffectSpread",
        lambda c, rho: c.measure(EffectSpread(1.0, 0.5), rho, of=c.at(ZERO)),
        "logistic",
        (1.0, 0.0),
    ),
)
CHOSEN = (
    Asked("VerticesAt", lambda c, rho: c.choose(VerticesAt(ZERO, 1.0), rho)),
    Asked(
        "LossesAlong", lambda c, rho: c.choose(LossesAlong(STEPS, 1.0), rho, of=c.along(c.at(ZERO), -AHEAD))
    ),
    Asked("RisesAlong", lambda c, rho: c.choose(RisesAlong(STEPS, 1.0), rho, of=c.along(c.at(ZERO), -AHEAD))),
    Asked("ChangesOfLoss", lambda c, rho: c.choose(ChangesOfLoss(CANDIDATES, 1.0), rho, of=c.at(ZERO))),
)
OF_PEOPLE = (
    Asked("PeopleCount", lambda c, rho: c.measure(PeopleCount(), rho)),
    Asked("PersonGradientAt", lambda c, rho: c.measure(PersonGradientAt(ZERO, 1.0), rho)),
    Asked(
        "PersonSpread",
        lambda c, rho: c.measure(PersonSpread(1.0, 0.5), rho, of=c.at(ZERO)),
        "logistic",
        (1.0, 0.0),
    ),
    Asked("Gradient, of a person", lambda c, rho: c.measure(Gradient(1.0), rho, of=c.at(ZERO))),
)


def questions() -> Iterator[Case]:
    """Yield every question of `privfit.questions`, asked once for the whole budget."""
    gaussian = Gaussian.of(epsilon=EPSILON, delta=DELTA)
    for asked in MEASURED:
        yield Case(asked.name, "question", gaussian, _answered(asked, gaussian))
    zcdp = Concentrated.of(epsilon=EPSILON, delta=DELTA)
    for asked in CHOSEN:
        yield Case(asked.name, "question", zcdp, _answered(asked, zcdp), control=0.25)
    to_people = replace(gaussian, person_id="person")
    for asked in OF_PEOPLE:
        yield Case(asked.name, "question", to_people, _answered(asked, to_people))


def _answered(asked: Asked, promise: Gaussian | Concentrated) -> Release:
    """Return a function that asks about four records of zeros and, if it is present, the canary."""
    most = 1 if promise.person_id is None else RECORDS_OF_PERSON

    def release(present: bool, noise: NoiseSource) -> Vector:
        from privfit.engine.persons import Persons  # imported late: the engine needs numba
        from privfit.engine.problem import Problem

        rows = np.vstack([np.zeros((4, 2)), np.tile(asked.canary, (most * present, 1))])
        targets = np.append([1.0, -1.0, 1.0, -1.0], np.ones(most * present))
        persons = Persons.of(np.minimum(np.arange(len(rows)), 4), most)
        problem = Problem.of(rows, targets, get_loss(asked.loss), intercept=False, persons=persons)
        relation = Relation(records_per_person=most, person_id=promise.person_id)
        ledger = Ledger.keeping(promise)
        curator = Curator(problem, ledger, noise, epsilon=EPSILON, delta=DELTA, relation=relation)
        answer = asked.ask(curator, promise.rho)
        return flat(answer if isinstance(answer, list) else answer.value)

    return release
