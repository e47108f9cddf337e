"""What is compiled, what is said about it, and that a fork does not get in its way."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from numba.core.compiler_lock import global_compiler_lock

from privfit.engine.kernels.compiling import MESSAGE

FIT = """
import sys, warnings
import numpy as np, scipy.sparse as sp
from numba.core import event
warnings.simplefilter("ignore")

class Listener(event.Listener):
    def on_start(self, started):
        function = started.data["dispatcher"].py_func
        print(function.__module__, function.__name__)
    def on_end(self, ended):
        pass

event.register("numba:compile", Listener())
from privfit import DPLogisticRegression
X = np.random.default_rng(0).random((200, 3))
y = X[:, 0] > 0.5
DPLogisticRegression(noise="seeded", random_state=0).fit(sp.csr_matrix(X) if sys.argv[1] == "csr" else X, y)
"""


def fit(layout: str, cache: Path) -> tuple[list[str], str]:
    """Fit in a new process; return what was compiled there and what was said."""
    command = [sys.executable, "-c", FIT, layout]
    environment = os.environ | {"NUMBA_CACHE_DIR": str(cache)}
    process = subprocess.run(command, env=environment, text=True, capture_output=True, check=True)
    return process.stdout.splitlines(), process.stderr


def test_a_first_fit_says_once_that_it_compiles_and_the_next_is_silent(tmp_path: Path) -> None:
    compiled, said = fit("dense", tmp_path)
    assert compiled
    assert said == MESSAGE + "\n"
    assert fit("dense", tmp_path) == ([], "")


@pytest.mark.parametrize(("layout", "others"), [("dense", ("csr", "sparse", "packing")), ("csr", ("dense",))])
def test_only_what_the_table_needs_is_compiled(layout: str, others: tuple[str, ...], tmp_path: Path) -> None:
    compiled, _ = fit(layout, tmp_path)
    assert any(layout in name for name in compiled)
    assert [name for name in compiled if any(other in name for other in (*others, "hinge"))] == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_process_forked_while_another_thread_compiles_can_compile() -> None:
    compiling, finish = threading.Event(), threading.Event()

    def compile_for_a_while() -> None:
        with global_compiler_lock:
            compiling.set()
            finish.wait(1.0)

    thread = threading.Thread(target=compile_for_a_while)
    thread.start()
    compiling.wait()
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        with global_compiler_lock:
            os._exit(0)
    status = os.waitpid(child, 0)[1]
    finish.set()
    thread.join()
    assert status == 0
