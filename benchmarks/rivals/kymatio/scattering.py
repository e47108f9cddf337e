"""Map images to scattering coefficients, each image alone. Needs numpy and kymatio, nothing else.

Usage: KYMATIO_PYTHON -I scattering.py IMAGES.npy FEATURES.npy

IMAGES.npy holds images of 28 x 28 pixels as bytes. For each image the program writes 81 channels of 7 x 7
numbers in float32: wavelets of two scales and eight angles (J = 2, L = 8), as in Tramèr & Boneh (2021).
"""

import sys

import numpy as np
from kymatio.numpy import Scattering2D

BATCH = 500  # images; a batch of 500 takes about .3 GB

images = np.load(sys.argv[1], mmap_mode="r")
scattering = Scattering2D(J=2, L=8, shape=images.shape[1:])
features = np.lib.format.open_memmap(sys.argv[2], "w+", dtype=np.float32, shape=(len(images), 81, 7, 7))
for start in range(0, len(images), BATCH):
    pixels = images[start : start + BATCH].astype(np.float32) / 255.0
    features[start : start + BATCH] = scattering(pixels)
features.flush()
