"""Processor time of a start, compared with scikit-learn's: the best of several new processes, in turns."""

import argparse
import os
import subprocess
import sys

REFERENCE = "import sklearn.linear_model"
PROGRAMS = {
    REFERENCE: ["-c", REFERENCE],
    "import privfit": ["-c", "import privfit"],
    "from privfit import DPLogisticRegression": ["-c", "from privfit import DPLogisticRegression"],
    "privfit --help": ["-m", "privfit", "--help"],
    "privfit --version": ["-m", "privfit", "--version"],
}


def processor_seconds(arguments: list[str]) -> float:
    """Return the user and system time of one run, children included."""
    before = os.times()
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=7)
    repeats = parser.parse_args().repeats
    best = dict.fromkeys(PROGRAMS, float("inf"))
    for _ in range(repeats):
        for name, arguments in PROGRAMS.items():
            best[name] = min(best[name], processor_seconds(arguments))
    for name, seconds in best.items():
        print(f"{name:42} {seconds:6.2f} s  {seconds / best[REFERENCE]:5.2f} x")


if __name__ == "__main__":
    main()
