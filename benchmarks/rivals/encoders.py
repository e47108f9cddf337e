"""Features that other libraries compute from one record at a time, each in an environment of its own.

An encoder has a folder here with pinned `requirements.txt` and a program that reads and writes arrays;
`make rivals` sets its environment up beside those of rivals.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from rivals.environments import RECIPES, Environment

ENCODERS = ("kymatio",)


class EncoderFailed(RuntimeError):
    """An encoder could not be run; the message is one sentence."""


def write_scattering(images: np.ndarray, path: Path) -> None:
    """Write the scattering coefficients of images to an .npy file of shape (images, 81, 7, 7) in float32.

    Parameters
    ----------
    images
        Bytes of shape (images, 28, 28).
    path
        The file, which appears only once it is complete.

    Raises
    ------
    EncoderFailed
        If kymatio is not set up, or fails.
    """
    environment = Environment("kymatio")
    if reason := environment.missing():
        raise EncoderFailed(reason)
    program = RECIPES / "kymatio" / "scattering.py"
    with tempfile.TemporaryDirectory(dir=path.parent) as name:
        given, made = Path(name) / "images.npy", Path(name) / "features.npy"
        np.save(given, images)
        command = [environment.python, "-I", program, given, made]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            last = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
            raise EncoderFailed(f"kymatio ended with exit code {done.returncode}: {last}")
        os.replace(made, path)
