"""Other libraries of private learning, each in a separate environment, for comparisons in benchmarks.

No rival is imported here, because each needs versions of scikit-learn or torch that conflict with those of
the others. `make rivals` installs the environments. A benchmark makes a `Job` and calls `fit`. This starts
the rival's own interpreter, passes arrays in files, and reads the predictions. A `Session` does the same for
many jobs in turn:

>>> if (reason := missing("diffprivlib/logistic")) is None:
...     answer = fit("diffprivlib/logistic", Job(X_train, y_train, X_test, epsilon=1.0, delta=1e-6, ...))

docs/comparison.md lists the learners, and CONTRIBUTING.md says how to add a rival.
"""

from rivals.environments import RIVALS, Environment, environment_of
from rivals.runner import Answer, Job, RivalFailed, Session, fit, missing

__all__ = [
    "RIVALS",
    "Answer",
    "Environment",
    "Job",
    "RivalFailed",
    "Session",
    "environment_of",
    "fit",
    "missing",
]
