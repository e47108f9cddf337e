"""The rival's side: read a job, fit a learner, write predictions. Needs numpy and the rival, nothing else.

Usage: RIVALS_PYTHON -I worker.py LEARNERS.py FOLDER

FOLDER holds job.npz (X_train, y_train, X_new, low, high) and job.json (learner, epsilon, delta, n_classes,
target_bounds, seed). LEARNERS.py defines LEARNERS, a dictionary of functions that take all of these as
attributes of one object and return (predictions, probabilities); a regression returns None for the latter.
Written are answer.npz and answer.json, which holds the seconds that it took, or the error.
"""

import json
import runpy
import sys
import time
import types
import warnings
from pathlib import Path

import numpy as np


def main(learners: str, folder: Path) -> None:
    warnings.simplefilter("ignore")
    settings = json.loads((folder / "job.json").read_text())
    with np.load(folder / "job.npz") as arrays:
        job = types.SimpleNamespace(**settings, **arrays)
    known = runpy.run_path(learners)["LEARNERS"]
    if job.learner not in known:
        raise ValueError(f"it has no learner {job.learner!r}; it has {', '.join(known)}")
    started = time.perf_counter()
    predictions, probabilities = known[job.learner](job)
    seconds = time.perf_counter() - started
    answer = {"predictions": predictions, "probabilities": probabilities}
    np.savez(folder / "answer.npz", **{name: a for name, a in answer.items() if a is not None})
    (folder / "answer.json").write_text(json.dumps({"seconds": seconds}))


if __name__ == "__main__":
    here = Path(sys.argv[2])
    try:
        main(sys.argv[1], here)
    except Exception as error:  # whatever a rival raises is told to the runner, and raised again
        sentence = " ".join(f"{type(error).__name__}: {error}".split())
        (here / "answer.json").write_text(json.dumps({"error": sentence}))
        raise
