"""What is released: wheels that can be made again bit for bit, and that work in an empty environment."""

import hashlib
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import privfit

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
TRIED = ("tests/accounting/test_ledger.py", "tests/publication/test_model_files.py", "tests/test_curator.py")
EPOCH = "1767225600"  # 2026-01-01; any fixed day

PROGRAM = """
import numpy as np
from privfit import DPLogisticRegression, load
X = np.random.default_rng(0).uniform(0, 1, (500, 2))
model = DPLogisticRegression(classes=(0, 1), feature_bounds=(0, 1)).fit(X, (X[:, 0] > 0.5).astype(int))
model.save("model.json")
assert load("model.json").privacy_.epsilon == 1.0
"""


def run(*command, cwd=ROOT, **environment):
    """Run a command outside of this environment, and return what it printed."""
    kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    done = subprocess.run(
        [str(word) for word in command], cwd=cwd, env=kept | environment, capture_output=True, text=True
    )
    assert done.returncode == 0, (command, done.stdout[-3000:], done.stderr[-3000:])
    return done.stdout


def pip(python, *arguments, **settings):
    return run(python, "-m", "pip", "--quiet", "--disable-pip-version-check", *arguments, **settings)


def environment(folder):
    run(sys.executable, "-m", "venv", folder)
    return folder / "bin" / "python"


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Wheels of two builds, and the source distribution."""
    folder = tmp_path_factory.mktemp("built")
    python = environment(folder / "tools")
    pip(python, "install", "build")
    for name in ("first", "second"):
        run(python, "-m", "build", "--outdir", folder / name, ROOT, SOURCE_DATE_EPOCH=EPOCH)
    return folder


@pytest.mark.deep
@pytest.mark.parametrize("pattern", ["*.whl", "*.tar.gz"])
def test_two_builds_are_the_same_bytes(built, pattern):
    first, second = (next((built / name).glob(pattern)) for name in ("first", "second"))
    assert first.name == second.name
    assert PROJECT["version"] in first.name
    assert hashlib.sha256(first.read_bytes()).digest() == hashlib.sha256(second.read_bytes()).digest()


@pytest.mark.deep
@pytest.mark.parametrize("pattern", ["*.whl", "*.tar.gz"])
def test_what_is_released_works_where_nothing_else_is_installed(built, pattern, tmp_path):
    python = environment(tmp_path / "clean")
    pip(python, "install", next((built / "first").glob(pattern)))
    run(python, "-c", PROGRAM, cwd=tmp_path)
    command = tmp_path / "clean" / "bin" / "privfit"
    assert run(command, "--version", cwd=tmp_path) == f"privfit {PROJECT['version']}\n"
    assert run(command, "verify", "model.json", cwd=tmp_path).endswith("No check failed.\n")


def lowest(requirements):
    """Return the requirements at the lowest versions that they allow."""
    found = [re.match(r"([A-Za-z0-9-]+)(?:\[.*\])?>=([0-9.]+)", text) for text in requirements]
    return [f"{match[1]}=={match[2]}.*" for match in found if match]


@pytest.mark.deep
@pytest.mark.parametrize("which", ["lowest", "newest"])
def test_lowest_and_newest_versions_of_what_privfit_needs(which, tmp_path):
    python = environment(tmp_path / which)
    if which == "lowest":
        (tmp_path / "constraints.txt").write_text("\n".join(lowest(PROJECT["dependencies"])))
        pip(python, "install", "--constraint", tmp_path / "constraints.txt", ROOT)
    else:
        pip(python, "install", "--upgrade", "--upgrade-strategy", "eager", ROOT)
    pip(python, "install", "pytest", "hypothesis", "pandas", "polars")
    run(python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not slow and not deep", *TRIED)


def test_the_version_is_the_same_everywhere():
    version = PROJECT["version"]
    assert privfit.__version__ == version
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text()
    assert f"\n## [{version}] - 20" in (ROOT / "CHANGELOG.md").read_text()


def test_every_requirement_has_a_lowest_version():
    assert len(lowest(PROJECT["dependencies"])) == len(PROJECT["dependencies"])


def test_the_lock_names_every_requirement_with_hashes_and_no_host():
    text = (ROOT / "requirements-lock.txt").read_text()
    pinned = {name.lower() for name in re.findall(r"^([\w.-]+)(?:\[.*\])?==", text, re.MULTILINE)}
    wanted = [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["dev"]]
    assert {re.match(r"[\w.-]+", text)[0].lower() for text in wanted} <= pinned
    assert text.count("--hash=sha256:") >= len(pinned)
    assert "://" not in text


def test_versions_of_python_are_the_ones_that_are_tested():
    tried = re.search(r"^PYTHONS \?= (.+)$", (ROOT / "Makefile").read_text(), re.MULTILINE)[1].split()
    stated = [c.rsplit(" ", 1)[1] for c in PROJECT["classifiers"] if re.search(r"Python :: 3\.\d+$", c)]
    assert stated == tried
