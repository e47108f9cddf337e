"""What is compiled, what is said about it, and that a fork does not get in its way."""

import os
import shutil
import signal
import subprocess
import sys
import threading
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import pytest
from numba.core.compiler_lock import global_compiler_lock
from numba.core.dispatcher import Dispatcher

from privfit.engine import kernels
from privfit.engine.kernels.compiling import MESSAGE, digest
from privfit.engine.kernels.gradients import gradients
from privfit.engine.kernels.outputs import output_loops
from privfit.engine.kernels.pointwise import loops
from privfit.losses import LOSSES

PACKAGE = Path(__file__).parents[2] / "src" / "privfit"

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
model = DPLogisticRegression(noise="seeded", random_state=0, solver=sys.argv[2])
model.fit(sp.csr_matrix(X) if sys.argv[1] == "csr" else X, y)
"""


def fit(layout: str, solver: str, cache: Path) -> tuple[list[str], str]:
    """Fit in a new process; return what was compiled there and what was said."""
    command = [sys.executable, "-c", FIT, layout, solver]
    environment = os.environ | {"NUMBA_CACHE_DIR": str(cache)}
    process = subprocess.run(command, env=environment, text=True, capture_output=True, check=True)
    return process.stdout.splitlines(), process.stderr


@pytest.mark.parametrize(
    ("layout", "solver", "others"),
    [
        ("dense", "gradient-descent", ("csr", "sparse", "packing")),  # which compiles the least
        pytest.param("dense", "adaptive", ("csr", "sparse", "packing"), marks=pytest.mark.slow),
        pytest.param("csr", "adaptive", ("dense",), marks=pytest.mark.slow),
    ],
)
def test_a_first_fit_compiles_what_its_table_needs_and_says_so_once_and_the_next_is_silent(
    layout: str, solver: str, others: tuple[str, ...], tmp_path: Path
) -> None:
    compiled, said = fit(layout, solver, tmp_path)
    assert any(layout in name for name in compiled)
    assert [name for name in compiled if any(other in name for other in (*others, "hinge"))] == []
    assert said == MESSAGE + "\n"
    assert fit(layout, solver, tmp_path) == ([], "")


KERNELS = [
    module.name
    for module in iter_modules(kernels.__path__)
    if module.name not in ("compiling", "fused", "lanes")
]


@pytest.mark.parametrize("module", KERNELS)
def test_all_that_a_loop_uses_is_known_when_its_name_is_made(module: str) -> None:
    """What is defined below it would be missing from the digest, and old machine code would be found."""
    found = vars(import_module(f"{kernels.__name__}.{module}"))
    loops = [loop for loop in found.values() if hasattr(loop, "py_func")]
    for loop in loops:
        assert loop.py_func.__qualname__.endswith(digest(loop.py_func))


@pytest.mark.parametrize("name", LOSSES)
def test_no_loop_is_compiled_around_another_one(name: str) -> None:
    """Numba would not find its machine code on disk again: compiled functions are pickled with a new name."""
    loss = LOSSES[name]
    made = [output_loops(loss)] if loss.outputs > 1 else [loops(loss), gradients(loss)]
    compiled = [loop for of_loss in made for loop in of_loss]
    assert compiled
    for loop in compiled:
        cells = loop.py_func.__closure__ or ()
        assert not any(isinstance(cell.cell_contents, Dispatcher) for cell in cells)


DIGESTS = """
from privfit.engine.kernels.gradients import gradients
from privfit.losses.hinge import HINGE
from privfit.losses.logistic import LOGISTIC
for loss in (LOGISTIC, HINGE):
    print(gradients(loss).dense.py_func.__qualname__)
"""


def digests(package: Path) -> list[str]:
    """Return the names of two losses' loops in a new process that imports `package`."""
    environment = os.environ | {"PYTHONPATH": str(package.parent)}
    return subprocess.check_output([sys.executable, "-c", DIGESTS], env=environment, text=True).split()


@pytest.fixture(scope="module")
def names_before() -> list[str]:
    return digests(PACKAGE)


@pytest.mark.parametrize(
    ("changed", "renamed"),
    [
        ("losses/logistic.py", [True, False]),
        ("losses/arithmetic.py", [True, False]),
        ("engine/exact/grids.py", [True, True]),
        ("engine/kernels/fused.py", [True, True]),
        ("engine/kernels/lanes.py", [True, True]),
        ("engine/kernels/columns.py", [False, False]),
        ("engine/table.py", [False, False]),
        ("curator.py", [False, False]),
    ],
)
def test_machine_code_is_forgotten_when_what_it_calls_has_changed_and_only_then(
    changed: str, renamed: list[bool], names_before: list[str], tmp_path: Path
) -> None:
    shutil.copytree(PACKAGE, tmp_path / "privfit", ignore=shutil.ignore_patterns("__pycache__"))
    with (tmp_path / "privfit" / changed).open("a") as file:
        file.write("# changed\n")
    names = digests(tmp_path / "privfit")
    assert [old != new for old, new in zip(names_before, names, strict=True)] == renamed


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
