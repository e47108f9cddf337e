"""Record a fit, then replay what it released on another table and compare everything in between.

What a solver does may depend on the records only through what the noise source has released. So force the
values released on one table upon another: every further question, scale, price, note, warning and weight must
then be the same, bit for bit, whatever the second table holds. Where the two tables are neighbours, what the
noise source was *fed* must also be no farther apart than the noise was paid for.

Only the noise source and the ledger are hooked, so this knows nothing of engines.
"""

from __future__ import annotations

import dataclasses
import datetime
import functools
import io
import logging
import math
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import Any

import numpy as np
import pytest

from privfit.accounting import Ledger
from privfit.mechanisms.noise import NoiseSource, SecureNoise, SeededNoise
from privfit.metrics import Evaluation

BLURRED = ("gaussian", "laplace", "noisy_argmax")  # requests that are fed what the records say
KINDS = sorted(name for name in vars(NoiseSource) if not name.startswith("_") and name != "spawn")


@dataclasses.dataclass(frozen=True)
class Charge:
    """What an account was asked to pay."""

    rho: float
    delta: float
    what: str
    mechanism: str


@dataclasses.dataclass(frozen=True)
class Request:
    """What a noise source was asked, without the numbers that it was to blur."""

    kind: str
    shape: tuple[int, ...]
    settings: tuple[Any, ...]  # the noise's scale and shape, a sample's probability


class Tape:
    """A noise source that plays what another tape has released or, without one, records seeded noise.

    `events` holds charges and requests in their order, `fed` what was to be blurred at each request, and
    `released` what came out. In Poisson samples the records that two tables have in common, which come first,
    share their coins; `coins` holds them.
    """

    def __init__(self, seed: int = 0, original: Tape | None = None) -> None:
        self.original = original
        self.seeded = SeededNoise(seed)
        self.events: list[Charge | Request] = []
        self.fed: list[np.ndarray] = []
        self.released: list[Any] = []
        self.coins: list[np.ndarray] = []

    def gaussian(self, values: np.ndarray, sigma: float) -> np.ndarray:
        return self._release(Request("gaussian", values.shape, (sigma,)), values, values, sigma)

    def laplace(self, values: np.ndarray, scale: float) -> np.ndarray:
        return self._release(Request("laplace", values.shape, (scale,)), values, values, scale)

    def radial(self, size: int, scale: float) -> np.ndarray:
        return self._release(Request("radial", (size,), (scale,)), np.empty(0), size, scale)

    def noisy_argmax(self, scores: np.ndarray, scale: float, shape: str) -> int:
        request = Request("noisy_argmax", scores.shape, (scale, shape))
        return self._release(request, scores, scores, scale, shape)

    def poisson_rows(self, n_rows: int, probability: float) -> np.ndarray:
        self._note(Request("poisson_rows", (), (probability,)), np.array([float(n_rows)]))
        chosen = np.random.default_rng([7, len(self.released)]).random(n_rows) < probability
        self.released.append(None)
        self.coins.append(chosen)
        return np.flatnonzero(chosen)

    def _release(self, request: Request, fed: np.ndarray, *arguments: Any) -> Any:
        self._note(request, fed)
        place = len(self.released)
        if self.original is None:
            self.released.append(getattr(self.seeded, request.kind)(*arguments))
        else:
            self.released.append(self.original.released[place])
        released = self.released[-1]
        return released.copy() if isinstance(released, np.ndarray) else released

    def _note(self, request: Request, fed: np.ndarray) -> None:
        self.events.append(request)
        self.fed.append(np.array(fed, dtype=np.float64))
        self.require_same_event()

    def require_same_event(self) -> None:
        """Stop where the second table's fit takes another way than the first's."""
        if self.original is None:
            return
        place = len(self.events) - 1
        expected = self.original.events[place] if place < len(self.original.events) else "nothing more"
        assert self.events[place] == expected, (
            f"event {place} depends on the records: {expected} on one table, then {self.events[place]}"
        )


@contextmanager
def noise_from(source: Any) -> Iterator[None]:
    """Let every secure noise source answer from this one."""
    with pytest.MonkeyPatch.context() as patch:
        for kind in KINDS:
            answer = getattr(source, kind)  # a new kind of request has to be taught to the tape
            patch.setattr(SecureNoise, kind, lambda self, *arguments, answer=answer: answer(*arguments))
        yield


@contextmanager
def _charges_to(tape: Tape) -> Iterator[None]:
    original = Ledger.charge

    @functools.wraps(original)
    def charge(
        self: Ledger, rho: float, delta: float = 0.0, *, what: str = "", mechanism: str = "", **kind: bool
    ) -> Any:
        tape.events.append(Charge(rho, delta, what, mechanism))
        tape.require_same_event()
        return original(self, rho, delta, what=what, mechanism=mechanism, **kind)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Ledger, "charge", charge)
        yield


@dataclasses.dataclass(frozen=True)
class Run:
    """Everything that a fit did with its noise, its account and its user."""

    tape: Tape
    visible: dict[str, Any]


