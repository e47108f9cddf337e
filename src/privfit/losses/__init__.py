"""Losses of (prediction, target). To add one, add a file here that defines it; nothing else has to change."""

from importlib import import_module
from pkgutil import iter_modules

from privfit.losses.loss import Loss

__all__ = ["LOSSES", "Loss", "get_loss"]

_modules = [import_module(f"{__name__}.{module.name}") for module in iter_modules(__path__)]
LOSSES: dict[str, Loss] = {
    found.name: found for module in _modules for found in vars(module).values() if isinstance(found, Loss)
}


def get_loss(name: str) -> Loss:
    """Return the loss called `name`."""
    if name not in LOSSES:
        raise ValueError(f"unknown loss {name!r}; known losses: {', '.join(sorted(LOSSES))}")
    return LOSSES[name]
