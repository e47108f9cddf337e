"""The environments of rivals: their places, their installation, and the reason if one is missing."""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

RECIPES = Path(__file__).parent
ENVIRONMENTS = RECIPES.parents[1] / ".rivals"
RIVALS = ("diffprivlib", "interpret", "opacus", "smartnoise")


@dataclass(frozen=True)
class Environment:
    """A virtual environment with one rival in it.

    Parameters
    ----------
    name
        The rival's name, and that of its folders.
    recipes
        Where its folder with `requirements.txt` and `learners.py` is.
    environments
        Where its virtual environment is, or will be.
    """

    name: str
    recipes: Path = RECIPES
    environments: Path = ENVIRONMENTS

    @property
    def home(self) -> Path:
        """The folder of the virtual environment."""
        return self.environments / self.name

    @property
    def python(self) -> Path:
        """The rival's interpreter."""
        return self.home / "bin" / "python"

    @property
    def requirements(self) -> Path:
        """The file with the pinned versions."""
        return self.recipes / self.name / "requirements.txt"

    @property
    def learners(self) -> Path:
        """The program that fits the rival's models, which its own interpreter runs."""
        return self.recipes / self.name / "learners.py"

    def missing(self) -> str | None:
        """Return why this rival cannot be run, in one sentence, or None if it can."""
        if self._skipped.exists():
            return f"{self.name} could not be installed: {self._skipped.read_text()}"
        if not self._installed.exists():
            return f"{self.name} is not set up; run `make rivals`"
        if self._installed.read_text() != self.requirements.read_text():
            return f"{self.name} was set up with other versions; run `make rivals`"
        return None

    def set_up(self) -> None:
        """Install the pinned versions from the package index, unless they are installed already.

        If that fails, the reason is kept, and `missing` returns it. Only built packages are installed,
        because compiling torch or scikit-learn takes hours.
        """
        if self.missing() is None:
            return
        shutil.rmtree(self.home, ignore_errors=True)
        create = [sys.executable, "-m", "venv", self.home]
        install = [self.python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        install += ["--only-binary", ":all:", "--requirement", self.requirements]
        for command in (create, install):
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                shutil.rmtree(self.home, ignore_errors=True)
                self.home.mkdir(parents=True)
                self._skipped.write_text(_last_complaint(done.stderr or done.stdout))
                return
        self._installed.write_text(self.requirements.read_text())

    @property
    def _installed(self) -> Path:
        return self.home / "installed.txt"

    @property
    def _skipped(self) -> Path:
        return self.home / "skipped.txt"


def environment_of(learner: str) -> Environment:
    """Return the environment of a learner such as "diffprivlib/logistic"."""
    rival = learner.partition("/")[0]
    if rival not in RIVALS:
        raise ValueError(f"There is no rival {rival!r}; there are {', '.join(RIVALS)}")
    return Environment(rival)


def _last_complaint(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR:")]
    return (errors or lines or ["the installer said nothing"])[-1]
