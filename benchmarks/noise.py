"""Time of secure noise compared with seeded noise: microseconds for a number, entropy included, on one core.

Best of several rounds, everything in one run, in processor time, so that a busy machine does not matter. A
call has a fixed cost (a key, a buffer), which the row of one number shows; the rows of many show the cost of
a number.
"""

import argparse
import time
from collections.abc import Callable
from functools import partial

import numpy as np

from privfit.mechanisms.noise import NoiseSource, SecureNoise, SeededNoise


def best(function: Callable[[], object], rounds: int, calls: int) -> float:
    """Return the microseconds of a call in the best round."""
    times = []
    for _ in range(rounds):
        start = time.thread_time()
        for _ in range(calls):
            function()
        times.append((time.thread_time() - start) / calls)
    return 1e6 * min(times)


def report(what: str, numbers: int, draw: Callable[[NoiseSource], object], rounds: int) -> None:
    calls = max(1, 2_000 // numbers)
    times = [best(partial(draw, source), rounds, calls) for source in (SecureNoise(), SeededNoise(0))]
    a_call, a_number = (f"{t:>14.1f}" for t in times), (f"{t / numbers:>14.4f}" for t in times)
    print(f"{what:<34}{numbers:>10,}", *a_call, *a_number, sep="", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    rounds = 3 if parser.parse_args().quick else 20
    start = time.perf_counter()
    SecureNoise().gaussian(np.zeros(1), 1.0)
    SecureNoise().noisy_argmax(np.zeros(2), 1.0, "gumbel")
    print(f"first call (imports, and compiles unless cached): {time.perf_counter() - start:.2f} s")
    print(f"{'':<44}{'a call, us':>28}{'a number, us':>28}")
    print(f"{'':<34}{'numbers':>10}{'secure':>14}{'seeded':>14}{'secure':>14}{'seeded':>14}")
    for size in (1, 120, 1_000, 10_000, 100_000):
        values = np.linspace(-1.0, 1.0, size)
        report("Gaussian", size, lambda noise, values=values: noise.gaussian(values, 0.3), rounds)
    for size in (21, 200, 20_000):
        scores = np.linspace(-1.0, 1.0, size)
        for shape in ("gumbel", "laplace", "exponential"):
            if size <= 200 or shape == "gumbel":
                report(
                    f"selection, {shape}",
                    size,
                    lambda noise, s=scores, shape=shape: noise.noisy_argmax(s, 0.1, shape),
                    rounds,
                )
    report("Poisson sample", 1_000_000, lambda noise: noise.poisson_rows(1_000_000, 0.01), rounds)
    report("radial", 1_000, lambda noise: noise.radial(1_000, 1.0), rounds)


if __name__ == "__main__":
    main()
