"""Time of a gradient pass with several outputs, in units of a pass with one output, in one run.

It also measures the time saved by computing predictions and sums of a tile of rows in one visit.

    python benchmarks/outputs.py [--rows 500000] [--columns 120]

A dense float32 table, the softmax of K classes beside the logistic loss, clipped gradients at random
weights; the best of several runs each.
"""

import argparse
import math
import time

import numpy as np

from privfit.engine.problem import Problem
from privfit.losses import get_loss
from privfit.losses.arithmetic import compilable, exp
from privfit.losses.loss import Loss
from privfit.losses.targets import Classes


def softmax_of(count: int) -> Loss:
    @compilable
    def value(predictions, target):
        top = predictions[0]
        for k in range(1, count):
            top = max(top, predictions[k])
        total = 0.0
        for k in range(count):
            total += exp(predictions[k] - top)
        return math.log(total) + top - predictions[int(target)]

    @compilable
    def derivative(predictions, target, out):
        top = predictions[0]
        for k in range(1, count):
            top = max(top, predictions[k])
        total = 0.0
        for k in range(count):
            out[k] = exp(predictions[k] - top)
            total += out[k]
        for k in range(count):
            out[k] = out[k] / total - (k == target)

    constants = {"lipschitz": math.sqrt(2.0), "smoothness": 0.5, "targets": Classes(count)}
    return Loss(f"softmax_{count}", value, derivative, outputs=count, **constants)


def best_of(times: int, run) -> float:
    run()  # compiles
    seconds = []
    for _ in range(times):
        start = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=500_000)
    parser.add_argument("--columns", type=int, default=120)
    parser.add_argument("--times", type=int, default=7)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    X = rng.random((options.rows, options.columns), dtype=np.float32)
    binary = Problem.of(X, np.where(rng.random(options.rows) < 0.5, 1.0, -1.0), get_loss("logistic"))
    w = rng.normal(size=options.columns + 1)
    one = best_of(options.times, lambda: binary.gradient_at(w, 1.0))
    apart = best_of(options.times, lambda: binary.at(w).gradient_sum(1.0))
    print(f"one output: {1000 * one:.1f} ms a pass; {1000 * apart:.1f} ms in two passes")
    for count in (3, 10):
        problem = Problem.of(X, rng.integers(0, count, options.rows), softmax_of(count))
        weights = rng.normal(size=(options.columns + 1, count))
        several = best_of(options.times, lambda p=problem, v=weights: p.gradient_at(v, 1.0))
        print(f"{count} outputs: {1000 * several:.1f} ms a pass, {several / one:.1f} passes with one output")


if __name__ == "__main__":
    main()
