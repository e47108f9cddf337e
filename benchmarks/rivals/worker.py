"""The rival's side: read jobs, fit a learner, write predictions. Needs numpy and the rival, nothing else.

Usage: RIVALS_PYTHON -I worker.py LEARNERS.py, and then the name of a FOLDER for each job as a line of input.

FOLDER holds job.npz (X_train, y_train, X_new, low, high) and job.json (learner, epsilon, delta, n_classes,
target_bounds, row_norm, nominal, settings, seed). LEARNERS.py defines LEARNERS, a dictionary of functions
that take all of these as attributes of one object and return (predictions, probabilities); a regression
returns None for the latter. Written are answer.npz and, last, answer.json, which holds the seconds of
processor time that it took, or the error.
"""

import json
import runpy
import sys
import time
import types
import warnings
from pathlib import Path

import numpy as np


def work(known: dict, folder: Path) -> dict:
    """Fit one job, write answer.npz, and return the content of answer.json."""
    settings = json.loads((folder / "job.json").read_text())
    with np.load(folder / "job.npz") as arrays:
        job = types.SimpleNamespace(**settings, **arrays)
    if job.learner not in known:
        raise ValueError(f"it has no learner {job.learner!r}; it has {', '.join(known)}")
    # processor time, because the machine may be busy with other things
    started = time.process_time()
    predictions, probabilities = known[job.learner](job)
    seconds = time.process_time() - started
    answer = {"predictions": predictions, "probabilities": probabilities}
    np.savez(folder / "answer.npz", **{name: a for name, a in answer.items() if a is not None})
    return {"seconds": seconds}


def main(learners: str) -> None:
    warnings.simplefilter("ignore")
    known = runpy.run_path(learners)["LEARNERS"]
    for line in sys.stdin:
        folder = Path(line.rstrip("\n"))
        try:
            told = work(known, folder)
        except Exception as error:  # the runner gets every exception of a rival
            told = {"error": " ".join(f"{type(error).__name__}: {error}".split())}
        (folder / "answer.tmp").write_text(json.dumps(told))
        (folder / "answer.tmp").rename(folder / "answer.json")


if __name__ == "__main__":
    main(sys.argv[1])
