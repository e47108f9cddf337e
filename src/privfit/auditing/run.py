"""Run audits: each case with and without its canary, and as a control with too little noise."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from privfit.accounting import Gaussian
from privfit.auditing.answers import Vector, log_likelihood_ratio
from privfit.auditing.bounds import most_telling, proven_epsilon, shift_over_deviation
from privfit.auditing.case import DELTA, Case, Weakened
from privfit.mechanisms.noise import NoiseSource, SecureNoise, SeededNoise

ALPHA = 1e-3  # the probability of a false alarm in the whole audit
RUNS = 600  # for each table of each case; with fewer, an attack may miss controls of choices
RUNS_FOR_SMALL_BUGS = 1000  # with fewer, an attack may miss a control that adds half of the noise


@dataclass(frozen=True)
class Finding:
    """The result of the audit of one case.

    Attributes
    ----------
    name, kind : str
        What was audited.
    sees : str
        Whether the attacker saw all answers or the result alone.
    claimed_epsilon : float
        The epsilon that is claimed at delta = 0.05.
    proven_epsilon : float
        The lower bound on epsilon. The probability that it exceeds the true epsilon is at most `alpha`.
    claimed_mu : float
        sqrt(2 rho), the largest shift in standard deviations that Gaussian noise of the price allows.
    shift : float
        By how many standard deviations the canary shifted the attacker's statistic.
    control : float
        The share of its noise that the control added.
    control_epsilon : float
        The lower bound on epsilon for the control.
    """

    name: str
    kind: str
    sees: str
    claimed_epsilon: float
    proven_epsilon: float
    claimed_mu: float
    shift: float
    control: float
    control_epsilon: float

    @property
    def holds(self) -> bool:
        """Whether the lower bound does not exceed the claim."""
        return self.proven_epsilon <= self.claimed_epsilon

    @property
    def can_fail(self) -> bool:
        """Whether the audit detected the control, which has too little noise."""
        return self.control_epsilon > self.claimed_epsilon

    @property
    def verdict(self) -> str:
        """The result in a few words."""
        if not self.holds:
            return "MORE IS PROVEN THAN CLAIMED"
        return "holds" if self.can_fail else "control not detected"

    @property
    def power(self) -> float:
        """The canary's shift as a share of the claimed mu."""
        return self.shift / self.claimed_mu

    def to_dict(self) -> dict[str, Any]:
        """Return the finding in a form that JSON can hold."""
        return asdict(self) | {"holds": self.holds, "can_fail": self.can_fail, "power": self.power}


def catalogue() -> dict[str, Case]:
    """Return every case by its name."""
    from privfit.auditing import fits, questions

    groups = (
        questions.mechanisms,
        questions.questions,
        fits.fits,
        fits.intervals,
        fits.people,
        fits.scores,
    )
    return {case.name: case for group in groups for case in group()}


def attack(
    names: Sequence[str] | None = None,
    *,
    runs: int = RUNS,
    alpha: float = ALPHA,
    jobs: int = 1,
    seed: int | None = None,
    on_finding: Callable[[Finding, int, int], None] = lambda finding, done, total: None,
) -> list[Finding]:
    """Attack all cases, or the named ones, and return the results in the order of the catalogue.

    Parameters
    ----------
    names : sequence of str, optional
        The cases; by default all of them.
    runs : int
        The number of runs on each of the two tables; three quarters of them are judged.
    alpha : float
        The largest probability that the audit of a correct package reports an error. Every case gets an equal
        share of it.
    jobs : int
        Number of processes.
    seed : int, optional
        The seed of the noise, for tests. By default the noise is secure, as in a release.
    on_finding : callable
        Called with each finding, the number of findings so far, and their final number.

    Returns
    -------
    findings : list of Finding
        One for each case.

    Raises
    ------
    ValueError
        If a name belongs to no case.
    """
    known = catalogue()
    chosen = list(known if names is None else names)
    for name in chosen:
        if name not in known:
            raise ValueError(f"There is no case called {name!r} to audit; there are: {', '.join(known)}.")
    found: dict[str, Finding] = {}
    for finding in _findings(chosen, (runs, alpha / max(len(known), 1), seed), jobs):
        found[finding.name] = finding
        on_finding(finding, len(found), len(chosen))
    return [found[name] for name in chosen]


def _findings(names: list[str], how: tuple[int, float, int | None], jobs: int) -> Iterator[Finding]:
    if jobs == 1:
        for name in names:
            yield _finding_by_name(name, *how)
        return
    with ProcessPoolExecutor(jobs) as pool:
        for future in as_completed([pool.submit(_finding_by_name, name, *how) for name in names]):
            yield future.result()


def _finding_by_name(name: str, runs: int, alpha: float, seed: int | None) -> Finding:
    """Audit the case of this name, because functions cannot be sent to another process."""
    return finding_of(catalogue()[name], runs, alpha, seed)


def finding_of(case: Case, runs: int, alpha: float, seed: int | None = None) -> Finding:
    """Audit one case and its control, each at the false-alarm rate alpha."""
    words = [] if seed is None else [seed, zlib.crc32(case.name.encode())]
    noise: NoiseSource = SeededNoise(np.random.default_rng(words)) if words else SecureNoise()
    present, absent = statistics(case, runs, noise)
    gaussian = isinstance(case.promise, Gaussian)
    control = case.control if runs >= RUNS_FOR_SMALL_BUGS else case.control / 2.0
    weak = statistics(case, runs, Weakened(noise, control))
    return Finding(
        name=case.name,
        kind=case.kind,
        sees=case.sees,
        claimed_epsilon=case.epsilon,
        proven_epsilon=proven_epsilon(present, absent, DELTA, alpha, gaussian=gaussian),
        claimed_mu=case.mu,
        shift=shift_over_deviation(present, absent),
        control=control,
        control_epsilon=proven_epsilon(*weak, DELTA, alpha, gaussian=gaussian),
    )


def statistics(case: Case, runs: int, noise: NoiseSource) -> tuple[Vector, Vector]:
    """Return the attacker's statistic in this many runs with the canary, and in as many without it."""
    if case.sees == "answers":
        present, absent = (
            np.array([log_likelihood_ratio(case.release, there, noise) for _ in range(runs)])
            for there in (True, False)
        )
        return present, absent
    present, absent = (np.array([case.release(there, noise) for _ in range(runs)]) for there in (True, False))
    if not all(math.isfinite(float(np.sum(np.abs(found)))) for found in (present, absent)):
        raise ValueError(f"{case.name} released what is no number.")
    return most_telling(present, absent)
