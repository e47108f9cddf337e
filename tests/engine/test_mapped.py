"""Matrices in mapped files: the same sums as in memory, to the last bit, and none once the file has changed.

Fingerprints miss a change with a probability of at most 2**-33, which is the rate of false alarms here.
"""

from __future__ import annotations

import math
import tracemalloc
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from on_disk import on_disk

from privfit import mapped as files
from privfit.engine.fingerprints import CacheChanged, Fingerprints
from privfit.engine.layouts import mapped
from privfit.engine.problem import Problem
from privfit.engine.table import Table
from privfit.losses import get_loss
from privfit.losses.softmax import softmax

LAYOUTS: dict[str, Callable[[np.ndarray], Any]] = {
    "dense": lambda X: X.astype(np.float32),
    "csr": lambda X: sp.csr_matrix(X.astype(np.float32)),
}
layouts = pytest.mark.parametrize("arrange", LAYOUTS.values(), ids=LAYOUTS)


@pytest.fixture(autouse=True)
def several_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mapped, "BLOCK_BYTES", 2**12)


def records(n: int = 3000, p: int = 12, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = np.where(rng.random((n, p)) < 0.3, 1.0, 0.0)
    X[:, :2] = rng.normal(0, 3, (n, 2))
    return X, np.where(rng.random(n) < 0.4, 1.0, -1.0)


def numbers_in(X: Any) -> np.ndarray:
    return X.data if sp.issparse(X) else X.reshape(-1)


@layouts
@pytest.mark.parametrize("change", ["as it is", "clipped", "rows of norm 1", "clipped, rows of norm 1"])
def test_sums_are_those_of_a_table_in_memory(arrange: Any, change: str) -> None:
    X, y = records()
    loss = get_loss("logistic")
    problems = [Problem.of(place(arrange(X)), y, loss) for place in (lambda X: X, on_disk)]
    assert isinstance(problems[1].table.layout, mapped.MappedDense | mapped.MappedSparse)
    if "clipped" in change:
        problems = [problem.clipped(np.full(12, -1.0), np.full(12, 1.0)) for problem in problems]
    if "norm" in change:
        problems = [problem.with_rows_of(1.0) for problem in problems]
    w = np.random.default_rng(1).normal(size=problems[0].n_weights)
    for ask in (
        lambda problem: problem.table.norms,
        lambda problem: problem.at(w).gradient_sum(1.0),
        lambda problem: problem.gradient_at(w, 0.5),
        lambda problem: problem.at(w).along(w[::-1].copy()).loss_sums(0.1, 5, 2.0),
        lambda problem: problem.subset(np.array([5, 5, 2999, 0])).at(w).gradient_sum(1.0),
    ):
        in_memory, on_file = map(ask, problems)
        np.testing.assert_array_equal(in_memory, on_file)


def test_clipping_and_scaling_copy_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A table of 25 MB in a file is clipped and scaled when it is read, a block at a time."""
    monkeypatch.setattr(mapped, "BLOCK_BYTES", 2**18)
    X = on_disk(np.random.default_rng(0).normal(size=(50_000, 128)).astype(np.float32))
    table = Table(X)
    _ = table.norms
    tracemalloc.start()
    changed = table.clipped(np.full(128, -1.0), np.full(128, 1.0)).with_rows_of(1.0)
    changed.predictions(np.ones(changed.n_weights))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < X.nbytes / 2  # the norms and predictions of the records, and some blocks


def peak_of_a_gradient(n: int) -> int:
    """The largest memory of a gradient of n records, each with eight categories and four numbers."""
    rng = np.random.default_rng(0)
    numbers = rng.normal(0.5, 0.2, (n, 4)).clip(0.0, 1.0).astype(np.float32)
    categories = [sp.csr_matrix(np.eye(9, dtype=np.float32)[rng.integers(0, 9, n)]) for _ in range(8)]
    X, y = on_disk(sp.hstack([*categories, numbers], format="csr")), np.where(rng.random(n) < 0.5, 1.0, -1.0)
    width = X.shape[1]
    tracemalloc.start()
    problem = Problem.of(X, y, get_loss("logistic"))
    problem.transformed(np.full(width, 0.1), np.full(width, 2.0)).gradient_at(np.ones(width + 1), 1.0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def test_a_gradient_takes_so_many_bytes_a_record() -> None:
    """Target 8, squares 8 and 8, reciprocal 8, codes 8, numbers 16, places of loose entries 4."""
    peak_of_a_gradient(100)  # which compiles
    of_half, of_all = peak_of_a_gradient(50_000), peak_of_a_gradient(100_000)
    assert (of_all - of_half) / 50_000 < 80


@layouts
@pytest.mark.parametrize("place", [0, 17, -1])
def test_changed_number_ends_the_next_pass(arrange: Any, place: int) -> None:
    X, y = records()
    held = on_disk(arrange(X))
    problem = Problem.of(held, y, get_loss("logistic"))
    layout, w = problem.table.layout, np.full(problem.n_weights, 0.1)
    assert np.isfinite(problem.at(w).gradient_sum(1.0)).all()
    numbers_in(held)[place] += np.float32(0.5)
    with pytest.raises(CacheChanged, match="has changed since it was written"):
        _ = problem.table.transformed(np.zeros(12), np.full(12, 0.5)).norms
    with pytest.raises(CacheChanged, match="has changed"):
        layout.take(np.arange(problem.n_records))


# What is done before the number changes, and the pass after it.
PASSES: dict[str, tuple[Callable[[Problem], Any], Callable[[Any], Any]]] = {
    "predictions": (lambda problem: problem.table, lambda table: table.predictions(W)),
    "gradients at weights": (lambda problem: problem, lambda problem: problem.gradient_at(W, 0.5)),
    "gradients of several outputs": (
        lambda problem: Problem(problem.table, np.zeros(problem.n_records), softmax(3)),
        lambda problem: problem.gradient_at(np.outer(W, [1.0, -1.0, 0.5]), 0.5),
    ),
    "gradients of a point": (lambda problem: problem.at(W), lambda point: point.gradient_sum(0.5)),
    "norms of a view": (
        lambda problem: problem.transformed(np.zeros(12), np.full(12, 0.5)),
        lambda problem: problem.table.norms,
    ),
    "single rows": (
        lambda problem: problem,
        lambda problem: problem.subset(np.arange(40)).gradient_at(W, 0.5),
    ),
    "rows of one norm": (lambda problem: problem.table, lambda table: table.with_rows_of(1.0).predictions(W)),
}
W = np.full(13, 0.1)


@layouts
@pytest.mark.parametrize("packs", [False, True])
@pytest.mark.parametrize("name", PASSES)
def test_a_changed_number_is_noticed_by_each_pass_or_not_read(name: str, packs: bool, arrange: Any) -> None:
    """Copies in memory, such as packed ones, are not touched by a change of the file."""
    X, y = records()
    if not packs:
        X *= 1.0 + 0.001 * np.arange(X.size).reshape(X.shape)  # different numbers are not packed
    begin, go_on = PASSES[name]
    held = on_disk(arrange(X))
    problem = Problem.of(held, y, get_loss("logistic"))
    before, begun = go_on(begin(problem)), begin(problem)
    numbers_in(held)[7] += np.float32(0.5)
    with suppress(CacheChanged):
        np.testing.assert_array_equal(go_on(begun), before)


@layouts
def test_a_number_that_changes_before_the_first_pass_ends_it(arrange: Any) -> None:
    """A sparse matrix is packed in its first pass, and later ones read the copy."""
    X, y = records()
    held = on_disk(arrange(X))
    problem = Problem.of(held, y, get_loss("logistic"))
    numbers_in(held)[7] += np.float32(0.5)
    with pytest.raises(CacheChanged, match="has changed"):
        problem.table.predictions(W)


def test_fingerprints_have_keys_of_their_own() -> None:
    """Whoever knew the keys could change numbers so that nobody notices."""
    numbers = np.arange(1.0, 100.0)
    assert Fingerprints(numbers)._known != Fingerprints(numbers)._known


def test_rows_that_change_places_end_the_pass() -> None:
    X = on_disk(np.random.default_rng(0).normal(size=(4000, 8)))
    table = Table(X)
    X[[0, 3999]] = X[[3999, 0]]
    with pytest.raises(CacheChanged, match="has changed"):
        table.predictions(np.ones(9))


def test_fingerprints_notice_every_single_bit() -> None:
    numbers = np.arange(40_000, dtype=np.float32)
    known = Fingerprints(numbers)
    words = numbers.view(np.uint32)
    for place in (0, 1, 16_383, 16_384, 39_999):
        for bit in range(32):
            words[place] ^= np.uint32(1 << bit)
            with pytest.raises(CacheChanged, match="changed"):
                known.check(place, place + 1)
            words[place] ^= np.uint32(1 << bit)
    known.check(0, len(numbers))
    known.check(7, 7)


def test_rows_taken_one_by_one_are_checked_piece_by_piece() -> None:
    numbers = np.zeros(100_000, dtype=np.float64)
    known = Fingerprints(numbers)
    numbers[50_000] = 1.0
    rows = np.array([0, 99_990])
    known.check_each(rows, rows + 10)
    with pytest.raises(CacheChanged, match="changed"):
        known.check_each(np.array([49_995]), np.array([50_005]))


@layouts
def test_cache_is_a_file_without_a_name(arrange: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setattr(files, "MOST_IN_MEMORY", 1000)
    monkeypatch.setenv("PRIVFIT_CACHE_DIRECTORY", str(tmp_path))
    X = arrange(records()[0])
    cache = files.Cache(12)
    for start in range(0, 3000, 700):
        cache.append(X[start : start + 700])
    kept = cache.matrix()
    assert list(tmp_path.iterdir()) == []
    assert files.is_mapped(numbers_in(kept))
    assert not files.is_mapped(numbers_in(X))
    assert (kept != X).sum() == 0
    rows = np.array([2999, 4, 4, 1700])
    assert (files.rows_of(kept, rows) != X[rows]).sum() == 0
    assert (files.rows_of(kept, np.arange(3000) % 3 == 0) != X[::3]).sum() == 0


@layouts
@pytest.mark.parametrize("most", [1000, 2**25], ids=["in a file", "in memory"])
def test_cache_closes_its_files(arrange: Any, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MOST_IN_MEMORY", most)
    opened, opens = [], files.tempfile.SpooledTemporaryFile
    monkeypatch.setattr(
        files.tempfile,
        "SpooledTemporaryFile",
        lambda **settings: opened.append(opens(**settings)) or opened[-1],
    )
    X = arrange(records()[0])
    cache = files.Cache(12)
    cache.append(X)
    assert (cache.matrix() != X).sum() == 0
    assert [file.closed for file in opened] == [True] * (3 if sp.issparse(X) else 1)


def test_directory_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRIVFIT_CACHE_DIRECTORY", "/no/such/place")
    with pytest.raises(FileNotFoundError, match="There is no directory /no/such/place"):
        files.Cache(2)


def test_full_disk_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    class Full:
        def write(self, content: Any) -> None:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.tempfile, "SpooledTemporaryFile", lambda **settings: Full())
    with pytest.raises(OSError, match=r"could not be written to .* \(No space left on device\); name a dir"):
        files.Cache(2).append(np.ones((3, 2)))


def test_bits_do_not_depend_on_the_block(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = records(p=12)
    found = set()
    for size in (2**9, 2**12, 2**30):
        monkeypatch.setattr(mapped, "BLOCK_BYTES", size)
        problem = Problem.of(on_disk(X.astype(np.float32)), y, get_loss("logistic"))
        found.add(problem.gradient_at(np.full(13, 0.3), 1.0).tobytes())
    assert len(found) == 1
    assert math.isfinite(np.frombuffer(found.pop())[0])