class _Listener(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


def run(fit: Callable[[], Any], *, seed: int = 0, original: Run | None = None) -> Run:
    """Run a fit that uses secure noise, on noise of this seed or on what the original run released.

    `fit` returns a fitted estimator, or a set of scores. An exception is part of what the user sees. A fit
    that says something is run again, because the first of its kind may say that it compiles; what the second
    says counts.
    """
    first = _run(fit, seed, original)
    return _run(fit, seed, original) if first.visible["printed"] or first.visible["logged"] else first


def _run(fit: Callable[[], Any], seed: int, original: Run | None) -> Run:
    tape = Tape(seed, None if original is None else original.tape)
    printed, listener, logger = io.StringIO(), _Listener(), logging.getLogger("privfit")
    level = logger.level
    logger.setLevel(logging.DEBUG)
    logger.addHandler(listener)
    try:
        with (
            noise_from(tape),
            _charges_to(tape),
            warnings.catch_warnings(record=True) as warned,
            redirect_stdout(printed),
            redirect_stderr(printed),
        ):
            warnings.simplefilter("always")
            try:
                seen = _seen(fit())
            except AssertionError:
                raise
            except Exception as refusal:
                seen = {"refusal": f"{type(refusal).__name__}: {refusal}"}
    finally:
        logger.removeHandler(listener)
        logger.setLevel(level)
    seen["warnings"] = [(w.category.__name__, str(w.message)) for w in warned]
    seen["printed"], seen["logged"] = printed.getvalue(), listener.lines
    return Run(tape, seen)


def _seen(model: Any) -> dict[str, Any]:
    """Return all that an estimator, or a set of scores, shows, as values that are equal if their bits are."""
    if isinstance(model, Evaluation):
        return {name: _plain(value) for name, value in (vars(model) | {"scores": model.to_dict()}).items()}
    fitted = {name: value for name, value in vars(model).items() if name.endswith("_")}
    return {name: _plain(value) for name, value in fitted.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray) and value.dtype != object:
        return (str(value.dtype), value.shape, value.tobytes())
    if isinstance(value, list | tuple | np.ndarray):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, Ledger):
        entries = [_plain(entry) for entry in value.entries]
        return [entries, value.rho.hex(), value.spent.hex(), value.remaining.hex(), value.statement()]
    if dataclasses.is_dataclass(value):
        fields = {f.name: _plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
        fields.pop("when", None)  # the clock's, not the records'
        return [type(value).__name__, fields, "" if "when" in vars(value) else str(value)]
    if isinstance(value, float):
        return value.hex()
    if value is None or isinstance(value, str | bool | int | np.generic | datetime.date):
        return value
    raise TypeError(f"Teach tests/replay.py to compare a fitted {type(value).__name__}.")


def assert_same(first: Run, second: Run, *, released_unblurred: tuple[str, ...] = ()) -> None:
    """Require that two runs with the same released values differ in nothing a user or an auditor can see.

    `released_unblurred` names attributes that a mechanism with a proof of its own releases directly.
    """
    assert len(first.tape.events) == len(second.tape.events), "the number of events depends on the records"
    assert first.tape.events == second.tape.events
    assert first.visible.keys() == second.visible.keys()
    for name, value in first.visible.items():
        if name not in released_unblurred:
            assert value == second.visible[name], f"{name} depends on the records"


def assert_paid_for(first: Run, second: Run, *, opened: dict[str, float] | None = None) -> None:
    """Require that what was fed to the noise on two neighbours differs by no more than was paid for.

    A price is that of the last charge before it, shared by the requests until the next one: for Gaussian
    noise a distance of sigma sqrt(2 rho), for selection a range of scores of scale sqrt(8 rho) with Gumbel
    noise and scale sqrt(2 rho) with others. Mechanisms that opened the data have their own bounds, by kind.
    What is asked of a sample is the same for both if the coins left out the record that tells them apart.
    """
    requests = [event for event in first.tape.events if isinstance(event, Request)]
    prices = iter(_prices(first.tape.events))
    coins = zip(first.tape.coins, second.tape.coins, strict=True)
    sampled = True
    for request, a, b in zip(requests, first.tape.fed, second.tape.fed, strict=True):
        if request.kind == "poisson_rows":
            fewer, more = sorted(next(coins), key=len)
            sampled = bool(more[len(fewer) :].any())
        if request.kind not in BLURRED:
            continue
        rho, moved = next(prices), a - b
        scale = request.settings[0]
        if opened is not None:
            distance, allowed = float(np.linalg.norm(moved)), opened[request.kind]
        elif request.kind == "noisy_argmax":
            distance = float(np.ptp(moved))
            allowed = scale * math.sqrt((8.0 if request.settings[1] == "gumbel" else 2.0) * rho)
        else:
            distance, allowed = float(np.linalg.norm(moved)), scale * math.sqrt(2.0 * rho)
        assert distance <= (allowed if sampled else 0.0), (
            f"one record moves what {request} blurs by {distance}, and {allowed} is paid for"
        )


def _prices(events: list[Charge | Request]) -> list[float]:
    """Return what each request that blurs something cost."""
    prices: list[float] = []
    sharing = 0
    rho = 0.0
    for event in [*events, Charge(0.0, 0.0, "", "")]:
        if isinstance(event, Charge):
            prices += [rho / max(sharing, 1)] * sharing
            sharing, rho = 0, event.rho
        elif event.kind in BLURRED:
            sharing += 1
    return prices
