"""`python -m privfit.experiments` is `privfit reproduce`."""

import typer

from privfit.experiments.command import reproduce

if __name__ == "__main__":
    typer.run(reproduce)
