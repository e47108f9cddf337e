"""The effect of the default solver's constants: compare the solver with one whose constants are changed.

`--set descent.MOST_LONGER_SMOOTH=4` sets a constant of a module of privfit.solvers, and may be repeated for
one variant with several changes. Tables, folds, runs and noise are those of `utility.py` and the same for
both solvers, so differences are paired. The script prints mean differences of the training objective in units
of .0001 with their standard errors; negative differences are better. docs/research.md lists the constants.
"""

import argparse
import importlib
import pkgutil
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from utility import EPSILONS, MODELS, SEED, load, measure

import privfit.solvers

SCALE = 1e4


def constant(text: str) -> tuple[str, str, float]:
    """Read module.NAME=value."""
    place, equals, value = text.partition("=")
    module, dot, name = place.partition(".")
    if not (dot and equals):
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form module.NAME=value")
    home = importlib.import_module(f"privfit.solvers.{module}")
    if not isinstance(getattr(home, name, None), int | float):
        raise argparse.ArgumentTypeError(f"privfit.solvers.{module} has no number {name}")
    return module, name, type(getattr(home, name))(float(value))


@contextmanager
def switched(constants: list[tuple[str, str, float]]) -> Iterator[None]:
    """Set constants in the module that defines them and in the solvers that import them."""
    modules = [
        importlib.import_module(f"privfit.solvers.{found.name}")
        for found in pkgutil.iter_modules(privfit.solvers.__path__)
    ]
    places = [
        (module, name, value) for _, name, value in constants for module in modules if hasattr(module, name)
    ]
    before = [getattr(module, name) for module, name, _ in places]
    try:
        for module, name, value in places:
            setattr(module, name, value)
        yield
    finally:
        for (module, name, _), value in zip(places, before, strict=True):
            setattr(module, name, value)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--set", dest="constants", type=constant, action="append", required=True)
    parser.add_argument("--data", nargs="+", default=["adult", "bank", "ipums-br"])
    parser.add_argument("--loss", nargs="+", default=list(MODELS))
    parser.add_argument("--epsilon", nargs="+", type=float, default=list(EPSILONS))
    parser.add_argument(
        "--seed", type=int, default=SEED + 1, help="of folds and noise; not the benchmark's own"
    )
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print("| " + " | ".join(["", *map(str, options.epsilon)]) + " |\n|" + "---|" * (len(options.epsilon) + 1))
    for name in options.data:
        X, y = load(name)
        for loss in options.loss:
            cells = []
            for epsilon in options.epsilon:
                as_it_is, _ = measure(X, y, loss, "adaptive", epsilon, options.seed)
                with switched(options.constants):
                    variant, _ = measure(X, y, loss, "adaptive", epsilon, options.seed)
                gaps = SCALE * np.subtract(variant, as_it_is)
                cells.append(f"{gaps.mean():+.0f} ± {gaps.std(ddof=1) / len(gaps) ** 0.5:.0f}")
            print(f"| {name}, {loss} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
