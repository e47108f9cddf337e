"""Losses of (prediction, target). To add one, add a file here that defines it; nothing else has to change."""

from importlib import import_module
from pkgutil import iter_modules

from privfit.losses.loss import Loss

__all__ = ["LOSSES", "Loss", "get_loss", "is_own", "own"]

_modules = [import_module(f"{__name__}.{module.name}") for module in iter_modules(__path__)]
LOSSES: dict[str, Loss] = {
    found.name: found for module in _modules for found in vars(module).values() if isinstance(found, Loss)
}
# the functions that make losses with parameters
_makers = [
    each.made_by[0]
    for known in LOSSES.values()
    for each in (known, known.smooth_stand_in)
    if each is not None and each.made_by is not None
]


def get_loss(name: str) -> Loss:
    """Return the loss called `name`."""
    if name not in LOSSES:
        raise ValueError(f"unknown loss {name!r}; known losses: {', '.join(sorted(LOSSES))}")
    return LOSSES[name]


def own(loss: Loss) -> Loss | None:
    """Return the loss of privfit's own, whose constants are proved, that a loss equals; None without one.

    Equal losses have the same functions and the same constants, and a name alone proves nothing. Losses with
    parameters are made again. What is returned is privfit's object: a copy may have other makers of losses.
    """
    maker, arguments = loss.made_by or (None, ())
    known = [LOSSES[loss.name]] if loss.name in LOSSES else []
    if any(maker is ours for ours in _makers):
        assert maker is not None
        known.append(maker(*arguments))
    if loss.outputs > 1:
        known += [each.of_classes(loss.outputs) for each in LOSSES.values() if each.of_classes]
    return next((each for each in known if type(each) is Loss and each == loss), None)


def is_own(loss: Loss) -> bool:
    """Tell whether a loss is one of privfit's own."""
    return own(loss) is not None
