"""Machine code on disk is found by the process that needs it, whoever else was compiling."""

import numba
import numpy as np
import pytest
from numba.core.caching import IndexDataCacheFile
from numba.core.registry import cpu_target

from privfit.machine_code import keep_by_signature

SINGLE, DOUBLE = (numba.typeof(np.zeros(3, kind)) for kind in (np.float32, np.float64))


def last(values):
    return values[-1]


def process(*, ours):
    """Return the function as a new process has it."""
    made = numba.njit(cache=True)(last)
    if ours:
        keep_by_signature(made)
    return made


def found(compiled, kind):
    code = compiled._cache.load_overload((kind,), cpu_target.target_context)
    return None if code is None else code.signature.args


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    return tmp_path


def compile_at_once(monkeypatch, *, ours):
    """Let two processes compile for different types: the first one reads first and writes last."""
    one, other = process(ours=ours), process(ours=ours)
    write, waiting = IndexDataCacheFile._save_data, []
    with monkeypatch.context() as patch:
        patch.setattr(IndexDataCacheFile, "_load_index", lambda self: {})
        patch.setattr(IndexDataCacheFile, "_save_data", lambda *given: waiting.append(given))
        one.compile((SINGLE,))
        patch.setattr(IndexDataCacheFile, "_save_data", write)
        other.compile((DOUBLE,))
    for given in waiting:
        write(*given)


def test_numba_itself_takes_the_code_of_one_process_for_that_of_the_other(cache, monkeypatch):
    """If this fails, numba has mended it, and `privfit.machine_code` can go."""
    compile_at_once(monkeypatch, ours=False)
    assert found(process(ours=False), DOUBLE) == (SINGLE,)


def test_processes_that_compile_at_once_keep_their_code_apart(cache, monkeypatch):
    compile_at_once(monkeypatch, ours=True)
    later = process(ours=True)
    assert found(later, SINGLE) == (SINGLE,)
    assert found(later, DOUBLE) == (DOUBLE,)
    assert later(np.array([1.0, 2.5], np.float32)) == 2.5
    assert sum(later.stats.cache_hits.values()) == 1
    assert not later.stats.cache_misses


def test_what_was_not_compiled_yet_is_not_found(cache):
    compiled = process(ours=True)
    assert found(compiled, SINGLE) is None
    compiled.compile((DOUBLE,))
    assert found(process(ours=True), SINGLE) is None


def test_code_of_another_source_is_not_found(cache):
    compiled = process(ours=True)
    compiled.compile((SINGLE,))
    later = process(ours=True)
    later._cache._cache_file._source_stamp = "changed"
    assert found(later, SINGLE) is None


def test_a_function_that_is_not_compiled_stays_as_it_is():
    """As with NUMBA_DISABLE_JIT."""
    before = dict(vars(last))
    keep_by_signature(last)
    assert vars(last) == before
